"""Optimizer states of servers: saved, loaded, and a run that goes on bit for bit where it ended."""

import os
import signal

import pytest
from helpers import thorough
from launched import launch, popen, script

pytest.importorskip("zmq")

#: Each array in several parts, on both servers.
SMALL = {"HYBRIDNET_DIST_PART_BYTES": "256", "MXNET_KVSTORE_BIGARRAY_BOUND": "100"}

TRAIN = """
    import signal
    from hybridnet import autograd, checkpoint, gluon, kv, nd
    from hybridnet.lr_scheduler import FactorScheduler

    store = kv.create("dist_sync")
    w, h = gluon.Parameter("w", shape=(20, 9)), gluon.Parameter("h", shape=(60,), dtype="float16")
    for parameter in (w, h):
        parameter.initialize(hn.init.Constant(0.5))
    trainer = gluon.Trainer([w, h], "{optimizer}", {{
        "lr_scheduler": FactorScheduler(2, 0.7, base_lr=0.1), "wd": 0.01, "multi_precision": True,
    }}, kvstore=store)
    step = nd.zeros((1,), dtype="int64")
    saver = checkpoint.Saver({{"w": w, "h": h, "trainer": trainer, "step": step}})
    begin = os.environ.get("BEGIN")
    if begin:
        saver.restore(begin)
    for number in range(int(step.asscalar()) + store.resumes, 8):
        data = np.random.RandomState(10 * number + store.rank)
        x, y = nd.array(data.randn(20, 9)), nd.array(data.randn(60), dtype="float16")
        with autograd.record():
            loss = ((w.data() * x) ** 2).mean() + ((h.data() - y) ** 2).mean().astype("float32")
        loss.backward()
        trainer.step(1)
        step += 1
        if "SAVE" in os.environ and number == 4:
            if store.rank == 0:
                saver.save(os.environ["SAVE"], number)
                say("saved")
            signal.pause()  # to be killed
        if begin and (store.rank, number, os.environ["DMLC_NUM_ATTEMPT"]) == (0, 6, "0"):
            os.kill(os.getpid(), 9)
    store._barrier()
    say("w", w.data().asnumpy().tobytes().hex())
    say("h", h.data().asnumpy().tobytes().hex(), trainer.optimizer.lr_scheduler.base_lr)
"""


@pytest.mark.slow
@pytest.mark.parametrize("optimizer", thorough(["nadam", "lamb", "sgld"], ["nadam"]))
def test_a_run_that_was_killed_goes_on_bit_for_bit(tmp_path, optimizer):
    """Weights, states, float32 copies, counts, the schedule's position, numbers of its own.

    In the run that goes on worker 0 is killed, too, and reads the checkpoint once more.
    """
    path = script(tmp_path, TRAIN.format(optimizer=optimizer))
    code, straight, error = launch(path, "-n", 2, "-s", 2, environ=SMALL)
    assert code == 0 and len(straight) == 4, error
    file = str(tmp_path / "model")
    # What the servers keep outlives a launcher that is killed: here it goes with the test.
    killed = {**SMALL, "SAVE": file, "HYBRIDNET_DIST_STATE_DIR": str(tmp_path / "state")}
    running = popen(path, "-n", 2, "-s", 2, environ=killed)
    assert running.stdout.readline() == "saved\n"
    os.kill(running.pid, signal.SIGKILL)
    running.communicate(timeout=60)
    code, resumed, error = launch(path, "-n", 2, "-s", 2, environ={**SMALL, "BEGIN": f"{file}-4"})
    assert code == 0, error
    assert "worker 0 was killed by signal 9 (SIGKILL); started again" in error
    assert resumed == straight


HAND = """
    from hybridnet import kv, nd, optimizer
    store = kv.create({kind!r})
    shapes = {{"w": (40, 7), "t": (30, 4), "s": (3,)}}
    def given(key, step):
        return nd.array(np.random.RandomState(step).randn(*shapes[key]))
    def made():
        return optimizer.create("adam", learning_rate=0.1, begin_num_update=3)
    def push(step):  # by worker 0 alone where each push counts at once
        for key in shapes:
            if is_async and store.rank:
                continue
            value = given(key, step)
            store.push(key, value.tostype("row_sparse") if key == "t" else value)
    def pulled(key):
        out = nd.zeros(shapes[key])
        store.pull(key, out=out)
        return out.asnumpy()

    is_async = "async" in store.type
    workers = 1 if is_async else store.num_workers
    here, update = {{key: nd.zeros(shape) for key, shape in shapes.items()}}, None
    update = optimizer.get_updater(made())
    def step_here(step):
        for key in shapes:
            update(key, given(key, step) * workers, here[key])
    def same():
        store._barrier()
        for key in shapes:
            np.testing.assert_array_equal(pulled(key), here[key].asnumpy(), err_msg=key)

    try:
        store.save_optimizer_states("x")
    except hn.MXNetError as error:
        assert "call set_optimizer first" in str(error), error
    store.set_optimizer(made())
    for key, shape in shapes.items():
        store.init(key, nd.zeros(shape).tostype("row_sparse" if key == "t" else "default"))
    for step in range(3):
        push(step); step_here(step)
    same()

    # What servers have is what an updater here has.
    if store.rank == 0:
        store.save_optimizer_states("there", dump_optimizer=True)
        open("here", "wb").write(update.get_states(dump_optimizer=True))
    store._barrier()
    other = optimizer.get_updater(optimizer.create("adam"))
    other.set_states(open("there", "rb").read())
    for key in shapes:
        for one, two in zip(other.states[key], update.states[key], strict=True):
            np.testing.assert_array_equal(one.asnumpy(), two.asnumpy(), err_msg=key)
    counts = other.optimizer._index_update_count
    assert counts == update.optimizer._index_update_count == dict.fromkeys(shapes, 6), counts
    assert other.optimizer.num_update == 6 and other.optimizer.learning_rate == 0.1

    # Three steps further the states are put back; both go on with them, and count on from six.
    for step in range(3, 6):
        push(step); step_here(step)
    same()
    store.load_optimizer_states("here")
    update.set_states(open("here", "rb").read())
    assert store.optimizer.begin_num_update == 3
    for step in range(6, 8):
        push(step); step_here(step)
    same()

    # States of another optimizer are refused, and nothing is broken by it.
    wrong = optimizer.get_updater(optimizer.create("sgd", momentum=0.5))
    wrong("w", nd.ones((40, 7)), nd.ones((40, 7)))
    try:
        store.states_from_bytes(wrong.get_states())
        assert store.rank, "worker 0 looks at them"
    except hn.MXNetError as error:
        assert "are they of another optimizer" in str(error), error
    push(8); step_here(8)
    same()
    say("same")
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["dist_sync", "dist_async"])
def test_states_are_saved_and_loaded_by_hand(tmp_path, kind):
    path = script(tmp_path, HAND.format(kind=kind))
    environ = {**SMALL, "HYBRIDNET_HOST": "only"}
    code, lines, error = launch(path, "-n", 2, "-s", 2, environ=environ)
    assert (code, lines) == (0, ["same", "same"]), error


NAMED = """
    from hybridnet import autograd, gluon, nd

    def trained(first, store, file, load):
        layers = [gluon.nn.Dense(3, in_units=3, prefix=f"dense{first + i}_") for i in range(3)]
        params = gluon.ParameterDict()
        for number, layer in enumerate(layers):
            params.update(layer.collect_params())
            layer.initialize()
            layer.weight.set_data(nd.array(np.random.RandomState(number).randn(3, 3)))
        trainer = gluon.Trainer(params, "adam", {"learning_rate": 0.1}, kvstore=store)
        if load:
            trainer.load_states(file)
        for number in range(1 if load else 2):
            x = nd.array(np.random.RandomState(number).randn(4, 3))
            with autograd.record():
                for layer in layers:
                    x = layer(x)
                loss = (x ** 2).sum()
            loss.backward()
            trainer.step(4)
        if not load:
            trainer.save_states(file)
        return [layer.weight.data().asnumpy().tobytes().hex() for layer in layers]

    for saved, loaded in (("local", "dist_sync"), ("dist_sync", "local")):
        trained(8, saved, "states", load=False)  # as text dense10 comes before dense9
        for first in (0, 8):
            say(*trained(first, loaded, "states", load=True))
"""


@pytest.mark.slow
def test_states_find_their_weights_whatever_numbers_the_layers_have(tmp_path):
    text = NAMED.replace('"states"', repr(str(tmp_path / "adam.states")))
    code, found, error = launch(script(tmp_path, text), "-n", 1, "-s", 1)
    assert code == 0, error
    assert len(found) == 4
    assert len(set(found)) == 1
