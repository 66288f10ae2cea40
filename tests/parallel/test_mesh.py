"""Arrays on a mesh: how they lie, that they compute as one array, and what is refused."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from helpers import run_script

import hybridnet as hn
from hybridnet import autograd, gluon, nd
from hybridnet.base.errors import MXNetError, ParameterError
from hybridnet.parallel import broadcast, join, load, split

MESH = hn.Mesh({"data": 4, "model": 2})
NUMBERS = np.arange(24, dtype=np.float32).reshape(8, 3)


def parts(array: nd.NDArray) -> list[tuple[int, ...]]:
    """Returns the shapes of an array's parts, device by device."""
    return [one.data.shape for one in array.to_jax().addressable_shards]


def test_equal_meshes_are_one_object():
    assert hn.Mesh({"data": 4, "model": 2}) is MESH
    assert hn.Mesh({"data": 4, "model": 2}, [hn.cpu(i) for i in range(8)]) is MESH
    assert hn.Mesh({"model": 2, "data": 4}) is not MESH
    assert pickle.loads(pickle.dumps(MESH)) is MESH and copy.deepcopy(MESH) is MESH
    assert repr(MESH) == "Mesh(data=4, model=2)"


def test_a_mesh_is_no_device_of_a_session():
    before = hn.runtime.list_devices()
    x = nd.array(NUMBERS).as_in_context(MESH)
    assert hn.runtime.list_devices() == before
    assert x.sum().asscalar() == NUMBERS.sum()


@pytest.mark.parametrize(
    ("placement", "part"),
    [
        (None, (8, 3)),
        (split(0), (2, 3)),
        (split(-2), (2, 3)),
        ({"model": split(0)}, (4, 3)),
        ({"data": split(0), "model": split(0)}, (1, 3)),
        ({"data": broadcast, "model": split(0)}, (4, 3)),
    ],
)
def test_each_device_has_its_part(placement, part):
    for x in (
        nd.array(NUMBERS, ctx=MESH).to_placement(placement),
        nd.array(NUMBERS, ctx=MESH, placement=placement or {}),
        nd.array(nd.array(NUMBERS), ctx=MESH, placement=placement or {}),
    ):
        assert x.context is MESH and x.shape == (8, 3)
        assert parts(x) == [part] * 8
        np.testing.assert_array_equal(x.asnumpy(), NUMBERS)
        np.testing.assert_array_equal((x * 2 + 1)[2:5].asnumpy(), NUMBERS[2:5] * 2 + 1)
        np.testing.assert_array_equal(x.as_in_context(hn.cpu()).asnumpy(), NUMBERS)


def test_a_placement_can_be_read():
    x = nd.array(NUMBERS, ctx=MESH)
    assert x.placement == {"data": broadcast, "model": broadcast}
    y = x.to_placement({"model": split(0)})
    assert y.placement == {"data": broadcast, "model": split(0)}
    assert repr(y.placement) == "{'data': broadcast, 'model': split(0)}"
    assert (y + 1).placement == y.placement


def test_what_is_written_in_place_lies_as_it_did():
    x = nd.array(NUMBERS, ctx=MESH, placement=split(0))
    kept = x.placement
    whole = nd.array(NUMBERS, ctx=MESH)
    x += whole
    assert x.placement == kept
    x[:] = whole
    assert x.placement == kept and whole.placement != kept
    x[:] = nd.array(NUMBERS)  # of another device
    x[2:4] = 0
    x[:] = x * 0.5
    x.wait_to_read()
    assert x.placement == kept and parts(x) == [(2, 3)] * 8
    wanted = NUMBERS * 0.5
    wanted[2:4] = 0
    np.testing.assert_array_equal(x.asnumpy(), wanted)


@pytest.mark.parametrize("source", [hn.cpu(0), hn.cpu(5), hn.Mesh({"rows": 2}), MESH])
@pytest.mark.parametrize("place", [hn.Mesh({"rows": 4}), hn.Mesh({"a": 2, "b": 4}), hn.cpu(1)])
@pytest.mark.parametrize("rows", [8, 100_000])
def test_a_copy_has_memory_of_its_own(source, place, rows):
    numbers = np.arange(rows, dtype=np.float32)
    x = nd.array(numbers, ctx=source)
    x.wait_to_read()
    y = x.as_in_context(place)
    for _ in range(3):
        y *= 2
        y.wait_to_read()
    np.testing.assert_array_equal(x.asnumpy(), numbers)
    np.testing.assert_array_equal(y.asnumpy(), numbers * 8)


def test_gradients_flow_through_and_lie_as_their_arrays():
    x = nd.array(NUMBERS, ctx=MESH, placement=split(0))
    x.attach_grad()
    assert x.grad.placement == x.placement
    with autograd.record():
        loss = (x.to_placement({"model": split(0)}) ** 2).sum()
    loss.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), 2 * NUMBERS)
    assert x.grad.placement == x.placement


def test_traced_functions_and_numpy_arrays():
    @hn.function
    def step(x, w):
        return hn.nd.dot(x.to_placement(split(0)), w).sum(axis=1)

    weight = np.ones((3, 4), np.float32)
    for _ in range(3):
        got = step(nd.array(NUMBERS, ctx=MESH), nd.array(weight, ctx=MESH))
        np.testing.assert_allclose(got.asnumpy(), (NUMBERS @ weight).sum(1))
        assert got.placement["data"] == split(0)
    there = hn.np.array(NUMBERS, ctx=MESH).to_placement(split(0))
    assert type(there) is hn.np.ndarray and (there.T @ there).shape == (3, 3)


def test_on_one_device_a_placement_means_nothing_in_a_graph():
    x = hn.sym.var("x")
    out = hn.sym._internal._to_placement(x * 2, splits="data:0")
    got = hn.sym.load_json(out.tojson()).eval(x=nd.ones((3,)))[0]
    assert got.asnumpy().tolist() == [2, 2, 2]


def test_random_numbers_are_those_of_any_placement():
    draws = []
    for placement in (None, split(0), {"model": split(0)}):
        hn.random.seed(7, ctx=MESH)
        drawn = nd.random.normal(shape=(8, 4), ctx=MESH).to_placement(placement)
        draws.append(drawn.asnumpy())
    np.testing.assert_array_equal(draws[0], draws[1])
    np.testing.assert_array_equal(draws[0], draws[2])


def test_a_mesh_is_a_context_like_any_other():
    with MESH:
        x = nd.ones((4, 2))
        assert x.context is MESH and hn.current_context() is MESH
        assert hn.Mesh({"data": 2}).contexts == (hn.cpu(0), hn.cpu(1))
    (moved,) = gluon.utils.split_and_load(NUMBERS, [MESH])
    assert moved.placement["data"] == split(0)
    with hn.util.np_array(True):
        (moved,) = gluon.utils.split_and_load(NUMBERS, [MESH])
        assert type(moved) is hn.np.ndarray and moved.placement["data"] == split(0)
    assert x.copyto(hn.cpu(1)).context is hn.cpu(1)
    assert "@Mesh(data=4, model=2)" in repr(x)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: hn.Mesh({"data": 0}), "size of 'data' must be an integer >= 1"),
        (lambda: hn.Mesh({}), "axes must be sizes by name"),
        (lambda: hn.Mesh({"data": 2}, [hn.cpu(0)]), "require 2 different contexts"),
        (lambda: hn.Mesh({"data": 2}, [hn.cpu(0), hn.cpu(0)]), "require 2 different contexts"),
        (lambda: hn.Mesh({"data": 2}, [hn.cpu(0), hn.gpu(0)]), "must be of one type"),
        (lambda: hn.Mesh({"data": 1}, ["cpu"]), "contexts must be devices"),
        (lambda: split("0"), "axis must be an integer"),
        (lambda: nd.ones((8, 3)).to_placement(split(0)), "requires an array on a mesh"),
        (lambda: nd.array([1], placement=split(0)), "requires a mesh as ctx"),
        (lambda: nd.ones((6, 3), ctx=MESH).to_placement(split(0)), "the 4 devices divide"),
        (lambda: nd.ones((8, 3), ctx=MESH).to_placement(split(2)), "requires an array that has"),
        (lambda: nd.ones((8, 3), ctx=MESH).to_placement({"x": split(0)}), "no axis 'x'"),
        (lambda: nd.ones((8, 3), ctx=MESH).to_placement({"data": 0}), "must be split"),
        (lambda: nd.ones((8, 3), ctx=MESH).to_placement("data"), "a placement must be"),
        (lambda: join(NUMBERS[:3], MESH, split(0)), r"join: requires a part .* got shape \(3, 3\)"),
        (lambda: join("text", MESH, split(0)), "join: needs real numbers"),
        (lambda: join(NUMBERS, hn.cpu(), split(0)), "join: requires a Mesh"),
        (
            lambda: nd.ones((4,), ctx=MESH).to_placement({"data": split(0), "model": split(0)}),
            "the 2 devices divide, got 1 of shape",
        ),
    ],
)
def test_what_cannot_be_is_refused_at_the_line(make, message):
    with pytest.raises(ParameterError, match=message):
        make()


def test_arrays_of_a_mesh_and_of_a_device_do_not_mix():
    with pytest.raises(MXNetError, match=r"must be on one context, got Mesh\(.*cpu\(0\)"):
        nd.ones((4,), ctx=MESH) + nd.ones((4,))
    with pytest.raises(MXNetError, match="must be on one context"):
        nd.ones((4,), ctx=MESH) + nd.ones((4,), ctx=hn.Mesh({"data": 8}))


def test_a_mesh_that_is_made_first_has_its_devices():
    script = """
        import hybridnet as hn
        print(hn.nd.ones((8,), ctx=hn.Mesh({"data": 8})).sum().asscalar())
        try:
            hn.nd.ones((9,), ctx=hn.Mesh({"data": 9}))
        except hn.MXNetError as error:
            print(error)
    """
    none = {"HYBRIDNET_NUM_CPU_DEVICES": "1", "JAX_NUM_CPU_DEVICES": "1"}
    first, second = run_script(script, **none).splitlines()
    assert first == "8.0" and "has 8 CPU devices for 9" in second


def test_a_loader_gives_each_device_its_part():
    data = gluon.data.ArrayDataset(NUMBERS, np.arange(8, dtype=np.int32))
    batches = [*load(gluon.data.DataLoader(data, 4), MESH)]
    for number, (x, y) in enumerate(batches):
        rows = slice(4 * number, 4 * number + 4)
        assert x.context is MESH and parts(x) == [(1, 3)] * 8 and y.dtype == np.int32
        np.testing.assert_array_equal(x.asnumpy(), NUMBERS[rows])
        np.testing.assert_array_equal(y.asnumpy(), range(8)[rows])
    ((named,),) = load([[{"a": nd.array(NUMBERS.T)}]], MESH, batch_axis=1)
    assert parts(named["a"]) == [(3, 2)] * 8


@pytest.mark.parametrize(
    ("batch", "where", "words"),
    [
        (np.ones((6, 3)), MESH, r"the 4 devices along 'data' divide, got shape \(6, 3\)"),
        ([np.ones((4, 3)), "label"], MESH, "must be arrays, .* got str"),
        (np.ones((4, 3)), hn.cpu(), "requires a Mesh, got cpu"),
        (np.array(1), MESH, r"split\(0\) requires an array that has the axis"),
    ],
)
def test_what_a_loader_cannot_give(batch, where, words):
    with pytest.raises(ParameterError, match=words):
        next(load([batch], where))
