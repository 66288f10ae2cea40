"""Arrays on a device of a user's: eager operators are computed by its kernels.

The device here knows a few operators, computes them by NumPy, and notes what it ran.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import numpy as np
import pytest
from helpers import heat, in_thread, naive, run_script

import hybridnet as hn
from hybridnet import autograd, gluon, nd, sym
from hybridnet import numpy as mnp
from hybridnet.base.errors import MXNetError, OpError
from hybridnet.ops.core.call import Call
from hybridnet.runtime.devices.device import _registered, users
from hybridnet.runtime.programs.cache import cache
from hybridnet.runtime.record import recorder
from hybridnet.runtime.segments.code import Code
from hybridnet.runtime.segments.segment import Segment

NUMBERS = np.array([[0.5, -1, 2], [3, 0, -2]], "float32")
ONE = np.float32(1)


def failing(*arrays: Any) -> Any:
    raise ValueError("a bead is stuck")


class Counter(hn.runtime.Device):
    """Computes by NumPy in the memory of cpu(0).

    Attributes:
        kernels: by the operators' names.
        ran: the structures that it was given, each as the names of its calls.
    """

    def __init__(self, index: int = 0, **more: Any) -> None:
        super().__init__("counter", index, memory=hn.cpu(0))
        self.kernels = {
            "exp": np.exp,
            "_mul_scalar": lambda x, number: x * x.dtype.type(number),
            "_plus_scalar": lambda x, number: x + x.dtype.type(number),
            "broadcast_add": np.add,
            "broadcast_mul": np.multiply,
            "elemwise_add": np.add,
            "_backward_exp": lambda x, dy: dy * np.exp(x),
            "sin": failing,
            **more,
        }
        self.ran: list[list[str]] = []

    @property
    def cost(self) -> hn.runtime.DeviceCost:
        return hn.runtime.DeviceCost()

    def supports(self, call: Call) -> bool:
        return call.name in self.kernels

    def receive(self, array: Any) -> Any:
        return jax.device_put(array, may_alias=False)

    def run(self, code: Code, inputs: list[Any], scalars: list[Any]) -> Sequence[Any]:
        self.ran.append([call.name for call, _ in code.instructions])
        results: list[Any] = []
        numbers = iter(scalars)
        for call, operands in code.instructions:
            arrays = [results[i] if i >= 0 else np.asarray(inputs[~i]) for i in operands]
            results += self._compute(call, arrays, [next(numbers) for _ in range(call.num_scalars)])
        return [jax.numpy.asarray(results[i]) for i in code.outputs]

    def _compute(self, call: Any, arrays: list[Any], numbers: list[Any]) -> list[Any]:
        graph = getattr(call, "graph", None)
        if graph is None:
            return [self.kernels[call.name](*arrays, *numbers)]
        given = dict(zip(call.hosts, numbers, strict=True))
        made = {node: [array] for node, array in zip(graph.inputs, arrays, strict=True)}
        for node in [one for one in graph.nodes if one.call is not None]:
            operands = [made[edge.node][edge.index] for edge in node.inputs]
            own = [given.get(number, number) for number in node.scalars]
            made[node] = self._compute(node.call, operands, own)
        return [made[edge.node][edge.index] for edge in graph.outputs]


@pytest.fixture(name="device")
def _device() -> Iterator[Counter]:
    one = Counter()
    hn.runtime.register_device(one)
    yield one
    nd.waitall()
    _registered.pop(one.context)
    users.pop(one.context)


def made(device: Counter, numbers: Any = NUMBERS) -> nd.NDArray:
    return nd.array(numbers, ctx=device.context)


def close(got: nd.NDArray, wanted: Any) -> None:
    np.testing.assert_allclose(got.asnumpy(), wanted, rtol=1e-6)


def test_operators_are_computed_by_its_kernels(device):
    x = made(device)
    y = nd.exp(x) * 2 + x
    assert y.context is device.context and str(y).endswith("@counter(0)>")
    close(y, np.exp(NUMBERS) * 2 + NUMBERS)
    assert device.ran == [["exp", "_mul_scalar", "broadcast_add"]]  # as one segment


def test_arrays_are_made_in_its_context(device):
    ones = nd.ones((2, 3), ctx=hn.Context("counter", 0))
    with device.context:
        others = [nd.zeros((2,)), nd.arange(3), nd.full((2,), 7), nd.array([1, 2])]
        drawn = nd.random.uniform(shape=(50,))
        one = mnp.ones((2,))
    wanted = [np.zeros(2), np.arange(3), np.full(2, 7), [1, 2]]
    assert all(x.context is device.context for x in (ones, drawn, one, *others))
    close(ones, np.ones((2, 3)))
    for x, numbers in zip(others, wanted, strict=True):
        close(x + x, 2 * np.asarray(numbers, "float32"))
    assert 0 <= drawn.asnumpy().min() < drawn.asnumpy().max() < 1
    close(mnp.exp(one), np.exp([ONE, ONE]))
    assert nd.ones((2,)).context == hn.cpu(0)


def test_an_operator_without_a_kernel_is_an_error_at_its_line(device):
    x = made(device)
    said = r"tanh has no kernel on counter\(0\); give the device one, or compute it elsewhere"
    with pytest.raises(MXNetError, match=said):
        nd.tanh(x)
    close(nd.exp(x), np.exp(NUMBERS))  # all else goes on
    close(nd.tanh(x.as_in_context(hn.cpu())), np.tanh(NUMBERS))
    with pytest.raises(MXNetError, match=r"all inputs must be on one context, got counter\(0\), c"):
        nd.broadcast_add(x, nd.ones((2, 3)))


def test_copies_go_there_and_back(device):
    x = nd.array(NUMBERS)
    there = x.as_in_context(device.context)
    assert there.context is device.context
    x[:] = 0
    close(there, NUMBERS)
    back = nd.exp(there).copyto(hn.cpu())
    assert back.context == hn.cpu(0)
    close(back, np.exp(NUMBERS))
    target = nd.zeros((2, 3), ctx=device.context)
    back.copyto(target)
    close(target * 2, 2 * np.exp(NUMBERS))
    close(there.copy(), NUMBERS)
    assert nd.ones((2,), dtype="float64", ctx=device.context).as_in_context(hn.cpu(1)).dtype == (
        np.float64
    )


def test_parts_are_read_and_written(device):
    x = made(device)
    close(x[1], NUMBERS[1])
    close(nd.exp(x[0:1]), np.exp(NUMBERS[:1]))
    close(x.reshape((3, 2)) * 2, 2 * NUMBERS.reshape(3, 2))
    x[0] = 7
    x[1] = nd.array([1, 2, 3], ctx=device.context)
    x *= 2
    close(x, [[14, 14, 14], [2, 4, 6]])
    x[:] = nd.ones((3,))
    close(x, np.ones((2, 3)))


def test_gradients_are_computed_by_its_kernels(device):
    x = made(device)
    x.attach_grad()
    with autograd.record():
        y = nd.exp(x * 3) * 2 + x * x
    y.backward()
    assert x.grad.context is device.context
    close(x.grad, 6 * np.exp(3 * NUMBERS) + 2 * NUMBERS)
    assert any("_backward_exp" in names for names in device.ran)


def test_a_gradient_without_a_kernel_is_an_error_of_backward(device):
    del device.kernels["_backward_exp"]
    x = made(device)
    x.attach_grad()
    with autograd.record():
        y = nd.exp(x)
    with pytest.raises(MXNetError, match=r"_backward_exp has no kernel on counter\(0\)"):
        y.backward()
    with autograd.record():
        y = x * 4
    y.backward()
    close(x.grad, np.full((2, 3), 4))


def test_gradients_cross_to_the_cpu_and_back(device):
    x = nd.array(NUMBERS)
    x.attach_grad()
    with autograd.record():
        y = (x.as_in_context(device.context) * 3).as_in_context(hn.cpu())
        loss = nd.square(y)
    loss.backward()
    close(x.grad, 18 * NUMBERS)


@pytest.mark.parametrize("runs", [1, 6])
def test_graphs_run_there_as_wholes(device, runs):
    x = made(device)
    function = hn.function(lambda x: nd.exp(x) * 2 + x)
    net = gluon.nn.HybridLambda(lambda F, x: F.exp(x) * 2 + x)
    net.hybridize()
    data = sym.var("x")
    symbol = sym.exp(data) * 2 + data
    executor = symbol.bind(device.context, {"x": x})
    for run in (lambda: function(x), lambda: net(x), lambda: executor.forward()[0]):
        device.ran.clear()
        got = heat(run, runs)
        close(got, np.exp(NUMBERS) * 2 + NUMBERS)
        assert got.context is device.context and len(device.ran) >= runs


def test_a_graph_with_an_operator_without_a_kernel_names_both(device):
    function = hn.function(lambda x: nd.tanh(nd.exp(x)), name="inner")
    with pytest.raises(MXNetError, match=r"inner: tanh has no kernel on counter\(0\)"):
        function(made(device))


def test_one_graph_on_two_devices_runs_on_each(device):
    """The program that the cpu ran last is not taken for the device's."""
    symbol = sym.exp(sym.var("x")) * 2
    here = symbol.bind(hn.cpu(), {"x": nd.array(NUMBERS)})
    there = symbol.bind(device.context, {"x": made(device)})
    for _ in range(30):
        here.forward()
        close(here.outputs[0], np.exp(NUMBERS) * 2)
        there.forward()
        close(there.outputs[0], np.exp(NUMBERS) * 2)
    assert len(device.ran) == 30


def test_other_dtypes(device):
    for dtype in ("float64", "float16", "int32", "int64"):
        x = nd.array([1, 2, 3], dtype=dtype, ctx=device.context)
        y = x + x
        assert y.dtype == np.dtype(dtype)
        close(y, [2, 4, 6])


# -- failures --------------------------------------------------------------------------------


def test_a_kernel_that_fails_is_named_with_its_line_and_the_others_are_computed(device):
    x = made(device)
    good, bad = nd.exp(x), nd.sin(x)
    worse, fine = bad * 2, x * 5
    with pytest.raises(OpError, match=r"sin on counter\(0\) failed: a bead.*test_user_device.py"):
        worse.asnumpy()
    close(good, np.exp(NUMBERS))
    close(fine, 5 * NUMBERS)
    with pytest.raises(OpError, match="a bead is stuck"):
        bad.asnumpy()
    alone = nd.sin(x)
    with pytest.raises(OpError, match=r"sin on counter\(0\) failed: a bead is stuck; recorded at"):
        alone.asnumpy()
    close(worse.context and nd.exp(x), np.exp(NUMBERS))


def test_what_depends_on_a_failure_elsewhere_fails_with_it(device):
    wrong = nd.sin(made(device)).as_in_context
    with pytest.raises(OpError, match="a bead is stuck"):
        wrong(hn.cpu()).asnumpy()


@pytest.mark.parametrize(
    ("returns", "said"),
    [
        (lambda one: [], "run must return 1 arrays, got 0"),
        (lambda one: [np.asarray(one)], "run must return a JAX array of type float32"),
        (lambda one: [one[:1]], r"for output 0, got .*float32 and shape \(1, 3\)"),
        (lambda one: [one.astype("int32")], "got .* of int32"),
    ],
)
def test_what_it_returns_is_looked_at(device, monkeypatch, returns, said):
    monkeypatch.setattr(
        device, "run", lambda code, inputs, scalars: returns(jax.numpy.asarray(inputs[0]))
    )
    with pytest.raises(OpError, match=said):
        nd.exp(made(device)).asnumpy()


def test_a_context_without_its_device_is_refused():
    hn.Context.add_type("nobodys")
    with pytest.raises(MXNetError, match=r"nobodys\(0\): no such device was registered"):
        nd.ones((2,), ctx=hn.Context("nobodys", 0))


# -- how it is recorded ----------------------------------------------------------------------


def test_segments_of_other_contexts_are_what_they_were(device):
    x, y = made(device), nd.array(NUMBERS)
    nd.waitall()
    one, two = nd.exp(x), nd.exp(y)
    kinds = {ctx: type(segment) for ctx, segment in recorder.thread.segments.items()}
    assert kinds[hn.cpu(0)] is Segment is not kinds[device.context]
    close(one, two.asnumpy())


def test_it_takes_no_program_from_the_cache(device):
    x = made(device)
    before = {program.code for program in cache.programs()}
    heat(lambda: (nd.exp(x) * 2).asnumpy())
    after = [p.code for p in cache.programs() if p.code not in before]
    assert not [code for code in after if code.ctx is device.context]


def test_explaining_says_that_its_kernels_ran(device):
    x = made(device)
    with hn.runtime.explaining() as seen:
        nd.exp(x).asnumpy()
    assert "1 operator on counter(0): run by the device's kernels" in str(seen)
    assert "needs no program" in str(seen) and "test_user_device.py" in str(seen)


def test_operators_at_once(device):
    with naive():
        x = made(device)
        y = nd.exp(x) * 2
        x[0] = 1
        close(y, np.exp(NUMBERS) * 2)
        assert device.ran == [["exp"], ["_mul_scalar"]]
        with pytest.raises(OpError, match="a bead is stuck"):
            nd.sin(x)
    with hn.engine.bulk(1):
        close(nd.exp(made(device)) * 2, np.exp(NUMBERS) * 2)


def test_a_long_loop_is_cut_into_segments(device):
    x = made(device, np.zeros(4))
    for _ in range(3000):
        x = x + 1
    close(x, np.full(4, 3000))
    assert sum(map(len, device.ran)) == 3000 > len(device.ran) > 1


def test_threads_share_it(device):
    x = made(device)

    def compute():
        y = x
        for _ in range(50):
            y = (nd.exp(y * 0) + x) * 0.5
        return y.asnumpy()

    wanted = in_thread(compute)
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(compute())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    for one in found:
        np.testing.assert_array_equal(one, wanted)
    pending = nd.exp(x)  # recorded here, read there
    np.testing.assert_allclose(in_thread(pending.asnumpy), np.exp(NUMBERS), rtol=1e-6)


def test_a_finalizer_may_compute_there(device):
    x, out = made(device), []

    class Last:
        def __init__(self) -> None:
            self.me = self

        def __del__(self) -> None:
            made_late = nd.ones((2, 3), ctx=device.context)
            out.append(nd.exp(x) + made_late)

    Last()
    gc.collect()
    close(out[0], np.exp(NUMBERS) + 1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_reads_what_was_computed_and_computes_nothing():
    printed = run_script(
        """
        import os
        import warnings
        import jax
        import numpy as np
        import hybridnet as hn
        from hybridnet import nd

        class Doubling(hn.runtime.Device):
            cost = hn.runtime.DeviceCost()

            def supports(self, call):
                return call.name == "_mul_scalar"

            def receive(self, array):
                return array

            def run(self, code, inputs, scalars):
                return [jax.numpy.asarray(2 * np.asarray(inputs[0]))]

        warnings.simplefilter("ignore")  # of forking beside JAX
        hn.runtime.register_device(Doubling("doubling", 0, memory=hn.cpu(0)))
        x = nd.ones((2,), ctx=hn.Context("doubling", 0)) * 2
        y = x * 2
        child = os.fork()
        if not child:
            assert x.asnumpy().tolist() == [2, 2]
            try:
                (x * 2).asnumpy()
            except hn.MXNetError as error:
                assert "this process was forked" in str(error), error
                os._exit(0)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        print(y.asnumpy())
        """
    )
    assert printed.split() == ["[4.", "4.]"]


def test_registered_anew_it_is_the_new_one_that_computes(device):
    x = made(device)
    close(nd.exp(x), np.exp(NUMBERS))
    other = Counter(exp=lambda x: x + ONE)
    hn.runtime.register_device(other)
    close(nd.exp(x), NUMBERS + 1)
    assert len(device.ran) == len(other.ran) == 1
