"""Optimizers that look at norms, on servers: arrays of several parts stay whole there."""

from itertools import accumulate

import numpy as np
import pytest
from launched import launch, script

from hybridnet.kvstore.protocol.parts import parts_of
from hybridnet.kvstore.protocol.words import InitPart, KeySpec, Peer, PushPart, RunPlan
from hybridnet.kvstore.storage.pushed import PartChecks
from hybridnet.kvstore.transport.wire import Payload, WireError, decode, encode

pytest.importorskip("zmq")

# The same optimizer here, on the sums of what all workers push.
SAME = """
    from hybridnet import kv, nd, optimizer
    name = sys.argv[1]
    shapes = {"w": (300, 7), "v": (40,), "e": (50, 8)}
    start = {key: np.random.RandomState(1).randn(*shape) for key, shape in shapes.items()}
    def given(key, step, rank):
        return nd.array(np.random.RandomState(step * 7 + rank).randn(*shapes[key]))

    def made():
        arguments = {"momentum": 0.9} if name == "lars" else {}
        return optimizer.create(name, learning_rate=0.1, wd=0.01, **arguments)

    here = {key: nd.array(value) for key, value in start.items()}
    update = optimizer.get_updater(made())
    store = kv.create("dist_sync")
    if EARLY:
        store.set_optimizer(made())
    for key, value in start.items():
        store.init(key, nd.array(value).tostype("row_sparse" if key == "e" else "default"))
    if not EARLY:
        store.push("w", nd.zeros(shapes["w"]))  # without an optimizer the sum becomes the value
        here["w"] = nd.zeros(shapes["w"])
        store.set_optimizer(made())
    for step in range(4):
        for key, shape in shapes.items():
            mine = given(key, step, store.rank)
            store.push(key, mine.tostype("row_sparse") if key == "e" else mine)
            update(key, given(key, step, 0) + given(key, step, 1), here[key])
            out = nd.zeros(shape)
            if key == "e":
                rows = nd.sparse.zeros("row_sparse", shape)
                store.row_sparse_pull(key, out=rows, row_ids=nd.arange(50))
                out = rows.tostype("default")
            else:
                store.pull(key, out=out)
            np.testing.assert_array_equal(out.asnumpy(), here[key].asnumpy(), err_msg=key)
    say("equal")
"""
#: Much less than the arrays: without `is_whole` each would be in many parts.
SMALL = {
    "HYBRIDNET_DIST_PART_BYTES": "512",
    "MXNET_KVSTORE_BIGARRAY_BOUND": "1000",
    "HYBRIDNET_HOST": "only",  # the sums of norms in the same order, here and there
}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "early"), [("lamb", True), ("lars", False)])
def test_norms_are_those_of_whole_arrays(tmp_path, name, early):
    """Bit for bit the local optimizer's; whether or not it is known when the keys are made."""
    path = script(tmp_path, SAME.replace("EARLY", str(early)).replace("sys.argv[1]", repr(name)))
    code, lines, error = launch(path, "-n", 2, "-s", 2, environ=SMALL)
    assert (code, lines) == (0, ["equal", "equal"]), error


def test_a_whole_key_lies_where_the_least_is():
    made = RunPlan(run=1, workers=2, shards=3, part_bytes=64, big=10)
    loads = [100, 30, 50]
    (part,) = parts_of(5, "w", KeySpec(1000, is_whole=True), made, loads)
    assert (part.first, part.last, part.shard) == (0, 1000, 1)


def test_a_part_larger_than_a_frame_travels_in_pieces():
    spec = KeySpec(6_000_000, shape=(6_000_000,), is_whole=True)
    (part,) = parts_of(0, "w", spec, RunPlan(run=1, workers=2, shards=3))
    value = np.arange(spec.size, dtype=np.float32)
    payload = Payload.of(value.view(np.uint8).data)
    sizes = [one.nbytes for one in payload.frames]
    assert list(accumulate(sizes))[-1] == value.nbytes and max(sizes) <= 4 << 20
    checks = PartChecks(None)
    checks.add(part, spec)
    worker = Peer("worker", 0)
    for message in (InitPart(1, part, "w", spec), PushPart(1, part.id, 1, None)):
        frames = encode(message, worker, 1, 7, payload=payload)
        (arrived,) = decode([bytes(one) for one in frames])
        checks.check(arrived.message, worker, 1)
        np.testing.assert_array_equal(arrived.message.payload.values(0.5), value)
    frames[-1] = frames[-1][:-4]
    with pytest.raises(WireError, match="is announced"):
        decode(frames)
    cut = KeySpec(6_000_000, shape=(6_000_000,))
    with pytest.raises(WireError, match="a part may have"):
        checks.check(InitPart(1, part, "w", cut, payload), worker, 1)
