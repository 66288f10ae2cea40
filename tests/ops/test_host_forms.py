"""Operators on NumPy arrays give what XLA gives, in values, types and gradients."""

from __future__ import annotations

import subprocess
import sys

import jax
import numpy as np
import pytest
import scipy.special
from helpers import thorough
from host_calls import answers
from oracle.drawn import DRAWN, KINKS, is_kink, is_special, load
from traced import hurried_jit

from hybridnet import autograd, nd
from hybridnet.ops.core.registry import REGISTRY, get
from hybridnet.ops.host.functions import FUNCTIONS
from hybridnet.ops.host.namespace import NoHostForm, on_host
from hybridnet.ops.host.namespace import jax as array_jax
from hybridnet.ops.host.namespace import jnp as array_jnp
from hybridnet.ops.host.namespace import lax as array_lax
from hybridnet.ops.host.special_functions import digamma
from hybridnet.ops.host.traced import plain, vjp
from hybridnet.runtime.programs.cache import cache

_CASES = load(DRAWN)[0]
_KINKS = {name: case for name, case in load(KINKS)[0].items() if is_kink(case)}
_OPERATORS = sorted({get(case.op).name for case in _CASES.values() if case.op in REGISTRY})
_SHARDS = 12
# At infinities and NaN, where SciPy and XLA's approximations part.
_SPECIAL = {"ROIPooling", "gammaln", "_npi_std"}
# With rules that may end in the default one.
_FALL_BACK = {"Activation", "LeakyReLU", "abs", "transpose"}
# Where eigenvalues are equal, and at poles, which each version of JAX has otherwise.
_DEGENERATE = {"_npi_eigh", "_npi_eigvalsh", "_npi_svd", "_linalg_syevd", "gamma", "gammaln"}
# At -0.
_SIGNED = {"_npi_copysign"}
# Drawn where the function jumps, or where XLA rounds to float16 in between.
_JUMPS = {"_rmod_scalar", "_np_prod", "_random_pdf_generalized_negative_binomial"}


def _cases(name, among=_CASES):
    return [case for case in among.values() if case.op in REGISTRY and get(case.op).name == name]


def _kinks(name):
    cases = [] if name in _DEGENERATE else _cases(name, _KINKS)
    return [case for case in cases if name not in _SIGNED or "negative" not in case.name]


@pytest.mark.slow
@pytest.mark.parametrize("shard", range(_SHARDS))
def test_results_are_those_of_xla(shard):
    wrong = []
    for name in _OPERATORS[shard::_SHARDS]:
        for answer in answers(_cases(name)):
            case = _CASES[answer.name]
            if answer.difference and not (is_special(case) and name in _SPECIAL):
                wrong.append(f"{answer.name} {case.attrs}: {answer.difference}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
@pytest.mark.parametrize("shard", range(_SHARDS))
def test_gradients_are_those_of_xla(shard):
    wrong = []
    for name in _OPERATORS[shard::_SHARDS]:
        operator = get(name)
        has_rule = operator.gradient is not None and name not in _FALL_BACK
        if has_rule or operator.no_gradient or name in _JUMPS:
            continue
        cases = [case for case in _cases(name) if not is_special(case)]
        for answer in answers(cases + _kinks(name), gradient=True):
            if answer.difference:
                wrong.append(f"{answer.name}: {answer.difference}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
def test_core_operators_have_host_forms():
    names = (
        "dot batch_dot FullyConnected Convolution Pooling Activation softmax log_softmax sum mean "
        "max concat transpose Reshape slice take pick one_hot where broadcast_add sqrt exp tanh "
        "LayerNorm Embedding SequenceMask sgd_update topk sort argsort gather_nd scatter_nd "
        "_contrib_box_nms CTCLoss RNN _linalg_potrf _linalg_trsm _linalg_syevd"
    )
    without = []
    for name in names.split():
        found = answers(_cases(get(name).name)[:12])
        if found and all(answer.host is None for answer in found):
            without.append(name)
    assert not without


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize(("stride", "dilation"), [(1, 1), (2, 1), (1, 2), (3, 2)])
@pytest.mark.parametrize("channels", [4, 32])
def test_convolution_is_that_of_torch(groups, stride, dilation, channels):
    torch = pytest.importorskip("torch")
    draw = np.random.default_rng(channels)
    x = draw.normal(size=(2, channels, 9, 8))
    w = draw.normal(size=(8, channels // groups, 3, 2))

    def convolve(x, w):
        return array_lax.conv_general_dilated(
            x, w, (stride, stride), [(1, 1), (0, 0)], rhs_dilation=(dilation, dilation),
            dimension_numbers=("NCHW", "OIHW", "NCHW"), feature_group_count=groups,
        )  # fmt: skip

    y, pull_back = vjp(convolve, x, w)
    tx, tw = (torch.tensor(a, requires_grad=True) for a in (x, w))
    expected = torch.nn.functional.conv2d(
        tx, tw, stride=stride, padding=(1, 0), dilation=dilation, groups=groups
    )
    np.testing.assert_allclose(plain(y), expected.detach().numpy())
    grad = draw.normal(size=y.shape)
    expected.backward(torch.tensor(grad))
    for ours, theirs in zip(pull_back(grad), (tx, tw), strict=True):
        np.testing.assert_allclose(ours, theirs.grad.numpy())


@pytest.mark.parametrize("count", [0, 1, 7, 1001, 1 << 14, (1 << 15) + 1])
def test_random_bits_are_those_of_jax(count):
    def draw(words):
        with array_jax.threefry_partitionable(True):
            key = array_jax.random.wrap_key_data(words, impl="threefry2x32")
            key = array_jax.random.fold_in(key, np.uint32(count + 3))
            return array_jax.random.bits(key, (count,), np.uint64)

    for seed in range(5):
        words = np.random.default_rng(seed).integers(0, 1 << 32, 2, np.uint32)
        with jax.enable_x64(True):
            by_jax = np.asarray(draw(words))
        np.testing.assert_array_equal(on_host(FUNCTIONS, draw, words), by_jax)


def test_bits_that_are_drawn_one_after_the_other_are_those_of_jax():
    """What is drawn next is made ahead where draws repeat, and dropped where they do not."""
    draw = np.random.default_rng(1)

    def bits(words, number, count, child):
        with array_jax.threefry_partitionable(True):
            key = array_jax.random.wrap_key_data(words, impl="threefry2x32")
            key = array_jax.random.fold_in(key, number)
            if child:
                key = array_jax.random.fold_in(key, 1)
            return array_jax.random.bits(key, (count,), np.uint64)

    by_jax = {count: jax.jit(bits, static_argnums=(2, 3)) for count in (1, 3, 6, 40, 700)}
    with jax.enable_x64(True):
        for _ in range(30):
            words = draw.integers(0, 1 << 32, 2, np.uint32)
            number = int(draw.choice([0, 7, 250, (1 << 32) - 5]))
            sizes = draw.choice([*by_jax], draw.integers(1, 4))
            for step in range(draw.integers(2, 40)):
                count = int(sizes[step % len(sizes)])
                child = bool(draw.random() < 0.1)
                given = words, np.uint32(number), count, child
                found = on_host(FUNCTIONS, bits, *given)
                wanted = by_jax[count](*given)
                np.testing.assert_array_equal(found, wanted)
                number = int(draw.integers(1 << 32)) if draw.random() < 0.05 else number + 1
                number %= 1 << 32


@pytest.mark.slow
def test_the_first_of_a_sorted_axis_are_found_without_sorting_all():
    draw = np.random.default_rng(0)
    for _ in range(300):
        shape = tuple(draw.integers(1, 40, draw.integers(0, 3)))
        axis = int(draw.integers(len(shape) + 1))
        shape = (*shape[:axis], int(draw.integers(256, 600)), *shape[axis:])
        x = draw.normal(size=shape)
        kind = draw.integers(4)
        x = [x, np.round(x * 4), np.where(x > 1, np.nan, x), np.where(x > 0, -np.inf, x)][kind]
        with np.errstate(invalid="ignore"):
            x = x.astype(draw.choice(["float16", "float32", "float64", "int32", "uint8"]))
        count = int(draw.integers(1, 30))
        for descending in (False, True):
            found = FUNCTIONS["first_positions"](x, count, axis, descending)
            order = FUNCTIONS["argsort"](x, axis=axis, descending=descending)
            np.testing.assert_array_equal(found, np.take(order, range(count), axis))


def test_numbers_are_converted_as_xla_converts_them():
    given = np.array([np.nan, np.inf, -np.inf, 3e9, -3e9, 2.9, -2.9, 0.0])
    for dtype in ("int8", "int32", "int64", "uint8", "uint64"):
        with jax.enable_x64(True):
            by_xla = np.asarray(jax.numpy.asarray(given).astype(dtype))
        with np.errstate(all="ignore"):  # as where programs are run
            np.testing.assert_array_equal(FUNCTIONS["astype"](given, dtype), by_xla)


def test_a_function_that_is_missing_is_named():
    with pytest.raises(NoHostForm, match=r"lax\.reduce_window"):
        on_host(FUNCTIONS, lambda: array_lax.reduce_window(None, None, None))


@pytest.mark.slow
@pytest.mark.parametrize("lengths", [False, True])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("mode", ["rnn_relu", "rnn_tanh", "lstm", "gru"])
def test_recurrent_networks_are_those_of_xla(mode, bidirectional, lengths):
    """From what the forward pass kept, too, which the gradient's own rule goes by."""
    draw = np.random.default_rng(len(mode))
    gates = {"lstm": 4, "gru": 3}.get(mode, 1)
    ways = 1 + bidirectional
    sizes = [ways * gates * 4 * (inner + 4 + 2) for inner in (3, 4 * ways)]
    states = [draw.normal(size=(2 * ways, 2, 4)) for _ in range(1 + (mode == "lstm"))]
    inputs = [draw.normal(size=(5, 2, 3)), draw.normal(size=(sum(sizes),)), *states]
    inputs = [x.astype("float32") for x in inputs]
    if lengths:
        inputs.append(np.array([5, 3], "float32"))
    attrs = {
        "state_size": 4, "num_layers": 2, "mode": mode, "bidirectional": bidirectional,
        "state_outputs": True, "use_sequence_length": lengths,
    }  # fmt: skip
    call, _ = get("RNN").bind(attrs, True)
    by_host = on_host(FUNCTIONS, call.evaluate, inputs, ())
    by_xla = hurried_jit(lambda *arrays: call.lower("cpu", arrays, ()))(*inputs)
    for ours, theirs in zip(by_host, by_xla, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)

    wanted, given = tuple(range(2 + len(states))), tuple(range(call.num_visible))
    attrs = {**call.attrs, "wanted": wanted, "given": given}
    back, _ = get("_backward_RNN").bind(attrs, True)
    grads = [draw.normal(size=by_host[i].shape).astype("float32") for i in given]
    inputs = [*inputs, *by_host[call.num_visible :], *grads]
    by_host = on_host(FUNCTIONS, back.evaluate, inputs, ())
    by_xla = hurried_jit(lambda *arrays: back.lower("cpu", arrays, ()))(*inputs)
    for ours, theirs in zip(by_host, by_xla, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


_SESSION = """
import numpy as np
import hybridnet as hn
from hybridnet import autograd, gluon, nd
from hybridnet.runtime.programs.cache import cache

net = gluon.nn.HybridSequential()
net.add(gluon.nn.Conv2D(4, 3, activation="relu"), gluon.nn.BatchNorm(), gluon.nn.MaxPool2D(),
        gluon.nn.Dense(5), gluon.nn.Dropout(0.5), gluon.nn.Dense(3))
net.initialize(hn.init.Xavier())
if {hybrid}:
    net.hybridize()
trainer = gluon.Trainer(net.collect_params(), "adam")
loss = gluon.loss.SoftmaxCrossEntropyLoss()
hn.random.seed(3)
for _ in range(4):
    x = nd.array(np.random.RandomState(0).rand(8, 1, 8, 8))
    with autograd.record():
        cost = loss(net(x), nd.arange(8) % 3).mean()
    cost.backward()
    trainer.step(8)
print(cache.statistics().compilations, repr(cost.asscalar()))
"""


@pytest.mark.slow
@pytest.mark.parametrize("hybrid", thorough([False, True], [True]))
def test_a_net_trains_on_the_host_alone(hybrid, monkeypatch):
    results = {}
    for how in ("only", "off"):
        monkeypatch.setenv("HYBRIDNET_HOST", how)
        code = _SESSION.format(hybrid=hybrid)
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        compiled, cost = done.stdout.split()
        results[how] = int(compiled), float(cost.removeprefix("np.float32(").rstrip(")"))
    assert results["only"][0] == 0
    assert results["off"][0] > 0
    np.testing.assert_allclose(results["only"][1], results["off"][1], rtol=1e-4)


def test_a_program_may_be_built_while_the_host_computes():
    call, _ = get("tanh").bind({})

    def compute():
        traced = hurried_jit(lambda x: call.lower("cpu", (x,), ())[0])(np.ones(3, "float32"))
        return traced, call.evaluate((np.ones(3, "float32"),), ())[0]

    by_xla, by_numpy = on_host(FUNCTIONS, compute)
    assert type(by_numpy) is np.ndarray
    np.testing.assert_allclose(by_xla, by_numpy, rtol=1e-6)


def test_parts_are_compiled_while_the_host_computes(monkeypatch):
    """As by a finalizer that runs in the middle of a host form."""
    monkeypatch.setenv("HYBRIDNET_HOST", "off")
    given = np.arange(21.0).reshape(3, 7)

    def compute():
        x = nd.array(given)
        part = x[1:3, 2]
        x[0:1] = 5
        return part.asnumpy(), x.asnumpy()

    part, whole = on_host(FUNCTIONS, compute)
    np.testing.assert_array_equal(part, given[1:3, 2])
    np.testing.assert_array_equal(whole[0], np.full(7, 5.0))


def test_results_do_not_share_memory_with_inputs():
    x = nd.array(np.arange(6.0)).reshape((2, 3))
    views = [x.T, x.reshape((6,)), nd.identity(x), x[0], nd.broadcast_to(x[:1], (2, 3))]
    kept = [view.copy() for view in views]
    before = [view.asnumpy().copy() for view in kept]
    for _ in range(5):
        x += 1
        x.wait_to_read()
    for view, expected in zip(kept, before, strict=True):
        np.testing.assert_array_equal(view.asnumpy(), expected)


def test_what_the_host_refuses_xla_does():
    # Whole numbers divided by 0, which NumPy and XLA see differently, and positions outside.
    x = nd.array([5, 7], dtype="int32")
    assert (x % nd.array([0, 2], dtype="int32")).asnumpy().tolist() == [0, 1]
    with autograd.record():
        taken = nd.take(nd.arange(3), nd.array([1, 9]) * 1, mode="raise")
    with pytest.raises(IndexError):
        taken.asnumpy()
    assert taken.asnumpy()[0] == 1
    assert np.isnan(taken.asnumpy()[1])


def test_gradients_of_a_new_structure_each_time():
    draw = np.random.default_rng(0)
    for n in range(2, 9):
        data = draw.normal(size=(n, 3)).astype("float32")
        x = nd.array(data)
        x.attach_grad()
        with autograd.record():
            y = (nd.softmax(nd.dot(x, x.T)) ** 2).sum()
        y.backward()
        step = 1e-2
        for place in ((0, 0), (n - 1, 2)):
            moved = []
            for sign in (1, -1):
                other = data.astype("float64")
                other[place] += sign * step
                logits = other @ other.T
                powers = np.exp(logits - logits.max(1, keepdims=True))
                moved.append(((powers / powers.sum(1, keepdims=True)) ** 2).sum())
            slope = (moved[0] - moved[1]) / (2 * step)
            np.testing.assert_allclose(x.grad.asnumpy()[place], slope, rtol=2e-2, atol=2e-3)


def test_powers_of_e_are_right_to_a_unit_in_the_last_place():
    x = np.linspace(-80, 80, 4001, dtype="float32")
    exact = np.exp(x.astype("float64"))
    found = on_host(FUNCTIONS, get("exp").bind({})[0].evaluate, [x], [])[0]
    assert found.dtype == np.float32
    assert (abs(found - exact) / np.spacing(exact.astype("float32"))).max() <= 0.5001


def test_sums_of_float16_are_rounded_once():
    x = nd.ones((3000,), dtype="float16")
    assert nd.sum(x).asscalar() == 3000
    assert nd.mean(x).asscalar() == 1
    assert nd.norm(x * 300).asscalar() == np.float16(300 * 3000**0.5)
    np.testing.assert_allclose(nd.softmax(x).asnumpy().astype("float64").sum(), 1, rtol=1e-2)
    bias = nd.zeros((1,), dtype="float16")
    bias.attach_grad()
    with autograd.record():
        y = nd.broadcast_add(x, bias)
    y.backward()
    assert bias.grad.asscalar() == 3000


def test_what_is_new_in_float16_is_not_compiled():
    before = cache.statistics().compilations
    for n in range(2, 6):
        x = nd.array(np.arange(n), dtype="float16")
        x.attach_grad()
        with autograd.record():
            y = (nd.exp(x) * x).sum()
        y.backward()
        x.grad.wait_to_read()
    assert cache.statistics().compilations == before


_ORDERS = [None, 0, 1, 2, 3.5, np.inf, -np.inf]
_MATRIX_ORDERS = ["fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf]


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize(
    ("order", "axis"), [(o, 1) for o in _ORDERS] + [(o, (2, 0)) for o in _MATRIX_ORDERS]
)
def test_norms_are_numpys(order, axis, keepdims):
    x = np.random.default_rng(0).normal(size=(3, 2, 4))
    made = on_host(FUNCTIONS, lambda: array_jnp.linalg.norm(x, order, axis, keepdims))
    np.testing.assert_allclose(made, np.linalg.norm(x, order, axis, keepdims))


def _symmetric(x):
    return x + x.mT


_FACTORIZATIONS = {
    "solve": (lambda a, b: array_jnp.linalg.solve(a, b), [(2, 3, 3), (2, 3, 2)]),
    "solve one": (lambda a, b: array_jnp.linalg.solve(a, b), [(3, 3), (3,)]),
    "eigh": (lambda a: tuple(array_jnp.linalg.eigh(_symmetric(a))), [(2, 3, 3)]),
    "svd tall": (lambda a: tuple(array_jnp.linalg.svd(a, full_matrices=False)), [(2, 4, 3)]),
    "svd wide": (lambda a: tuple(array_jnp.linalg.svd(a, full_matrices=False)), [(3, 4)]),
    "singular values": (lambda a: array_jnp.linalg.svd(a, compute_uv=False), [(4, 3)]),
    "pinv": (lambda a: array_jnp.linalg.pinv(a, rtol=np.float64(1e-12)), [(2, 4, 3)]),
    "norm": (lambda a: array_jnp.linalg.norm(a, 3.0, 1), [(3, 4)]),
}


@pytest.mark.parametrize("name", _FACTORIZATIONS)
def test_gradients_of_factorizations_are_those_of_jax(name):
    function, shapes = _FACTORIZATIONS[name]
    draw = np.random.default_rng(3)
    inputs = [draw.normal(size=shape) for shape in shapes]
    made, pull_back = vjp(function, *inputs)
    several = isinstance(made, (tuple, list))
    hosts = [np.asarray(plain(one)) for one in (made if several else [made])]
    with jax.enable_x64(True):
        expected, pull_back_jax = jax.vjp(function, *map(jax.numpy.asarray, inputs))
        theirs = [np.asarray(one) for one in (expected if several else [expected])]
        # Vectors may have the other sign, and their gradients with them.
        signs = [np.sign(ours * other) for ours, other in zip(hosts, theirs, strict=True)]
        grads = [draw.normal(size=one.shape) for one in hosts]
        turned = [g * s for g, s in zip(grads, signs, strict=True)]
        back = pull_back_jax(
            tuple(map(jax.numpy.asarray, turned)) if several else jax.numpy.asarray(turned[0])
        )
    for ours, other in zip(hosts, theirs, strict=True):
        np.testing.assert_allclose(abs(ours), abs(other), rtol=1e-9, atol=1e-9)
    for ours, other in zip(pull_back(grads if several else grads[0]), back, strict=True):
        np.testing.assert_allclose(ours, other, rtol=1e-7, atol=1e-9)


def _softmax(x, axis):
    powers = np.exp(x - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


@pytest.mark.parametrize("axis", [-1, 0, 1])
@pytest.mark.parametrize("size", [1.0, 1e4, np.inf])
def test_rows_are_those_of_the_formula_in_float64(axis, size):
    """Moderate numbers are not searched for their largest; others are, infinities among them."""
    draw = np.random.default_rng(0)
    x = draw.normal(size=(3, 700, 130)).astype("float32")  # more than a block
    x[1, 2, 3:] *= size
    x[x == np.inf] = 0
    wide = x.astype(float)
    grad = draw.normal(size=x.shape).astype("float32")
    with np.errstate(all="ignore"):
        y, pull_back = vjp(lambda x: array_jax.nn.softmax(x, axis=axis), x)
        expected = _softmax(wide, axis)
        np.testing.assert_allclose(plain(y), expected, rtol=2e-6, atol=1e-30)
        slope = (grad * expected).sum(axis, keepdims=True)
        np.testing.assert_allclose(
            pull_back(grad)[0], expected * (grad - slope), rtol=1e-4, atol=1e-6
        )
        y, pull_back = vjp(lambda x: array_jax.nn.log_softmax(x, axis=axis), x)
        shifted = wide - wide.max(axis, keepdims=True)
        logarithm = shifted - np.log(np.exp(shifted).sum(axis, keepdims=True))
        np.testing.assert_allclose(plain(y), logarithm, rtol=2e-6, atol=2e-6)
        total = grad.astype(float).sum(axis, keepdims=True)
        np.testing.assert_allclose(pull_back(grad)[0], grad - expected * total, atol=1e-5)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_softmax_has_one_gradient_and_that_has_its_own(name, axis):
    draw = np.random.default_rng(0)
    x, grad, again = (draw.normal(size=(3, 5, 2)).astype("float32") for _ in range(3))
    call, _ = get(f"_backward_{name}").bind({"axis": axis, "scale": 2.0})
    y, pull_back = vjp(lambda x: getattr(array_jax.nn, name)(x, axis=axis), x)
    first, pull_again = vjp(lambda *arrays: call.evaluate(arrays, ())[0], grad, plain(y))
    np.testing.assert_array_equal(plain(first), 2 * pull_back(grad)[0])
    _, pull_by_xla = jax.vjp(lambda *arrays: call.lower("cpu", arrays, ())[0], grad, plain(y))
    for ours, theirs in zip(pull_again(again), pull_by_xla(again), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_softmax_of_what_is_transposed_lies_in_memory_as_that_does(name, axis):
    draw = np.random.default_rng(0)
    x, grad = (draw.normal(size=(4, 3, 5)).astype("float32") for _ in range(2))
    turned = np.ascontiguousarray(x.transpose(1, 0, 2)).transpose(1, 0, 2)
    y, pull_back = vjp(lambda x: getattr(array_jax.nn, name)(x, axis=axis), x)
    same, pull_same = vjp(lambda x: getattr(array_jax.nn, name)(x, axis=axis), turned)
    np.testing.assert_allclose(plain(same), plain(y), rtol=1e-6)
    np.testing.assert_allclose(pull_same(grad)[0], pull_back(grad)[0], rtol=1e-5, atol=1e-6)
    assert axis != -1 or plain(same).strides == turned.strides


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("shape", [(3, 0), (0, 3), (0,)])
def test_softmax_of_nothing_is_nothing(name, shape):
    y, pull_back = vjp(lambda x: getattr(array_jax.nn, name)(x, axis=-1), np.zeros(shape, "f"))
    assert plain(y).shape == pull_back(np.zeros(shape, "f"))[0].shape == shape


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_normalization_is_that_of_xla_along_any_axis(axis):
    draw = np.random.default_rng(0)
    x, grad = (draw.normal(3, 2, size=(6, 1100, 12)).astype("float32") for _ in range(2))
    gamma, beta = (draw.normal(size=x.shape[axis]).astype("float32") for _ in range(2))
    call, _ = get("LayerNorm").bind({"axis": axis})
    y, pull_back = vjp(lambda *arrays: call.evaluate(arrays, ())[0], x, gamma, beta)
    expected, pull_by_xla = jax.vjp(
        lambda *arrays: call.lower("cpu", arrays, ())[0], x, gamma, beta
    )
    np.testing.assert_allclose(plain(y), expected, rtol=1e-5, atol=1e-5)
    for ours, theirs in zip(pull_back(grad), pull_by_xla(grad), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-3)


def test_the_gradient_of_rows_that_are_taken_again_is_their_sum():
    draw = np.random.default_rng(0)
    table = draw.normal(size=(9, 2, 3))
    places = np.array([[3, -1, 3, 0], [8, 3, 5, 5]])
    grad = draw.normal(size=(2, 4, 2, 3))
    _, pull_back = vjp(lambda x: array_jnp.take(x, places, axis=0), table)
    expected = np.zeros_like(table)
    np.add.at(expected, places, grad)
    np.testing.assert_allclose(pull_back(grad)[0], expected, rtol=1e-12)


def test_products_of_matrices_with_one_are_one_product():
    draw = np.random.default_rng(0)
    x, w, grad = draw.normal(size=(4, 5, 6)), draw.normal(size=(6, 7)), draw.normal(size=(4, 5, 7))
    y, pull_back = vjp(array_jnp.matmul, x, w)
    np.testing.assert_allclose(plain(y), np.einsum("abi,ij->abj", x, w))
    of_x, of_w = pull_back(grad)
    np.testing.assert_allclose(of_x, np.einsum("abj,ij->abi", grad, w))
    np.testing.assert_allclose(of_w, np.einsum("abi,abj->ij", x, grad))


@pytest.mark.parametrize("name", ["sgd_mom_update", "adam_update"])
def test_updates_in_blocks_give_the_same_bits_as_the_formula_at_once(name):
    draw = np.random.default_rng(0)
    call, numbers = get(name).bind({"lr": 0.1, "wd": 0.01, "clip_gradient": 1.0})
    numbers = [np.float64(number) for number in numbers]
    count = len(get(name).inputs)
    arrays = [draw.random((3, 30001)).astype("float32") for _ in range(count)]
    whole = on_host(FUNCTIONS, call.evaluate, arrays, numbers)
    rows = [on_host(FUNCTIONS, call.evaluate, [x[i] for x in arrays], numbers) for i in range(3)]
    for one, parts in zip(whole, zip(*rows, strict=True), strict=True):
        np.testing.assert_array_equal(one, np.stack(parts))


def test_a_dense_layer_has_the_gradient_of_its_bias_alone():
    draw = np.random.default_rng(0)
    x, w, b, grad = (draw.normal(size=shape) for shape in ((3, 4), (5, 4), (5,), (3, 5)))
    call, _ = get("FullyConnected").bind({"num_hidden": 5})
    y, pull_back = vjp(lambda b: call.evaluate((x, w, b), ())[0], b)
    np.testing.assert_allclose(plain(y), x @ w.T + b)
    np.testing.assert_allclose(pull_back(grad)[0], grad.sum(0))


def test_digamma_is_right_to_the_last_place():
    x = np.append(np.geomspace(1e-30, 1e30, 20001), np.linspace(1.4, 1.5, 20001))
    x = x.astype(np.float32)
    expected = scipy.special.digamma(x.astype(np.float64))
    np.testing.assert_allclose(digamma(x), expected, rtol=1.2e-7)
    for other in (-x[:1], np.array([np.nan], np.float32), x[:1].astype(np.float64)):
        with pytest.raises(ValueError):
            digamma(other)


def test_gradients_of_gamma_functions_need_no_scipy():
    code = (
        "import sys, hybridnet as hn\n"
        "x = hn.nd.array([0.5, 3.0]); x.attach_grad()\n"
        "with hn.autograd.record(): y = hn.nd.gammaln(x) + hn.nd.gamma(x)\n"
        "y.backward(); print(*x.grad.asnumpy().tolist(), 'scipy' in sys.modules)\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    *numbers, loaded = found.stdout.split()
    x = np.array([0.5, 3.0])
    expected = scipy.special.digamma(x) * (1 + scipy.special.gamma(x))
    np.testing.assert_allclose([*map(float, numbers)], expected, rtol=1e-6)
    assert loaded == "False"


@pytest.mark.parametrize(
    "key",
    [
        3,
        5,
        -6,
        (slice(None), 1),
        (slice(None), 9),
        np.array([0, 5, -1, -6, 2]),
        (np.array([[0, 7], [1, 2]]), np.array([1, 2])),
        (np.array([4, 0]), 8),
    ],
    ids=str,
)
def test_positions_outside_are_left_out_where_that_is_asked_for(key):
    array = np.arange(15, dtype="float32").reshape(5, 3)
    for way in ("set", "add"):
        at = FUNCTIONS["at"](array)[key]
        expected = getattr(jax.numpy.asarray(array).at[key], way)(7.5, mode="drop")
        np.testing.assert_array_equal(getattr(at, way)(7.5, mode="drop"), expected)
    assert array[0, 0] == 0


def test_the_targets_of_a_detector_need_no_compiler():
    """Boxes that fit no anchor are matched with none: what they would write is left out."""
    anchor = np.array([[0, 0, 0.5, 0.5], [0.5, 0.5, 1, 1], [0.2, 0.2, 0.9, 0.9]], "float32")
    label = np.array([[[1, 0.5, 0.5, 1, 1], [0, 1.5, 1.5, 1.6, 1.6]]], "float32")
    call, _ = get("_contrib_MultiBoxTarget").bind({})
    found = on_host(
        FUNCTIONS, call.evaluate, [anchor[None], label, np.zeros((1, 3, 3), "float32")], []
    )
    assert {one.dtype for one in found} == {np.dtype("float32")}
    # The last anchor overlaps the first box by 0.16 of 0.58, less than the threshold.
    np.testing.assert_array_equal(found[2], [[0, 2, 0]])
