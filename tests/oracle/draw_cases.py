"""Draws calls of every registered operator, for `make_drawn.py` to ask MXNet about.

    python tests/oracle/draw_cases.py candidates.json [OPERATOR ...]

A draw starts from a call that is known to be valid (a sample, or a case written by hand) and
changes it by the operator's typed parameters and inputs: parameters get other values of their
type, sizes are replaced (also by 1 and 0) alike wherever they occur, axes are added, dtypes
change, and NaN, infinities and zeros are put among the numbers. So most draws are valid, and some
are not: then MXNet's refusal is the answer.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

_HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(_HERE), str(_HERE.parent / "support")]

# ruff: noqa: E402 - the tests are no package
from case import Case, Input, all_cases
from drawn import pack, renamed
from op_samples import SAMPLES

from hybridnet.base.attrs import REQUIRED, Param
from hybridnet.compat_report import read_checklist
from hybridnet.ops.core.registry import REGISTRY, Operator, get

#: Draws of each operator, of which `make_drawn.py` keeps some; and of those that only saved
#: symbols name, or that hardly anybody calls.
COUNT, RARE = 48, 6
_DTYPES = ("float32", "float64", "float16", "int32", "int64", "uint8", "int8", "bool")
_MOST = 64  # elements of an input
# Parameters that say how many inputs there are: MXNet's front end fills them in.
_COUNTS = ("num_args", "num_weights", "num_arrays", "num_tensors", "num_outputs")
Random = np.random.RandomState


def _from_sample(name: str, index: int) -> Case:
    """Returns a sample call as a case: small arrays by their numbers, others by their range."""
    sample = SAMPLES[name][index]
    inputs = []
    width = len(sample.inputs) // sample.attrs.get("num_weights", 1)
    for place, one in enumerate(sample.inputs):
        array = np.asarray(one)
        whole = array.size > 0 and bool(np.all(array == np.round(array)))
        dtype = "float32" if array.dtype.kind == "f" else array.dtype.name
        if _is_master(name) and place < len(sample.inputs) - 1 and place % width < 2:
            dtype = "float16"  # weights and gradients, beside their float32 copies
        if whole or array.size <= 4 or "linalg" in name or name in _MATRICES:
            values = tuple(array.tolist()) if array.ndim else (array.item(),)
            inputs.append(Input((), dtype=dtype, values=_nested(values)))
        else:
            low, high = np.floor(array.min() * 10) / 10, np.ceil(array.max() * 10) / 10
            inputs.append(Input(array.shape, float(low), float(high), dtype))
    grads = tuple(
        i for i, one in enumerate(inputs) if one.dtype == "float32" and i not in sample.skip
    )
    call, _ = get(name).bind(sample.attrs, sample.train)
    after = tuple(call.mutates)
    if call.no_gradient:
        grads = ()
    attrs, train = dict(sample.attrs), bool(sample.train)
    return Case("", name, tuple(inputs), attrs, grads, sample.outputs, train, after)


def _is_master(name: str) -> bool:
    """Whether an update keeps float32 copies of float16 weights, which decides all dtypes."""
    return re.search(r"(^|_)mp_", name) is not None


def _nested(value: Any) -> Any:
    return tuple(_nested(one) for one in value) if isinstance(value, (list, tuple)) else value


def _shape(one: Input) -> tuple[int, ...]:
    return np.shape(np.array(one.values)) if one.values is not None else one.shape


def bases(op: Operator) -> list[Case]:
    """Returns the valid calls that draws start from."""
    names = {op.name, *op.aliases}
    found = [case for case in all_cases() if case.op in names]
    found += [_from_sample(op.name, index) for index in range(len(SAMPLES[op.name]))]
    return [case for case in found if not _large(case)] or found


# Functions of matrices with properties that random ones lack.
_MATRICES = {
    f"_npi_{one}"
    for one in ("cholesky", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "pinv", "slogdet",
                "solve", "svd", "tensorinv", "tensorsolve")
}  # fmt: skip


# Changes of a call. Each returns the changed case, or None where it does not apply.


def _other_value(random: Random, param: Param, value: Any, ndim: int) -> Any:
    """Returns another value of a parameter's type."""
    kind = param.kind
    options: list[Any] = []
    if kind.startswith("one of"):
        names = re.findall(r"'[^']*'|None", kind)
        options = [None if one == "None" else one.strip("'") for one in names]
    elif kind.startswith("a boolean"):
        options = [True, False]
    elif kind.startswith("an element type"):
        options = ["float32", "float64", "float16", "int32", "uint8", "int64"]
    elif kind.startswith("an axis"):
        options = [None, *range(-ndim, ndim), ndim]
        options += [tuple(random.permutation(ndim)[:2].tolist())] if ndim > 1 else []
        options += [(-1,), (0, -1), ()]
    elif kind.startswith("an integer"):
        if "axis" in param.name or param.name.startswith("dim"):
            options = [*range(-ndim, ndim), ndim]
        else:
            start = value if isinstance(value, (int, np.integer)) else 1
            options = [start - 1, start + 1, start + 2, 0, -1]
        options += [None] if "None" in kind else []
    elif kind.startswith("a number"):
        start = float(value or 0.0)
        options = [start * 0.5, start + 0.5, -start, 0.0, 2.0, 0.25]
        options += [None] if "None" in kind else []
    elif kind.startswith("a tuple of integers"):
        start = list(value or ())
        if start:
            place = random.randint(len(start))
            for new in (-1, 0, 1, 2, None if "None" in kind else 3):
                options.append(tuple(start[:place] + [new] + start[place + 1 :]))
            options += [tuple(start[::-1]), tuple(start[:-1]), (*start, 1)]
        else:
            options = [(1,) * ndim, (0,), (-1,), tuple(range(ndim))[::-1], (2, 1)]
    elif kind.startswith("a tuple of numbers"):
        start = [float(one) for one in (value or (1.0,))]
        options = [tuple(one * 0.5 for one in start), tuple(one + 1 for one in start)]
    options = [one for one in options if one != value]
    return options[random.randint(len(options))] if options else value


def change_parameter(random: Random, case: Case, op: Operator) -> Case | None:
    params = [
        one
        for one in op.params.values()
        if one.kind != "a string" and one.name not in _COUNTS and one.name not in op.sizes
    ]
    if not params:
        return None
    param = params[random.randint(len(params))]
    ndim = max([len(_shape(one)) for one in case.inputs] or [2])
    given = case.attrs.get(param.name, param.default)
    try:
        given = None if given is REQUIRED else param.read(given)
    except (TypeError, ValueError):
        return None  # an earlier change made it a wrong one
    value = _other_value(random, param, given, ndim)
    return dataclasses.replace(case, attrs={**case.attrs, param.name: value})


def change_sizes(random: Random, case: Case, op: Operator) -> Case | None:
    """Replaces a size by another one, wherever it occurs."""
    if any(one.values is not None for one in case.inputs):
        return None
    sizes = sorted({size for one in case.inputs for size in one.shape})
    if not sizes:
        return None
    old = sizes[random.randint(len(sizes))]
    new = int(random.choice([0, 1, 1, 1, 2, 3, 5]))
    inputs = [
        dataclasses.replace(one, shape=tuple(new if size == old else size for size in one.shape))
        for one in case.inputs
    ]
    attrs = {
        key: new if value == old and key in ("num_hidden", "num_filter", "depth") else value
        for key, value in case.attrs.items()
    }
    return dataclasses.replace(case, inputs=tuple(inputs), attrs=attrs)


def change_one_size(random: Random, case: Case, op: Operator) -> Case | None:
    """Makes one size of one input 1: broadcasting, or an error."""
    if not case.inputs or any(one.values is not None for one in case.inputs):
        return None
    which = random.randint(len(case.inputs))
    shape = list(case.inputs[which].shape)
    if not shape:
        return None
    shape[random.randint(len(shape))] = 1
    inputs = list(case.inputs)
    inputs[which] = dataclasses.replace(inputs[which], shape=tuple(shape))
    return dataclasses.replace(case, inputs=tuple(inputs))


def change_rank(random: Random, case: Case, op: Operator) -> Case | None:
    """Adds an axis in front of, or behind, all inputs; or takes the first away."""
    if not case.inputs or any(one.values is not None for one in case.inputs):
        return None
    way = random.randint(3)
    extra = int(random.choice([1, 2]))

    def other(shape: tuple[int, ...]) -> tuple[int, ...]:
        return ((extra, *shape), (*shape, extra), shape[1:] or shape)[way]

    inputs = [dataclasses.replace(one, shape=other(one.shape)) for one in case.inputs]
    return dataclasses.replace(case, inputs=tuple(inputs))


def change_dtype(random: Random, case: Case, op: Operator) -> Case | None:
    """Gives the floating inputs, or rarely just one of them, another dtype."""
    chosen = [i for i, one in enumerate(case.inputs) if one.dtype.startswith("float")]
    if not chosen or _is_master(op.name):
        return None
    dtype = _DTYPES[random.choice(len(_DTYPES), p=[0, 0.3, 0.2, 0.2, 0.1, 0.1, 0.05, 0.05])]
    if random.rand() < 0.1:
        chosen = [chosen[random.randint(len(chosen))]]
    inputs = list(case.inputs)
    for i in chosen:
        one = inputs[i]
        wide = {"low": one.low * 3, "high": one.high * 3} if not dtype.startswith("f") else {}
        if dtype in ("uint8", "bool"):
            wide = {"low": 0.0, "high": 2.0 if dtype == "bool" else max(one.high * 3, 3.0)}
        values = one.values
        if values is not None and not dtype.startswith("f"):
            # What a dtype cannot hold is converted differently by each NumPy.
            plain = np.nan_to_num(np.array(values, float), posinf=3, neginf=-3)
            values = _nested((np.abs(plain) if dtype in ("uint8", "bool") else plain).tolist())
        inputs[i] = dataclasses.replace(one, dtype=dtype, values=values, **wide)
    grads = tuple(i for i in case.grads if inputs[i].dtype.startswith("float"))
    return dataclasses.replace(case, inputs=tuple(inputs), grads=grads)


def _is_whole(one: Input) -> bool:
    """Whether its numbers are whole: they may be labels or positions."""
    values = np.array(one.values, float)
    return bool(np.all(values == np.round(values)))


def change_values(random: Random, case: Case, op: Operator) -> Case | None:
    """Multiplies the given numbers of a floating input."""
    chosen = [
        i
        for i, one in enumerate(case.inputs)
        if one.values is not None and one.dtype.startswith("float") and not _is_whole(one)
    ]
    if not chosen:
        return None
    factor = float(random.choice([0.25, 0.5, 1.5, 2.0]))
    i = chosen[random.randint(len(chosen))]
    values = _nested((np.array(case.inputs[i].values, float) * factor).tolist())
    inputs = list(case.inputs)
    inputs[i] = dataclasses.replace(inputs[i], values=values)
    return dataclasses.replace(case, inputs=tuple(inputs))


_CHANGES: Sequence[tuple[float, Callable[[Random, Case, Operator], Case | None]]] = (
    (0.37, change_parameter),
    (0.2, change_sizes),
    (0.08, change_one_size),
    (0.1, change_rank),
    (0.15, change_dtype),
    (0.1, change_values),
)


def draw(op: Operator) -> list[Case]:
    """Returns different calls of an operator, always the same ones."""
    random = Random(zlib.crc32(op.name.encode()))
    starts = bases(op)
    seen: set[str] = set()
    found: list[Case] = []
    count = COUNT if _is_common(op) else RARE
    for attempt in range(count * 8):
        case: Case | None = starts[attempt % len(starts)]
        for _ in range(1 + int(random.rand() < 0.35)):
            change = _CHANGES[random.choice(len(_CHANGES), p=[one for one, _ in _CHANGES])][1]
            case = change(random, case, op) if case is not None else None
        if case is None or _large(case):
            continue
        floating = bool(case.inputs) and case.inputs[0].dtype.startswith("float")
        plain = floating and case.inputs[0].values is None and _takes_special(op)
        special = plain and random.rand() < 0.12
        key = json.dumps([pack(case), special], default=str)
        if key in seen:
            continue
        seen.add(key)
        found.append(renamed(case, f"{op.name}-{len(found)}{'s' if special else ''}"))
        if len(found) == count:
            break
    return found


@functools.cache
def _common() -> set[str]:
    return {row.operator for row in read_checklist() if row.tier != "rare"}


def _is_common(op: Operator) -> bool:
    """Whether an operator is one of the checklist's core or common ones, or of NumPy's."""
    return op.name.startswith(("_np_", "_npi_")) or not _common().isdisjoint({op.name, *op.aliases})


def _takes_special(op: Operator) -> bool:
    """Whether NaN and infinities are among an operator's inputs: not in long sums of products."""
    sums = r"update|linalg|Norm|RNN|Convolution|Correlation|moments|RegressionOutput|matching|pinv"
    return not re.search(sums, op.name)


def _large(case: Case) -> bool:
    sizes = [int(np.prod(_shape(one), dtype=int)) for one in case.inputs]
    return sum(sizes) > 4 * _MOST or max(sizes, default=0) > 2 * _MOST


def write_calls(draw: Callable[[Operator], Iterable[Case]]) -> None:
    """Writes what is drawn of the operators that the command names, or of all that have samples."""
    path, *names = sys.argv[1:]
    names = names or [
        name
        for name, row in REGISTRY.items()
        if name == row.name and not name.startswith("_backward_") and name in SAMPLES
    ]
    calls = {case.name: pack(case) for name in names for case in draw(get(name))}
    Path(path).write_text(json.dumps(calls, default=_jsonable), encoding="utf-8")
    print(f"{len(names)} operators, {len(calls)} calls")


def _jsonable(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else str(value)


if __name__ == "__main__":
    write_calls(draw)
