"""Functions and reductions of float32 are within 4 ulp of a float64 reference, or a table says so.

The table is the second one in `docs/differences.md`: operator and the error that is allowed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
import scipy.special
from helpers import run_script
from places import ROOT

from hybridnet import nd
from hybridnet.ops.core.registry import get

pytestmark = pytest.mark.optimized

_TABLE = ROOT / "docs" / "differences.md"
_MOST = 4.0  # ulp
Array = np.ndarray[Any, Any]

_WIDE, _UNIT, _POSITIVE = (-20.0, 20.0), (-0.999, 0.999), (1e-3, 1e3)
#: Operator -> its reference in float64, and where it is tried.
_FUNCTIONS: dict[str, tuple[Callable[[Array], Any], tuple[float, float]]] = {
    "exp": (np.exp, _WIDE),
    "expm1": (np.expm1, _WIDE),
    "log": (np.log, _POSITIVE),
    "log10": (np.log10, _POSITIVE),
    "log2": (np.log2, _POSITIVE),
    "log1p": (np.log1p, (-0.9, 1e3)),
    "sqrt": (np.sqrt, _POSITIVE),
    "rsqrt": (lambda x: 1 / np.sqrt(x), _POSITIVE),
    "cbrt": (np.cbrt, (-1e3, 1e3)),
    "rcbrt": (lambda x: 1 / np.cbrt(x), _POSITIVE),
    "reciprocal": (lambda x: 1 / x, _POSITIVE),
    "square": (np.square, _WIDE),
    "sin": (np.sin, _WIDE),
    "cos": (np.cos, _WIDE),
    "tan": (np.tan, (-1.5, 1.5)),
    "arcsin": (np.arcsin, _UNIT),
    "arccos": (np.arccos, _UNIT),
    "arctan": (np.arctan, _WIDE),
    "sinh": (np.sinh, _WIDE),
    "cosh": (np.cosh, _WIDE),
    "tanh": (np.tanh, _WIDE),
    "arcsinh": (np.arcsinh, _WIDE),
    "arccosh": (np.arccosh, (1.01, 1e3)),
    "arctanh": (np.arctanh, _UNIT),
    "sigmoid": (scipy.special.expit, _WIDE),
    "softsign": (lambda x: x / (1 + np.abs(x)), _WIDE),
    "erf": (scipy.special.erf, (-4.0, 4.0)),
    "erfinv": (scipy.special.erfinv, _UNIT),
    "gamma": (scipy.special.gamma, (0.1, 20.0)),
    "gammaln": (scipy.special.gammaln, (2.5, 1e3)),
    "degrees": (np.degrees, _WIDE),
    "radians": (np.radians, (-360.0, 360.0)),
}
_ROWS, _COLUMNS = 8, 4096
#: Operator -> its reference along the last axis.
_REDUCTIONS: dict[str, Callable[[Array], Any]] = {
    "sum": lambda x: x.sum(-1),
    "mean": lambda x: x.mean(-1),
    "norm": lambda x: np.sqrt((x * x).sum(-1)),
    "nansum": lambda x: x.sum(-1),
    "softmax": lambda x: scipy.special.softmax(x, -1),
    "log_softmax": lambda x: scipy.special.log_softmax(x, -1),
}


def _allowed() -> dict[str, float]:
    """Returns operator -> ulp of the table."""
    rows = re.findall(r"^\| `(\w+)` \| (\d+) ulp \|", _TABLE.read_text(), re.MULTILINE)
    return {name: float(ulp) for name, ulp in rows}


def _error(got: Array, wanted: Array) -> float:
    """Returns the largest error, in units of the last place of the right float32 number."""
    unit = np.spacing(np.abs(wanted).astype(np.float32)).astype(np.float64)
    return float(np.max(np.abs(got.astype(np.float64) - wanted) / unit))


def _compute(name: str, x: Array, **attrs: Any) -> Array:
    call, scalars = get(name).bind(attrs)
    numbers = [np.float64(one) for one in scalars]
    with jax.enable_x64(True):
        return np.asarray(jax.jit(lambda x: call.lower("cpu", [x], numbers)[0])(x))


@pytest.fixture(scope="module")
def errors() -> dict[str, float]:
    random = np.random.default_rng(0)
    found = {}
    for name, (reference, (low, high)) in _FUNCTIONS.items():
        if low > 0:  # as many numbers in each octave
            x = np.exp(random.uniform(math.log(low), math.log(high), 20000))
        else:
            x = random.uniform(low, high, 20000)
        x = x.astype(np.float32)
        found[name] = _error(_compute(name, x), reference(x.astype(np.float64)))
    x = random.uniform(0.1, 1.0, (_ROWS, _COLUMNS)).astype(np.float32)
    for name, along in _REDUCTIONS.items():
        found[name] = _error(_compute(name, x, axis=-1), along(x.astype(np.float64)))
    return found


def test_functions_and_reductions_are_accurate_or_the_table_says_how_far(errors):
    allowed = _allowed()
    wrong = {name: ulp for name, ulp in errors.items() if not ulp <= allowed.get(name, _MOST)}
    assert not wrong


def test_the_table_lists_no_accurate_function(errors):
    listed = set(_allowed())
    if jax.__version_info__ >= (0, 12):
        listed.remove("gammaln")  # JAX computes it another way since
    assert all(errors[name] > _MOST for name in listed)


@pytest.mark.parametrize(("tier", "keeps"), [("only", True), ("off", False)])
def test_numbers_below_the_least_normal_one(tier: str, keeps: bool) -> None:
    """As the page of differences says."""
    script = """
        import numpy as np
        from hybridnet import nd

        for dtype, tiny in (("float32", 1e-38), ("float64", 1e-308)):
            x = nd.array(np.array([4 * tiny, tiny / 4]), dtype=dtype)
            print(*((x * 0.25) > 0).asnumpy(), *(x * 2.0 > 0).asnumpy())
    """
    printed = run_script(script, HYBRIDNET_HOST=tier)
    wanted = "1.0 1.0 1.0 1.0" if keeps else "0.0 0.0 1.0 0.0"
    assert printed.splitlines() == [wanted, wanted]


@pytest.mark.parametrize("shape", [(1000, 300), (40, 25, 300)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_sums_of_rows(shape: tuple[int, ...], keepdims: bool) -> None:
    """Rows that were added up one after another would be off by 4 units, on average."""
    x = (np.random.default_rng(0).random(shape) * 10).astype(np.float32)
    axes = tuple(range(x.ndim - 1))
    wanted = x.astype(np.float64).sum(axes, keepdims=keepdims)
    found = nd.sum(nd.array(x), axis=axes, keepdims=keepdims).asnumpy()
    assert found.shape == wanted.shape and found.dtype == np.float32
    units = abs(found - wanted) / np.spacing(wanted.astype(np.float32))
    assert units.mean() < 2.5
