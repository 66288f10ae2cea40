"""`trainer.step` with a distributed store inside `hn.function`."""

import pytest
from launched import launch, script

pytest.importorskip("zmq")

STEPS = """
    from hybridnet import autograd, gluon, kv, nd

    store = kv.create("dist_sync")
    nets = [gluon.nn.HybridSequential() for _ in range(2)]
    for net in nets:
        net.add(gluon.nn.Dense(30, activation="tanh", in_units=20), gluon.nn.Dense(3, in_units=30))
        net.initialize(hn.init.Constant(0.1))
    numbers = {"learning_rate": 0.1, "momentum": 0.9}
    trainers = [
        gluon.Trainer(net.collect_params(), "sgd", numbers, kvstore=one, **more)
        for net, one, more in zip(nets, (store, kv.create("dist_sync")), MORE)
    ]

    def step(net, trainer, x, y):
        with autograd.record():
            loss = ((net(x) - y) ** 2).mean()
        loss.backward()
        trainer.step(store.num_workers)
        return loss

    def states_of(trainer):
        other = hn.optimizer.get_updater(hn.optimizer.create("sgd", momentum=0.9))
        other.set_states(trainer.states_to_bytes())
        assert set(other.optimizer._index_update_count.values()) == {6}
        return [state.asnumpy() for state in other.states.values()]

    traced = hn.function(step)
    for number in range(6):
        data = np.random.RandomState(7 * number + store.rank)
        x, y = nd.array(data.randn(8, 20)), nd.array(data.randn(8, 3))
        losses = step(nets[0], trainers[0], x, y), traced(nets[1], trainers[1], x, y)
        np.testing.assert_allclose(*[one.asnumpy() for one in losses], rtol=1e-4)
        if number == 3:
            for trainer in trainers:
                trainer.set_learning_rate(0.01)
    for one, two in zip(*(net.collect_params().values() for net in nets)):
        np.testing.assert_allclose(one.data().asnumpy(), two.data().asnumpy(), 1e-3, 1e-5)
    for one, two in zip(*(states_of(trainer) for trainer in trainers)):
        np.testing.assert_allclose(one, two, 1e-3, 1e-5)

    # Others learn of it, who trace nothing.
    weight = nets[1][0].weight.data().asnumpy()
    store._barrier()
    say("equal", weight.astype("float64").sum())
"""


@pytest.mark.slow
@pytest.mark.parametrize("on_servers", [True, False])
def test_a_step_that_is_traced_is_the_same_step(tmp_path, on_servers):
    """The servers update, or add up; a rate that is changed later arrives."""
    more = str([{"update_on_kvstore": on_servers}] * 2)
    path = script(tmp_path, STEPS.replace("MORE", more))
    environ = {
        "HYBRIDNET_HOST": "only",
        "HYBRIDNET_DIST_PART_BYTES": "512",
        "MXNET_KVSTORE_BIGARRAY_BOUND": "100",
    }
    code, lines, error = launch(path, "-n", 2, "-s", 2, environ=environ)
    assert code == 0, error
    assert len(lines) == 2 and lines[0] == lines[1] and lines[0].startswith("equal"), lines
