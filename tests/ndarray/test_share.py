"""Sharing memory with NumPy, PyTorch and JAX: no copy, and nobody's memory changes or goes."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import settle

from hybridnet import autograd, cpu, gluon, nd
from hybridnet.base.errors import DTypeError, MXNetError, ParameterError


def aligned(values, dtype="float32"):
    """A NumPy array that begins at a multiple of 64 bytes, which XLA needs to share memory."""
    values = np.asarray(values, dtype)
    room = np.empty(values.nbytes + 64, np.uint8)
    start = -room.ctypes.data % 64
    host = room[start : start + values.nbytes].view(dtype).reshape(values.shape)
    host[...] = values
    return host


def update_in_place(x, times=4):
    """Changes an array often enough for the update to be one program, which may reuse memory."""
    for _ in range(times):
        x += 1
        x *= 2
        settle()


def pointer(x):
    return x.to_jax().unsafe_buffer_pointer()


# From here to others


def test_numpy_reads_our_memory():
    x = nd.array(np.arange(12).reshape(3, 4)) * 2
    host = np.from_dlpack(x)
    assert host.ctypes.data == pointer(x)
    assert not host.flags.writeable
    np.testing.assert_array_equal(host, np.arange(12).reshape(3, 4) * 2)


def test_jax_reads_our_memory():
    x = nd.array([1, 2, 3], dtype="float64") * 2
    array = x.to_jax()
    assert array.dtype == np.float64
    assert np.from_dlpack(x).ctypes.data == array.unsafe_buffer_pointer()
    y = nd.array([1, 2, 3], ctx=cpu(1)) * 2
    assert jax.dlpack.from_dlpack(y).unsafe_buffer_pointer() == pointer(y)
    assert y.to_jax().devices() == {jax.devices()[1]}


def test_torch_reads_our_memory():
    torch = pytest.importorskip("torch")
    for dtype in ("float32", "float64", "float16", "bfloat16", "int8", "int64", "uint8", "bool"):
        x = nd.array([[0, 1], [1, 0]], dtype=dtype)
        tensor = torch.from_dlpack(x)
        assert tensor.data_ptr() == pointer(x)
        assert str(tensor.dtype) == f"torch.{dtype}"
        np.testing.assert_array_equal(tensor.double().numpy(), [[0, 1], [1, 0]])
    capsule = nd.to_dlpack_for_read(nd.array([1, 2]))
    np.testing.assert_array_equal(torch.utils.dlpack.from_dlpack(capsule).numpy(), [1, 2])


def test_a_function_of_tvm_computes_on_our_memory():
    tvm = pytest.importorskip("tvm")
    te = pytest.importorskip("tvm.te")
    data = te.placeholder((4,), "float32")
    twice = te.compute(data.shape, lambda i: data[i] * 2 + 1)
    function = tvm.compile(te.create_prim_func([data, twice]), target="llvm")
    x = nd.arange(4) * 3
    assert tvm.runtime.from_dlpack(x).data_ptr() == pointer(x)
    made = tvm.runtime.empty((4,), "float32")
    function(x, made)
    y = nd.from_dlpack(made)
    np.testing.assert_array_equal(y.asnumpy(), [1, 7, 13, 19])
    np.testing.assert_array_equal((y + x).asnumpy(), [1, 10, 19, 28])


def test_a_view_is_exported_as_a_copy_of_its_part():
    x = nd.array(np.arange(6).reshape(2, 3))
    np.testing.assert_array_equal(np.from_dlpack(x[1]), [3, 4, 5])
    assert np.from_dlpack(x.reshape((3, 2))).shape == (3, 2)


@pytest.mark.parametrize("export", [np.from_dlpack, nd.NDArray.to_jax], ids=["dlpack", "jax"])
def test_exported_memory_is_not_touched_by_later_writes(export):
    x = nd.ones((1000,))
    update_in_place(x)  # the program that could take the memory over exists
    expected = x.asnumpy()
    exported = export(x)
    update_in_place(x)
    x[:] = -1
    x[3] = 5
    nd.waitall()
    np.testing.assert_array_equal(np.asarray(exported), expected)
    before = np.asarray(exported).copy()
    del x
    filler = [nd.full((1000,), i) for i in range(20)]
    nd.waitall()
    np.testing.assert_array_equal(np.asarray(exported), before)
    del filler


def test_an_export_in_the_middle_of_a_recording():
    x = nd.ones((1000,))
    for _ in range(3):
        x *= 2
        kept = np.from_dlpack(x)
        expected = kept.copy()
        x += 1
        x *= 3
        nd.waitall()
        np.testing.assert_array_equal(kept, expected)


def test_a_jax_user_who_donates_our_export_takes_nothing_away():
    x = nd.array(np.arange(1000)) * 2
    array = x.to_jax()
    jax.jit(lambda a: a + 1, donate_argnums=0)(array).block_until_ready()
    np.testing.assert_array_equal(x.asnumpy(), np.arange(1000) * 2)
    np.testing.assert_array_equal((x + 1).asnumpy(), np.arange(1000) * 2 + 1)


# From others to here


def test_numpy_memory_is_shared_where_it_is_aligned():
    host = aligned(np.arange(12).reshape(3, 4))
    x = nd.from_numpy(host)
    assert pointer(x) == host.ctypes.data
    assert not host.flags.writeable
    np.testing.assert_array_equal(x.asnumpy(), host)
    odd = aligned(np.arange(13))[1:]
    np.testing.assert_array_equal(nd.from_numpy(odd).asnumpy(), np.arange(1, 13))
    x += 1
    np.testing.assert_array_equal(host, np.arange(12).reshape(3, 4))
    np.testing.assert_array_equal(x.asnumpy(), np.arange(1, 13).reshape(3, 4))


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "int64", "uint8", "bool"])
def test_dtypes_of_numpy_memory(dtype):
    host = aligned([0, 1, 1], dtype)
    x = nd.from_dlpack(host)
    assert x.dtype is np.dtype(dtype).type
    assert pointer(x) == host.ctypes.data
    np.testing.assert_array_equal(x.asnumpy(), [0, 1, 1])


def test_numpy_arrays_that_cannot_be_shared():
    host = np.arange(6.0)
    x = nd.from_numpy(host, zero_copy=False)
    assert x.dtype is np.float64
    assert host.flags.writeable
    host[:] = 0
    np.testing.assert_array_equal(x.asnumpy(), np.arange(6))
    host.flags.writeable = False
    np.testing.assert_array_equal(nd.from_numpy(host).asnumpy(), np.zeros(6))
    with pytest.raises(ParameterError, match="zero_copy=True needs a C-contiguous array"):
        nd.from_numpy(np.zeros((3, 4)).T)
    with pytest.raises(DTypeError, match="dtype must be one of"):
        nd.from_numpy(np.zeros(3, "complex64"))


def test_torch_memory_is_shared():
    torch = pytest.importorskip("torch")
    for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.bool):
        tensor = torch.arange(64).reshape(8, 8).to(dtype)
        x = nd.from_dlpack(tensor)
        assert pointer(x) == tensor.data_ptr()
        np.testing.assert_array_equal(x.astype("float64").asnumpy(), tensor.double().numpy())
        if dtype is not torch.bool:
            before = tensor.clone()
            update_in_place(x)
            assert torch.equal(tensor, before)
    capsule = torch.utils.dlpack.to_dlpack(torch.arange(4.0))
    np.testing.assert_array_equal(nd.from_dlpack(capsule).asnumpy(), np.arange(4))


def test_torch_tensors_in_another_order_are_copied():
    torch = pytest.importorskip("torch")
    tensor = torch.arange(12.0).reshape(3, 4).t()
    x = nd.from_dlpack(tensor)
    np.testing.assert_array_equal((x * 2).asnumpy(), tensor.numpy() * 2)
    np.testing.assert_array_equal(x.asnumpy(), tensor.numpy())


def test_jax_memory_is_shared_and_left_alone():
    source = jnp.arange(1000.0) * 2
    x = nd.from_jax(source)
    assert pointer(x) == source.unsafe_buffer_pointer()
    update_in_place(x)
    np.testing.assert_array_equal(np.asarray(source), np.arange(1000) * 2)
    y = nd.from_jax(source)
    jax.jit(lambda a: a + 1, donate_argnums=0)(source).block_until_ready()
    np.testing.assert_array_equal(y.asnumpy(), np.arange(1000) * 2)
    assert nd.from_jax(jax.device_put(np.ones(2), jax.devices()[1])).context == cpu(1)


def test_a_jax_array_on_several_devices_is_refused():
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:2]), ("x",))
    spread = jax.device_put(np.ones(4), jax.sharding.NamedSharding(mesh, jax.P("x")))
    with pytest.raises(MXNetError, match="from_jax: needs an array on one device, got one on 2"):
        nd.from_jax(spread)


def test_shared_memory_outlives_its_exporter():
    x = nd.from_dlpack(aligned(np.arange(1000)))
    y = nd.from_jax(jnp.arange(1000.0))
    junk = [np.full(1000, 7.0) for _ in range(50)]
    np.testing.assert_array_equal(x.asnumpy(), np.arange(1000))
    np.testing.assert_array_equal(y.asnumpy(), np.arange(1000))
    del junk


def test_shared_arrays_can_be_differentiated():
    x = nd.from_dlpack(aligned([1, 2, 3]))
    x.attach_grad()
    with autograd.record():
        y = (x * x).sum()
    y.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), [2, 4, 6])


def test_a_round_trip_keeps_the_memory():
    x = nd.array(np.arange(100)) + 1
    assert pointer(nd.from_dlpack(x)) == pointer(x)
    assert pointer(nd.from_jax(x.to_jax())) == pointer(x)
    assert nd.from_dlpack(nd.empty((0, 3))).shape == (0, 3)


def test_memory_is_lent_for_writing():
    torch = pytest.importorskip("torch")
    x = nd.array(np.arange(6.0).reshape(2, 3)) * 2
    y = x + 1  # recorded before
    lent = torch.from_dlpack(x.to_dlpack_for_write())
    lent[1, 2] = 100
    assert x.asnumpy()[1, 2] == 100
    assert (x * 2).asnumpy()[1, 2] == 200
    assert y.asnumpy()[1, 2] == 11
    update_in_place(x)  # the array has memory of its own from now on
    assert lent[1, 2] == 100
    lent[0, 0] = -5
    assert x.asnumpy()[0, 0] != -5


def test_what_is_lent_for_writing_is_no_constant(monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setenv("HYBRIDNET_HOST", "off")
    net = gluon.nn.Dense(512, in_units=512, use_bias=False)
    net.initialize("ones")
    net.hybridize()
    lent = torch.from_dlpack(nd.to_dlpack_for_write(net.weight.data()))
    x = nd.ones((1, 512))
    for _ in range(40):
        net(x).wait_to_read()
    lent[:] = 2
    assert net(x).asnumpy()[0, 0] == 1024


def test_parts_are_not_lent_for_writing():
    x = nd.zeros((3, 2))
    with pytest.raises(MXNetError, match="needs a whole array on a CPU"):
        x[1].to_dlpack_for_write()
