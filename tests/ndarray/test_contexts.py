"""Contexts of CPUs: one for every number, whatever devices XLA has, and their other names."""

from __future__ import annotations

import numpy as np
import pytest

import hybridnet as mx
from hybridnet import autograd, cpu, nd, sym
from hybridnet.runtime.devices.device import device_at
from hybridnet.runtime.platform.jax_devices import device_of, num_devices

# On one device of XLA's, since there are eight.
FIRST, OTHER = cpu(0), cpu(8)
PINNED, SHARED = mx.cpu_pinned(), mx.Context("cpu_shared", 0)


def test_there_is_a_cpu_for_every_number():
    assert num_devices("cpu") == 8 and device_of(OTHER) is device_of(FIRST)
    for number in (1, 2, 5, 40):
        x = nd.ones((2,), ctx=cpu(number))
        assert x.context is cpu(number) and (x + 1).context is cpu(number)
    assert device_at(OTHER) is not device_at(FIRST)
    assert mx.runtime.find_device("/device:cpu:7").context is cpu(7)
    assert {device.context for device in mx.runtime.list_devices()} >= {FIRST, cpu(1)}
    assert OTHER not in {device.context for device in mx.runtime.list_devices()}


def test_contexts_on_one_device_copy_and_meet():
    x = nd.arange(4, ctx=FIRST)
    x.wait_to_read()
    y = x.as_in_context(OTHER)
    z = x.copyto(nd.zeros((4,), ctx=OTHER))
    for _ in range(8):  # until the program is compiled and overwrites what it is given
        x += 1
        y *= 2
        x.wait_to_read()
    np.testing.assert_array_equal(x.asnumpy(), np.arange(4) + 8)
    np.testing.assert_array_equal(y.asnumpy(), np.arange(4) * 256)
    np.testing.assert_array_equal(z.asnumpy(), np.arange(4))
    assert (y + x).context is OTHER
    np.testing.assert_array_equal((y + x).asnumpy(), np.arange(4) * 257 + 8)


def test_gradients_cross_contexts_on_one_device():
    x = nd.array([1.0, 2.0], ctx=FIRST)
    x.attach_grad()
    with autograd.record():
        loss = (x.as_in_context(OTHER) ** 2).sum()
    loss.backward()
    assert x.grad.context is FIRST and x.grad.asnumpy().tolist() == [2, 4]


def test_random_numbers_of_contexts_differ():
    mx.random.seed(3)
    one, other = (nd.random.uniform(shape=(4,), ctx=ctx).asnumpy() for ctx in (FIRST, OTHER))
    assert not np.array_equal(one, other)


def test_a_graph_is_cut_between_contexts_on_one_device():
    with mx.AttrScope(ctx_group="a"):
        hidden = sym.exp(sym.var("x"))
    with mx.device("/device:cpu:4"):
        out = hidden * 2
    bound = out.simple_bind(FIRST, group2ctx={"a": OTHER}, x=(2,))
    assert bound.arg_dict["x"].context is OTHER
    assert bound.forward(is_train=True, x=nd.zeros((2,)))[0].context is cpu(4)
    bound.backward()
    assert bound.outputs[0].asnumpy().tolist() == [2, 2]
    assert bound.grad_dict["x"].context is OTHER
    assert bound.grad_dict["x"].asnumpy().tolist() == [2, 2]


def test_a_store_sums_over_contexts_on_one_device():
    store = mx.kv.create("local")
    store.init(0, nd.zeros((2,)))
    grads = [nd.full((2,), i + 1, ctx=cpu(i)) for i in range(4)]
    store.push(0, grads)
    store.pull(0, out=grads)
    assert [grad.asnumpy().tolist() for grad in grads] == [[10, 10]] * 4


@pytest.mark.parametrize("place", [PINNED, SHARED])
def test_other_names_of_host_memory_mix_with_it(place):
    # MXNet 1.9.1: what is computed is on cpu(0), and arrays, views and targets keep their names.
    x, y = nd.array([1.0, 2.0]), nd.array([3.0, 4.0], ctx=place)
    assert y.context is place and y[0:1].context is place and y.reshape((2, 1)).context is place
    for result in (x + y, y + x, y + y, y * 2, nd.stack(y, x)):
        assert result.context is FIRST
    assert nd.elemwise_add(x, x, out=y) is y
    assert y.context is place and y.asnumpy().tolist() == [2, 4]
    copy = x.as_in_context(place)
    x += 1
    assert copy.context is place and copy.asnumpy().tolist() == [1, 2]
    assert nd.random.uniform(shape=(2,), ctx=place).context is place
    copy.attach_grad()
    with autograd.record():
        z = (copy * x).sum()
    z.backward()
    assert copy.grad.asnumpy().tolist() == [2, 3]
    bound = (sym.var("a") + sym.var("b")).bind(FIRST, {"a": x, "b": copy})
    assert bound.forward()[0].asnumpy().tolist() == [3, 5]


def test_pinned_memory_has_the_number_of_its_cpu():
    x = nd.ones((2,), ctx=mx.cpu_pinned(1))
    assert (x * 2).context is cpu(1)
    assert mx.cpu_pinned(1).computes_on is cpu(1) and mx.gpu(1).computes_on is mx.gpu(1)
