"""Convolutions of NumPy arrays by oneDNN, against sums over windows in double precision."""

import os
import threading

import numpy as np
import pytest
from helpers import run_script
from hypothesis import given, settings
from hypothesis import strategies as st

import hybridnet as hn
from hybridnet.native import convolutions, onednn_library
from hybridnet.native.convolutions import ConvolutionSpec
from hybridnet.ops.host import convolution as host_convolution

pytestmark = pytest.mark.skipif(onednn_library.find() is None, reason="needs oneDNN")

rng = np.random.default_rng(3)


@pytest.fixture(autouse=True, scope="module")
def onednn_is_on():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HYBRIDNET_ONEDNN", "1")
        yield


@st.composite
def windows(draw):
    axes = draw(st.integers(1, 3))

    def each(least, most):
        return tuple(draw(st.integers(least, most)) for _ in range(axes))

    groups = draw(st.integers(1, 3))
    channels = groups * draw(st.integers(1, 5))
    filters = groups * draw(st.integers(1, 5))
    kernel, strides, dilation = each(1, 3), each(1, 3), each(1, 2)
    before, after = each(0, 2), each(0, 2)
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    sizes = tuple(
        max(1, r - b - a) + draw(st.integers(0, 5))
        for r, b, a in zip(reach, before, after, strict=True)
    )
    found = tuple(
        (n + b + a - r) // s + 1
        for n, b, a, r, s in zip(sizes, before, after, reach, strides, strict=True)
    )
    batch = draw(st.integers(1, 3))
    source, destination = (batch, *sizes, channels), (batch, *found, filters)
    return ConvolutionSpec(source, destination, kernel, strides, dilation, before, after, groups)


def serial(window, data, weights, gradient):
    """The convolution and both gradients, element of the kernel by element of the kernel."""
    pads = [(0, 0), *zip(window.before, window.after, strict=True), (0, 0)]
    data = np.pad(data.astype(np.float64), pads)
    weights, gradient = weights.astype(np.float64), gradient.astype(np.float64)
    result = np.zeros(window.destination)
    of_data, of_weights = np.zeros_like(data), np.zeros_like(weights)
    channels, filters = weights.shape[1], len(weights) // window.groups
    for group in range(window.groups):
        ins = slice(group * channels, (group + 1) * channels)
        outs = slice(group * filters, (group + 1) * filters)
        for tap in np.ndindex(*window.kernel):
            along = zip(tap, window.dilation, window.strides, gradient.shape[1:-1], strict=True)
            place = tuple(slice(t * d, t * d + (n - 1) * s + 1, s) for t, d, s, n in along)
            part = (slice(None), *place, ins)
            w = weights[(outs, slice(None), *tap)]
            result[..., outs] += data[part] @ w.T
            of_data[part] += gradient[..., outs] @ w
            rows = gradient[..., outs].reshape(-1, filters)
            of_weights[(outs, slice(None), *tap)] += rows.T @ data[part].reshape(-1, channels)
    inner = tuple(slice(b, of_data.shape[i] - a) for i, (b, a) in enumerate(pads))
    return result, of_data[inner], of_weights


def drawn(window):
    shapes = window.source, window.weights, window.destination
    return [rng.standard_normal(shape).astype(np.float32) for shape in shapes]


def check(window):
    data, weights, gradient = drawn(window)
    found = (
        convolutions.forward(window, data, weights),
        convolutions.data_gradient(window, weights, gradient),
        convolutions.weight_gradient(window, data, gradient),
    )
    for one, expected in zip(found, serial(window, data, weights, gradient), strict=True):
        assert one is not None
        np.testing.assert_allclose(one, expected, rtol=1e-4, atol=1e-4)


@given(windows())
@settings(max_examples=60, deadline=None)
def test_any_window(window):
    check(window)


SMALL = ConvolutionSpec((2, 5, 5, 4), (2, 5, 5, 6), (3, 3), (1, 1), (1, 1), (1, 1), (1, 1), 1)


def test_arrays_in_any_order_of_memory():
    data, weights, gradient = (np.asfortranarray(one) for one in drawn(SMALL))
    expected, *_ = serial(SMALL, data, weights, gradient)
    found = convolutions.forward(SMALL, data, weights)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_nan_and_infinity_come_through():
    data, weights, _ = drawn(SMALL)
    data[0, 2, 2, 0], data[1, 0, 0, 1] = np.nan, np.inf
    found = convolutions.forward(SMALL, data, weights)
    assert np.isnan(found[0, 1:4, 1:4]).all() and not np.isnan(found[0, 0, 4]).any()
    assert np.isinf(found[1, 0, 0]).all()


def test_few_kernels_are_kept(monkeypatch):
    monkeypatch.setattr(convolutions, "_KEPT_KERNELS", 2)
    for batch in (1, 2, 3, 1, 2, 3):
        check(SMALL._replace(source=(batch, 5, 5, 4), destination=(batch, 5, 5, 6)))
    assert len(convolutions._kernels) == 2


def test_threads_at_once():
    failed = []

    def work():
        try:
            for _ in range(5):
                check(SMALL)
        except BaseException as error:  # whatever it is, it is told below
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not failed


@pytest.mark.parametrize("threads", [1, 3])
def test_with_so_many_threads(threads):
    before = convolutions._threads
    convolutions.use_threads(threads)
    try:
        check(SMALL)
    finally:
        convolutions.use_threads(before)


def test_off_by_its_variable(monkeypatch):
    monkeypatch.setenv("HYBRIDNET_ONEDNN", "0")
    assert convolutions.forward(SMALL, *drawn(SMALL)[:2]) is None


LARGE = """
import os
os.environ["HYBRIDNET_HOST"] = "only"
import numpy as np
import hybridnet as mx
rng = np.random.default_rng(0)
x = mx.nd.array(rng.standard_normal((4, 16, 20, 20)))
w = mx.nd.array(rng.standard_normal((32, 16, 3, 3)))

def total():
    return mx.nd.Convolution(x, w, kernel=(3, 3), num_filter=32, no_bias=True).asnumpy().sum()

first = total()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_computes_without():
    done = run_script(
        LARGE
        + """
import warnings
from hybridnet.native import convolutions
assert convolutions._kernels
warnings.simplefilter("ignore")  # Python warns of a fork beside threads, as oneDNN's are
if os.fork() == 0:
    np.testing.assert_allclose(total(), first, rtol=1e-3)
    os._exit(7)
print(os.waitstatus_to_exitcode(os.wait()[1]))
"""
    )
    assert done.split() == ["7"]


def test_an_operator_takes_it_when_it_is_large(monkeypatch):
    calls = []
    forward = convolutions.forward
    monkeypatch.setattr(
        host_convolution.convolutions,
        "forward",
        lambda *given: calls.append(given[0]) or forward(*given),
    )
    monkeypatch.setenv("HYBRIDNET_HOST", "only")
    w = hn.nd.ones((8, 4, 3, 3))
    for size, expected in ((6, 0), (48, 1)):
        x = hn.nd.ones((1, 4, size, size))
        found = hn.nd.Convolution(x, w, kernel=(3, 3), num_filter=8, no_bias=True)
        assert (found.asnumpy() == 36).all()
        assert len(calls) == expected


def test_the_thread_has_its_number_of_threads_back():
    """Else weights that are packed for programs would be in another order than they are read."""
    file = onednn_library.load()
    before = file.omp_get_max_threads()
    convolutions.use_threads(before + 1)
    try:
        check(SMALL)
    finally:
        convolutions.use_threads(before)
    assert file.omp_get_max_threads() == before
