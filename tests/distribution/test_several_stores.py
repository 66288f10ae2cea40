"""Several stores in one program: what servers do with the pushes of each is its own affair."""

import json

import numpy as np
import pytest
from launched import launch, script

pytest.importorskip("zmq")

STEPS, CHANGES, SHAPE = 8, 4, (6, 5)
#: By trainer: its optimizer, its first rate, and the one that it goes on with.
KINDS = (("sgd", 0.1, 0.03), ("adam", 0.01, 0.002))

TRAIN = """
    import json
    from hybridnet import autograd, gluon, kv, nd

    weights, trainers = [], []
    for name, rate, _ in KINDS:
        weights.append(gluon.Parameter(name, shape=SHAPE))
        weights[-1].initialize(hn.init.Constant(0.5))
        given = "dist_sync" if NAMED else kv.create("dist_sync")
        numbers = {"learning_rate": rate}
        trainers.append(gluon.Trainer([weights[-1]], name, numbers, kvstore=given))
    rank, workers = int(os.environ["HYBRIDNET_DIST_RANK"]), int(os.environ["DMLC_NUM_WORKER"])

    for step in range(STEPS):
        # The second one is the first to make a step, as that of a discriminator is.
        for number in (1, 0):
            weight, trainer = weights[number], trainers[number]
            x = nd.array(np.random.RandomState(100 * step + 10 * number + rank).randn(*SHAPE))
            with autograd.record():
                loss = ((weight.data() - x) ** 2).sum() / 2
            loss.backward()
            if step == CHANGES and number in CHANGED:
                trainer.set_learning_rate(KINDS[number][2])
            trainer.step(workers)
    say(json.dumps([one.data().asnumpy().tolist() for one in weights]))
"""


def trained(changed):
    """What the weights are in one process, in float64."""
    found = []
    for number, (name, first, later) in enumerate(KINDS):
        weight, mean, square = (np.full(SHAPE, value) for value in (0.5, 0.0, 0.0))
        for step in range(STEPS):
            rate = later if number in changed and step >= CHANGES else first
            gradient = weight - sum(
                np.random.RandomState(100 * step + 10 * number + rank).randn(*SHAPE) / 2
                for rank in range(2)
            )
            if name == "sgd":
                weight = weight - rate * gradient
                continue
            mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
            rate *= np.sqrt(1 - 0.999 ** (step + 1)) / (1 - 0.9 ** (step + 1))
            weight = weight - rate * mean / (np.sqrt(square) + 1e-8)
        found.append(weight)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("changed", [(), (0,), (1,)])
def test_two_trainers_have_optimizers_of_their_own(tmp_path, named, changed):
    """Other rules and other rates, of which one is changed on the way; on two servers."""
    given = {"KINDS": KINDS, "SHAPE": SHAPE, "STEPS": STEPS, "CHANGES": CHANGES}
    given |= {"CHANGED": changed, "NAMED": named}
    text = TRAIN
    lines = "".join(f"    {name} = {value!r}\n" for name, value in given.items())
    code, said, error = launch(script(tmp_path, "\n" + lines + text), "-n", 2, "-s", 2)
    assert code == 0 and len(said) == 2, error
    for one in said:
        for got, want in zip(json.loads(one), trained(changed), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)


SEVERAL = """
    from hybridnet import kv, nd

    def pulled(store, key, shape=(3,)):
        out = nd.zeros(shape)
        store.pull(key, out=out)
        return out.asnumpy()

    def all_are(store, key, number):
        got = pulled(store, key)
        assert (got == number).all(), (store.rank, store.type, key, got, number)
"""


@pytest.mark.slow
@pytest.mark.parametrize("packed_first", [True, False])
def test_pushes_of_one_store_are_compressed_and_those_of_another_are_not(tmp_path, packed_first):
    """Two workers; thresholds of 0.5 and 2 where there is one: sums of 1 and 4."""
    path = script(
        tmp_path,
        SEVERAL
        + f"""
    stores = [kv.create("dist_sync") for _ in range(3)]
    plain, packed, coarse = stores if not {packed_first} else (stores[2], *stores[:2])
    for store in stores:
        if store is not plain:
            threshold = 0.5 if store is packed else 2.0
            store.set_gradient_compression({{"type": "2bit", "threshold": threshold}})
        store.init("k", nd.zeros((3,)))
        store.set_optimizer(hn.optimizer.create("test"))
    total = 0
    for given, small, large in (
        (0.375, 0, 0), (0.125, 1, 0), (0.25, 1, 0), (0.25, 2, 0), (1.25, 3, 4)
    ):
        for store in stores:
            store.push("k", nd.full((3,), given))
        total += 2 * given
        all_are(plain, "k", total)
        all_are(packed, "k", small)
        all_are(coarse, "k", large)
    say("done")
    """,
    )
    code, said, error = launch(path, "-n", 2, "-s", 1)
    assert (code, said) == (0, ["done"] * 2), error


@pytest.mark.slow
@pytest.mark.parametrize("sync_first", [True, False])
def test_a_store_with_rounds_and_one_without_them(tmp_path, sync_first):
    """A worker pushes more often than the other to the one, and waits for it in the other."""
    path = script(
        tmp_path,
        SEVERAL
        + f"""
    kinds = ["dist_sync", "dist_async"]
    made = {{kind: kv.create(kind) for kind in (kinds if {sync_first} else reversed(kinds))}}
    rounds, each = made["dist_sync"], made["dist_async"]
    rank = rounds.rank
    for store in made.values():
        store.init("k", nd.zeros((3,)))
    each.set_optimizer(hn.optimizer.create("test"))
    count = 0
    for step in range(1, 4):
        if rank == 0:  # nobody need push with it
            for _ in range(step):
                each.push("k", nd.ones((3,)))
            assert (pulled(each, "k") >= step).all()
        rounds._barrier()
        each.push("k", nd.ones((3,)))
        rounds.push("k", nd.full((3,), step + rank))
        all_are(rounds, "k", 2 * step + 1)  # the sum of a round is the value
        (each if step % 2 else rounds)._barrier()  # all pushes count, whose store it is
        count += step + 2
        all_are(each, "k", count)
        rounds._barrier()
    rounds.set_optimizer(hn.optimizer.create("test"))
    rounds.push("k", nd.ones((3,)))
    all_are(rounds, "k", 7 + 2)
    each.push("k", nd.ones((3,)))
    each._barrier()
    all_are(each, "k", count + 2)
    say("done")
    """,
    )
    code, said, error = launch(path, "-n", 2, "-s", 1)
    assert (code, said) == (0, ["done"] * 2), error


@pytest.mark.slow
def test_optimizers_and_states_belong_to_a_store(tmp_path):
    """One is set while pushes of the others are on their way; states are saved and put back."""
    path = script(
        tmp_path,
        SEVERAL
        + """
    first, second, third = (kv.create("dist_sync") for _ in range(3))
    first.set_optimizer(hn.optimizer.create("sgd", learning_rate=1.0, momentum=0.5))
    second.set_optimizer(hn.optimizer.create("test"))
    for store in (first, second, third):
        store.init("k", nd.zeros((3,)))
        # Cut into many parts where nothing is to look at all of it.
        store.init("large", nd.zeros((3000,)))
    for turn in range(1, 4):
        for store in (first, second, third):
            for key, size in (("k", 3), ("large", 3000)):
                store.push(key, nd.ones((size,)))
        if turn == 1:  # the sums of `third` are of whole arrays from now on
            third.set_optimizer(hn.optimizer.create("lamb", learning_rate=0.5))
    all_are(first, "k", -(2 + 3 + 3.5))
    all_are(second, "k", 6)
    assert (pulled(first, "large", (3000,)) == -8.5).all()
    assert (pulled(second, "large", (3000,)) == 6).all()
    assert (pulled(third, "large", (3000,)) < 2).all() and (pulled(third, "k") < 2).all()

    states = first.states_to_bytes()
    first._barrier()
    third.set_optimizer(hn.optimizer.create("adam", learning_rate=1.0))
    first.push("k", nd.zeros((3,)))
    all_are(first, "k", -8.5 - 1.75)
    first.states_from_bytes(states)
    first.push("k", nd.zeros((3,)))
    all_are(first, "k", -8.5 - 1.75 - 1.75)
    all_are(second, "k", 6)
    second.push("k", nd.ones((3,)))
    all_are(second, "k", 8)
    try:
        second.states_from_bytes(states)
    except hn.MXNetError as error:
        assert "are they of another optimizer" in str(error), error
    say("done")
    """,
    )
    environ = {"HYBRIDNET_DIST_PART_BYTES": "512", "MXNET_KVSTORE_BIGARRAY_BOUND": "100"}
    code, said, error = launch(path, "-n", 2, "-s", 2, environ=environ)
    assert (code, said) == (0, ["done"] * 2), error
