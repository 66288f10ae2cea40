"""Distributed stores with real processes, by `hybridnet launch`: values, errors, and kills."""

import os
import re
import signal
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from launched import launch, popen, script

from hybridnet.kvstore.cluster import Cluster
from hybridnet.kvstore.run_token import RunToken
from hybridnet.kvstore.supervise import Job, LocalSupervisor, Supervisor, run_job

pytest.importorskip("zmq")


class Run:
    """A run whose secret is known, so that its files are."""

    def __init__(self, **environ):
        self.token = RunToken.new()
        self.environ = {"HYBRIDNET_DIST_TOKEN": self.token.text, **environ}

    def has_left_nothing(self):
        return not replace(Cluster(), token=self.token).state_folder.exists()


STORE = """
    from hybridnet import kv, nd
    store = kv.create("{kind}")
    rank, workers = store.rank, store.num_workers

    def pulled(key, shape=(2, 3), dtype="float32"):
        out = nd.zeros(shape, dtype=dtype)
        store.pull(key, out=out)
        return out.asnumpy()

    def all_are(key, number, **more):
        got = pulled(key, **more)
        assert (got == number).all(), (rank, key, got, number)
"""


@pytest.mark.slow
def test_values_of_all_kinds(tmp_path):
    """2 workers and 2 servers; keys small and spread over the servers, float16, rows, callers."""
    path = script(
        tmp_path,
        STORE.format(kind="dist_sync")
        + """
    assert (store.type, workers, store.is_distributed) == ("dist_sync", 2, True)
    store.init(["a", "b"], [nd.full((2, 3), rank + 5.0)] * 2)   # worker 0's counts
    all_are("a", 5)
    store.init("big", nd.zeros((300, 700)))
    store.init("half", nd.ones((2, 3), dtype="float16"))
    store.init("brain", nd.ones((300, 7), dtype="bfloat16"))
    store.init("rows", nd.ones((6, 2)).tostype("row_sparse"))

    # Without an optimizer a round's sum becomes the value.
    store.push("a", [nd.full((2, 3), rank + 1.0), nd.ones((2, 3))])
    all_are("a", 1 + 2 + 2)
    out = nd.zeros((2, 3))
    store.pushpull("b", nd.full((2, 3), rank + 1.0), out=out)
    assert (out.asnumpy() == 3).all()

    # An updater of the worker's own works on a copy of its own.
    store.set_updater(lambda key, merged, stored: stored.assign(stored - merged))
    store.push("b", nd.full((2, 3), rank + 1.0))
    all_are("b", 0)
    store.set_updater(None)

    store.set_optimizer(hn.optimizer.create("test", rescale_grad=2.0))
    for step in range(3):
        for key, shape, dtype in (
            ("a", (2, 3), "float32"), ("big", (300, 700), "float32"), ("half", (2, 3), "float16"),
            ("brain", (300, 7), "bfloat16"),
        ):
            store.push(key, nd.full(shape, rank + 1.0, dtype=dtype), priority=-step)
    all_are("a", 5 + 3 * 2 * 3)
    all_are("big", 3 * 2 * 3, shape=(300, 700))
    all_are("half", 1 + 3 * 2 * 3, dtype="float16")
    all_are("brain", 1 + 3 * 2 * 3, shape=(300, 7), dtype="bfloat16")

    # Rows: worker r pushes rows r and 3; what is asked for twice or out of order comes once.
    gradient = nd.sparse.row_sparse_array((nd.ones((2, 2)) * (rank + 1), [rank, 3]), shape=(6, 2))
    store.push("rows", gradient)
    rows = nd.sparse.zeros("row_sparse", (6, 2))
    store.row_sparse_pull("rows", out=rows, row_ids=nd.array([3, 0, 3, 5]))
    want = np.zeros((6, 2)); want[3] = 1 + 2 * 3; want[0] = 1 + 2; want[5] = 1
    assert (rows.asnumpy() == want).all(), rows.asnumpy()
    store.row_sparse_pull("rows", out=rows, row_ids=nd.array([]))
    assert not rows.asnumpy().any()
    store.push("rows", nd.sparse.zeros("row_sparse", (6, 2)))
    whole = nd.zeros((6, 2))
    store.pull("rows", out=whole)
    assert whole.asnumpy()[1].tolist() == [1 + 4, 1 + 4]

    # The profiler has each message with its bytes; the large key is divided over both servers.
    store._barrier()
    with hn.profiler.profile():
        for key, shape in (("a", (2, 3)), ("big", (300, 700))):
            store.push(key, nd.ones(shape))
            pulled(key, shape=shape)
        store.push("rows", gradient)
        store.row_sparse_pull("rows", out=rows, row_ids=nd.array([3, 0]))
        rows.wait_to_read()
        nd.waitall()
    sent, back = {}, {}
    for span in hn.profiler.events():
        if span.kind == "message":
            one = span.facts
            assert one["source"] == f"worker {rank}" and span.duration > 0, one
            assert one["round"] >= 1, one
            place = one["key"], one["to"]
            sent[place] = sent.get(place, 0) + one["sent"]
            back[place] = back.get(place, 0) + one["received"]
    assert {key for key, _ in sent} == {"a", "big", "rows"}, sent
    total = lambda sums, name: sum(size for (key, _), size in sums.items() if key == name)
    assert (total(sent, "a"), total(back, "a")) == (24, 24), (sent, back)
    assert (total(sent, "big"), total(back, "big")) == (840000, 840000), (sent, back)
    assert {to for key, to in sent if key == "big"} == {"server 0", "server 1"}
    # Two rows of two numbers, and which they are: 8 bytes each, in the push and in the pull.
    assert (total(sent, "rows"), total(back, "rows")) == (16 + 16 + 16, 16), (sent, back)

    # The scale that trainers set anew for a batch of another size; a rate that is changed.
    store.set_optimizer(hn.optimizer.create("sgd", learning_rate=1.0))
    own = hn.optimizer.create("sgd", learning_rate=1.0, rescale_grad=0.5)
    store.set_optimizer(own)
    before = float(pulled("a")[0, 0])
    own.rescale_grad = 0.25
    store.push("a", nd.ones((2, 3)))
    all_are("a", before - 0.5)
    own.set_learning_rate(2.0)
    store.push("a", nd.ones((2, 3)))
    all_are("a", before - 1.5)

    store._barrier()
    assert store.get_num_dead_node() == 0
    for wrong, message in (
        (lambda: store.push("none", out), "requires an initialized key"),
        (lambda: store.init("a", out), "requires a new key"),
        (lambda: store.push("a", nd.ones((3, 2))), "must have its shape"),
        (hn.function(lambda: store.push("rows", gradient)), "sends dense values from within a"),
        (lambda: store.set_gradient_compression({"type": "1bit"}), "must be"),
    ):
        try:
            wrong()
        except hn.MXNetError as error:
            assert message in str(error), error
        else:
            raise AssertionError(message)
    say("worker", rank, "is done")
    """,
    )
    run = Run(MXNET_KVSTORE_BIGARRAY_BOUND="100000")
    code, lines, error = launch(path, "-n", 2, "-s", 2, environ=run.environ)
    assert (code, lines) == (0, ["worker 0 is done", "worker 1 is done"]), error
    assert run.has_left_nothing()


@pytest.mark.slow
def test_asynchronous_stores_need_an_optimizer_and_add_each_push(tmp_path):
    path = script(
        tmp_path,
        STORE.format(kind="dist_async")
        + """
    store.init(1, nd.zeros((2, 3)))
    try:
        store.push(1, nd.ones((2, 3)))
    except hn.MXNetError as error:
        assert "requires an optimizer on the servers" in str(error), error
    store.set_optimizer(hn.optimizer.create("test"))
    for _ in range(5):
        store.push(1, nd.ones((2, 3)))
    store._barrier()
    all_are(1, 5 * workers)
    """,
    )
    code, _, error = launch(path, "-n", 2, "-s", 1)
    assert code == 0, error


COMPRESSED = """
    store.set_gradient_compression({"type": "2bit", "threshold": 0.5})
    store.init("k", nd.zeros((2, 3)))
    store.set_optimizer(hn.optimizer.create("test"))
    for given, want in ((0.4, 0), (0.1, 1), (0.2, 1), (0.3, 2), (-0.5, 1)):
        store.push("k", nd.full((2, 3), given))
        all_are("k", want)
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["dist_device_sync", "p3"])
def test_compression_sends_what_is_left_later(tmp_path, kind):
    """Two workers; a threshold of 0.5 each: sums of 1."""
    path = script(tmp_path, STORE.format(kind=kind) + COMPRESSED)
    code, _, error = launch(path, "-n", 2, "-s", 1)
    assert code == 0, error


LEARN = """
    from hybridnet import autograd, gluon, nd
    from hybridnet.lenet import initial_weights, lenet_block
    from hybridnet.io.mnist import load_mnist

    images, labels, *_ = load_mnist(None)
    images = images.reshape(-1, 1, 28, 28).astype(np.float32) / 255
    net = lenet_block()
    net.initialize()
    for name, param in net.collect_params().items():
        param.set_data(nd.array(initial_weights(0)[name.removeprefix(net.prefix)]))
    workers = int(os.environ.get("DMLC_NUM_WORKER", 1))
    store = hn.kv.create("dist_sync" if workers > 1 else "local")
    trainer = gluon.Trainer(
        net.collect_params(), "sgd", {"learning_rate": 0.07, "momentum": 0.9}, kvstore=store
    )
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    size = 32
    share = size // workers
    for step in range(6):
        begin = step * size + store.rank * share
        rows = slice(begin, begin + share)
        with autograd.record():
            loss = loss_of(net(nd.array(images[rows])), nd.array(labels[rows].astype(np.float32)))
        loss.backward()
        trainer.step(size)
        say("loss", step, store.rank, float(loss.sum().asscalar()))
"""


@pytest.mark.slow
def test_lenet_learns_as_in_one_process(tmp_path):
    """2 workers and 2 servers with halves of each batch give the curve of one process."""
    path = script(tmp_path, LEARN)

    def curve(lines):
        found = {}
        for line in lines:
            _, step, _, loss = line.split()
            found[int(step)] = found.get(int(step), 0.0) + float(loss)
        return [found[step] for step in range(6)]

    code, lines, error = launch(path, "-n", 2, "-s", 2)
    assert code == 0, error
    alone = subprocess.run([sys.executable, path], capture_output=True, text=True, check=True)
    np.testing.assert_allclose(curve(lines), curve(alone.stdout.splitlines()), rtol=1e-4)


FOREVER = """
    from hybridnet import kv, nd
    store = kv.create("dist_sync")
    store.init(0, nd.zeros((4,)))
    store.set_optimizer(hn.optimizer.create("test"))
    say("pid", store.rank, os.getpid())
    try:
        while True:
            out = nd.zeros((4,))
            store.push(0, nd.ones((4,)))
            store.pull(0, out=out)
            out.wait_to_read()
    except hn.distributed.DeadNodeError as error:
        say("lost", store.rank, error)
        sys.exit(4)
"""


@pytest.mark.slow
def test_a_lost_worker_is_named_to_the_others_and_nothing_is_left(tmp_path):
    run, path = Run(HYBRIDNET_DIST_DEADLINE="4"), script(tmp_path, FOREVER)
    running = popen(path, "-n", 2, "-s", 1, "--restarts", 0, environ=run.environ)
    pids = {}
    while len(pids) < 2:
        _, rank, pid = running.stdout.readline().split()
        pids[rank] = int(pid)
    os.kill(pids["1"], signal.SIGKILL)
    out, error = running.communicate(timeout=60)
    assert running.returncode == 137, error
    (line,) = [one for one in out.splitlines() if one.startswith("lost")]
    assert re.search(r"lost 0 .*worker 1.*signal 9", line), line
    assert "worker 1 was killed by signal 9 (SIGKILL) and is not started again" in error
    assert run.has_left_nothing()


@pytest.mark.slow
def test_a_killed_server_costs_a_moment_and_no_value(tmp_path):
    path = script(
        tmp_path,
        STORE.format(kind="dist_sync")
        + """
    store.init(0, nd.zeros((1000,)))
    store.set_optimizer(hn.optimizer.create("test"))
    for step in range(400):
        store.push(0, nd.full((1000,), rank + 1.0))
        all_are(0, 3.0 * (step + 1), shape=(1000,))
        if rank == 0 and step in (100, 200, 300):
            say("step", step)
    say("sum", int(pulled(0, shape=(1000,)).sum()))
    """,
    )
    run = Run()
    running = popen(path, "-n", 2, "-s", 1, environ=run.environ)
    for _ in range(3):
        assert running.stdout.readline().startswith("step")
        os.kill(child_of(running.pid, "server"), signal.SIGKILL)
    out, error = running.communicate(timeout=60)
    assert running.returncode == 0, error
    assert out.splitlines() == ["sum 1200000"] * 2
    assert error.count("server 0 was killed by signal 9 (SIGKILL); started again") == 3
    assert run.has_left_nothing()


@pytest.mark.slow
def test_a_lost_server_ends_the_run_and_says_which(tmp_path):
    run, path = Run(HYBRIDNET_DIST_DEADLINE="4"), script(tmp_path, FOREVER)
    running = popen(path, "-n", 2, "-s", 1, "--restarts", 0, environ=run.environ)
    for _ in range(2):
        running.stdout.readline()
    os.kill(child_of(running.pid, "server"), signal.SIGKILL)
    out, error = running.communicate(timeout=60)
    assert running.returncode == 137, error
    lost = sorted(one for one in out.splitlines() if one.startswith("lost"))
    assert len(lost) == 2 and all("server 0" in one for one in lost), out
    assert run.has_left_nothing()


@pytest.mark.slow
def test_a_killed_worker_goes_on_where_it_was_and_a_killed_scheduler_costs_nothing(tmp_path):
    """The other worker waits; the steps that counted are not done again, nor is one left out."""
    path = script(
        tmp_path,
        """
    from hybridnet import kv, nd
    store = kv.create("dist_sync")
    store.init(0, nd.zeros((1000,)))
    store.set_optimizer(hn.optimizer.create("test"))
    out = nd.zeros((1000,))
    for step in range(store.resumes, 300):
        store.push(0, nd.full((1000,), store.rank + 1.0))
        store.pull(0, out=out)
        assert (out.asnumpy() == 3.0 * (step + 1)).all(), (store.rank, step, out.asnumpy()[0])
        if step in (50, 150) and store.rank == 1 and os.environ["DMLC_NUM_ATTEMPT"] == "0":
            say("step", step, os.getpid())
    store._barrier()
    say("sum", out.asnumpy()[0], os.environ["DMLC_NUM_ATTEMPT"])
    """,
    )
    run = Run()
    running = popen(path, "-n", 2, "-s", 1, environ=run.environ)
    running.stdout.readline()
    os.kill(child_of(running.pid, "scheduler"), signal.SIGKILL)
    worker = int(running.stdout.readline().split()[2])
    os.kill(worker, signal.SIGKILL)
    out, error = running.communicate(timeout=60)
    assert running.returncode == 0, error
    assert sorted(out.splitlines()) == ["sum 900.0 0", "sum 900.0 1"]
    assert "the scheduler was killed by signal 9 (SIGKILL); started again" in error
    assert "worker 1 was killed by signal 9 (SIGKILL); started again" in error
    assert run.has_left_nothing()


@pytest.mark.slow
def test_a_trainer_in_place_of_a_killed_worker_begins_with_the_weights_of_the_servers(tmp_path):
    """Its first gradient is one of these, and not of the values that parameters begin with."""
    path = script(
        tmp_path,
        """
    from hybridnet import autograd, gluon, kv, nd
    store = kv.create("dist_sync")
    weight = gluon.Parameter("weight", shape=(1,))
    weight.initialize(hn.init.Constant(64.0))
    trainer = gluon.Trainer([weight], "sgd", {"learning_rate": 0.5}, kvstore=store)
    for step in range(store.resumes, 4):
        with autograd.record():
            loss = weight.data() ** 2 / 2
        loss.backward()
        trainer.step(store.num_workers)  # half of it is left each time
        assert weight.data().asscalar() == 64 / 2 ** (step + 1), (step, weight.data().asscalar())
        if step == 1 and store.rank == 1 and os.environ["DMLC_NUM_ATTEMPT"] == "0":
            os.kill(os.getpid(), 9)
    store._barrier()
    say("weight", weight.data().asscalar(), os.environ["DMLC_NUM_ATTEMPT"])
    """,
    )
    running = popen(path, "-n", 2, "-s", 1, environ=Run().environ)
    out, error = running.communicate(timeout=60)
    assert running.returncode == 0, error
    assert sorted(out.splitlines()) == ["weight 4.0 0", "weight 4.0 1"], error


@pytest.mark.slow
def test_what_died_with_a_worker_is_refused_by_who_takes_its_place(tmp_path):
    """Where workers update, the weights were in its process; what else it may do goes on."""
    path = script(
        tmp_path,
        """
    from hybridnet import autograd, gluon, kv, nd
    store = kv.create("dist_sync")
    again = os.environ["DMLC_NUM_ATTEMPT"] != "0"
    net = gluon.nn.Dense(1, use_bias=False)  # its shape is found at the first batch
    net.initialize(hn.init.Constant(64.0))
    if again:
        for wrong in (
            lambda: gluon.Trainer(net.collect_params(), "sgd", kvstore=store,
                                  update_on_kvstore=False),
            lambda: store._set_updater(lambda key, pushed, stored: None),
        ):
            try:
                wrong()
            except hn.MXNetError as error:
                assert "worker 1 was started again" in str(error), error
            else:
                raise AssertionError("it was not refused")
        assert store.recalled_shape(0) == (1, 1) and store.recalled_shape(1) is None
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5}, kvstore=store)
    assert not again or store.recalled_shape(0) is None
    batch = nd.ones((1, 1))
    for step in range(store.resumes, 6):
        if step == 2 and not again:  # who begins again does not come by here
            trainer.set_learning_rate(0.25)
        size = store.num_workers * (1 if step < 4 else 2)
        with autograd.record():
            loss = net(batch) ** 2 / 2
        loss.backward()
        trainer.step(size)
        if step == 3 and store.rank == 1 and not again:
            nd.waitall()
            os.kill(os.getpid(), 9)
    store._barrier()
    say("weight", net.weight.data().asscalar(), os.environ["DMLC_NUM_ATTEMPT"])
    """,
    )
    running = popen(path, "-n", 2, "-s", 1, environ=Run().environ)
    out, error = running.communicate(timeout=60)
    assert running.returncode == 0, error
    weight = 64 * 0.5**2 * 0.75**2 * 0.875**2
    assert sorted(out.splitlines()) == [f"weight {weight} 0", f"weight {weight} 1"], error


@pytest.mark.slow
def test_others_go_on_without_a_lost_worker_where_they_may(tmp_path):
    """Later sums are of one worker of two, times two; longer than the launcher has patience."""
    path = script(
        tmp_path,
        """
    import time
    from hybridnet import kv, nd
    store = kv.create("dist_sync")
    store.init(0, nd.zeros((3,)))
    out = nd.zeros((3,))
    for step in range(store.resumes, 8):
        if store.rank == 1 and step == 2:
            os.kill(os.getpid(), 9)
        store.push(0, nd.ones((3,)))
        store.pull(0, out=out)
        assert out.asnumpy().tolist() == [2.0] * 3, out
        if step > 2:
            time.sleep(0.7)
    say("worker", store.rank, "is done")
    """,
    )
    run = Run(HYBRIDNET_DIST_DEADLINE="1")
    running = popen(path, "-n", 2, "-s", 1, "--restarts", 0, "--on-loss", "shrink",
                    environ=run.environ)  # fmt: skip
    out, error = running.communicate(timeout=60)
    assert running.returncode == 0, error
    assert out == "worker 0 is done\n"
    assert "the others go on without it" in error
    assert run.has_left_nothing()


def child_of(launcher, role):
    """Returns the process of a role among the children of a launcher."""
    for one in Path("/proc").glob("[0-9]*"):
        try:
            status = (one / "stat").read_text().rpartition(")")[2].split()
            environ = (one / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if int(status[1]) == launcher and f"DMLC_ROLE={role}".encode() in environ:
            return int(one.name)
    raise AssertionError(f"there is no {role}")


MODULE = """
import mxnet as mx
import numpy as np

kv = mx.kvstore.create("dist_sync")
generator = np.random.RandomState(0)
data = generator.uniform(-1, 1, (64, 4)).astype("float32")
label = (data.sum(axis=1) > 0).astype("float32")
rows = slice(kv.rank, None, kv.num_workers)
train = mx.io.NDArrayIter(data[rows], label[rows], batch_size=8)

net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
net = mx.sym.SoftmaxOutput(net, name="softmax")
module = mx.mod.Module(net, context=mx.cpu())
mx.random.seed(3 + kv.rank)  # worker 0's weights are everybody's
module.fit(
    train,
    num_epoch=6,
    kvstore=kv,
    optimizer="adam",
    optimizer_params={"learning_rate": 0.1},
    initializer=mx.init.Uniform(0.5),
)
score = module.score(train, "acc")[0][1]
weights = module.get_params()[0]
print("%.2f %s\\n" % (score, weights["fc_weight"].asnumpy().round(4).tolist()), end="", flush=True)
"""


@pytest.mark.slow
def test_a_script_of_mxnet_trains_a_module_unmodified(tmp_path):
    path = tmp_path / "module.py"
    path.write_text(MODULE)
    code, lines, error = launch(path, "-n", 2, "-s", 2, runner=("-m", "hybridnet", "run"))
    assert code == 0, error
    scores, weights = zip(*(line.split(" ", 1) for line in lines), strict=True)
    assert len(weights) == 2 and weights[0] == weights[1], lines
    assert all(float(score) > 0.9 for score in scores)


UNEVEN = """
import mxnet as mx

store = mx.kv.create("dist_sync")
store.init("a", mx.nd.zeros((3,)))
out = mx.nd.zeros((3,))
for step in range(5 if store.rank else 3):
    store.push("a", mx.nd.ones((3,)))
    store.pull("a", out=out)
    print(store.rank, step, out[0].asscalar(), flush=True)
"""


@pytest.mark.slow
def test_a_worker_at_its_end_keeps_nobody_waiting(tmp_path):
    """One comes to its end after three rounds: the other learns why its fourth cannot be."""
    path = tmp_path / "uneven.py"
    path.write_text(UNEVEN)
    code, lines, error = launch(path, "-n", 2, "-s", 1, runner=("-m", "hybridnet", "run"))
    assert (code, len(lines)) == (1, 6), error
    assert "worker 0 has ended after round 3 of key 'a'" in error


@pytest.mark.slow
def test_a_script_that_is_started_as_a_server_serves(tmp_path):
    """As MXNet's launchers do: every role runs the training script, which only workers reach."""
    path = script(
        tmp_path,
        f"""
    from hybridnet import kv, nd
    store = kv.create("dist")
    store.init("w", nd.ones((3,)))
    store.push("w", nd.ones((3,)) * 4)
    out = nd.zeros((3,))
    store.pull("w", out=out)
    open({str(tmp_path)!r} + "/reached-" + os.environ["DMLC_ROLE"], "w").write(str(out.asnumpy()))
    """,
    )
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    job = Job((sys.executable, str(path)), Cluster(port=port, token=RunToken.new()))

    class Scripts(Supervisor):
        def plans(self, job, tell):
            return [replace(plan, command=job.command) for plan in job.plans()]

        def start(self, plan):
            return LocalSupervisor().start(plan)

    lines = []
    assert run_job(job, Scripts(), tell=lines.append) == 0, lines
    assert [one.name for one in tmp_path.glob("reached-*")] == ["reached-worker"]
    assert (tmp_path / "reached-worker").read_text() == "[4. 4. 4.]"
