"""Calls of operators at the edges of their dtypes, and what is wrong with their results.

Each sample call of `op_samples` is made with the least and greatest numbers of each dtype, zeros of
either sign, NaN and infinities in place of its own, with such numbers as its parameters, and with
axes without elements. `edge_worker` runs this in a process that a hang or a crash may take.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import jax
import ml_dtypes
import numpy as np
from edge_numpy import FUNCTIONS, answer, differs
from op_samples import SAMPLES, Sample
from traced import quick, types_of

from hybridnet.base.errors import MXNetError
from hybridnet.base.tensor_type import tensor_type
from hybridnet.ops.core.call import Call
from hybridnet.ops.core.registry import get
from hybridnet.ops.random.state import initial_state

__all__ = ["DTYPES", "Found", "findings", "numbers_of", "plans"]

Array = np.ndarray[Any, Any]
DTYPES: Final = tuple(
    np.dtype(one)
    for one in (
        "float32", "int32", "int8", "int64", "uint8", "bool", "float64", "float16",
        ml_dtypes.bfloat16,
    )
)  # fmt: skip
# What a parameter that is a number may be: shifts too far, divisors of 0, and what is no number.
_SCALARS: Final = (0.0, -0.0, -1.0, 200.0, -(2.0**31), 2.0**63, np.inf, -np.inf, np.nan)
_SIZES: Final = (2**31, 2**32 + 6, 2**61)
_LARGE: Final = 10_000_000  # bytes: a result that is larger is inferred only


@dataclass(frozen=True)
class Found:
    """What is wrong with a call: in words, of which operator and in which call."""

    operator: str
    where: str
    kind: str
    text: str


@dataclass(frozen=True)
class Plan:
    """A call to try.

    Attributes:
        operator: its name.
        index: which of its samples.
        dtype: of the inputs that are of float64 in the sample; None for the sample's own.
        empty: which axes have no element: 'first', 'last', 'all' or ''.
        large: how large an axis is, whose types are inferred and nothing more; 0 for the sample's.
    """

    operator: str
    index: int
    dtype: np.dtype[Any] | None
    empty: str = ""
    large: int = 0

    @property
    def sample(self) -> Sample:
        return SAMPLES[self.operator][self.index]

    def __str__(self) -> str:
        kind = self.dtype.name if self.dtype is not None else "its dtypes"
        sizes = (
            f", empty {self.empty}" if self.empty else f", large {self.large}" * bool(self.large)
        )
        return f"{self.operator} sample {self.index} of {kind}{sizes}"


def plans(operator: str, dtypes: Sequence[np.dtype[Any]], every: bool) -> Iterator[Plan]:
    """Returns the calls to try of an operator; without `every` those of its first sample."""
    samples = SAMPLES[operator]
    for index in range(len(samples) if every else 1):
        arrays = [one for one in samples[index].inputs if one.dtype == np.float64]
        for dtype in dtypes if arrays else [None]:
            yield Plan(operator, index, dtype)
        if any(one.ndim for one in samples[index].inputs):
            for empty in ("first", "last", "all") if every else ("first",):
                yield Plan(operator, index, None, empty)
            for large in _SIZES:
                yield Plan(operator, index, None, large=large)


def numbers_of(dtype: np.dtype[Any]) -> list[Any]:
    """Returns the numbers at the edges of a dtype."""
    if dtype == np.bool_:
        return [False, True]
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        small = (0, 1, 2, 3, 5, 7, limits.bits - 1, limits.bits, 100)
        signed = (-1, -2, -7, limits.min + 1) if limits.min else ()
        return [limits.min, limits.max, limits.max - 1, *small, *signed]
    info = ml_dtypes.finfo(dtype)
    ends = [np.nan, np.inf, -np.inf, float(info.max), float(info.min), float(info.smallest_normal)]
    return [*ends, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 1e4]


def _edges(plan: Plan, draw: int) -> list[Array]:
    """Returns the inputs of a call: all at the edges, or (every other draw) the first alone."""
    random = np.random.RandomState(zlib.crc32(f"{plan} {draw}".encode()))
    found = []
    for index, one in enumerate(plan.sample.inputs):
        dtype = plan.dtype if one.dtype == np.float64 and plan.dtype is not None else one.dtype
        shape = _emptied(one.shape, plan.empty)
        if (draw % 2 and index) or (plan.empty and one.shape == shape):
            with np.errstate(all="ignore"):
                found.append(one.astype(dtype))
            continue
        with np.errstate(all="ignore"):
            pool = np.array(numbers_of(np.dtype(dtype)), dtype=dtype)
        size = int(np.prod(shape, dtype=int))
        # Each number once before one comes twice.
        chosen = np.concatenate(
            [random.permutation(len(pool)) for _ in range(size // len(pool) + 1)]
        )[:size]
        found.append(pool[chosen].reshape(shape))
    return found


def _emptied(shape: tuple[int, ...], which: str) -> tuple[int, ...]:
    if not which or not shape:
        return shape
    if which == "all":
        return (0,) * len(shape)
    return (0, *shape[1:]) if which == "first" else (*shape[:-1], 0)


def _scalars(call: Call, scalars: Sequence[Any], draw: int) -> list[Any]:
    """Returns the parameters that are a program's inputs: the sample's own, or edges."""
    if not draw:
        return list(scalars)
    return [_SCALARS[(draw - 1 + 4 * place) % len(_SCALARS)] for place in range(len(scalars))]


def findings(plan: Plan, draws: int, *, hurry: bool) -> list[Found]:
    """Makes a call with several draws of numbers; returns what is wrong with the results.

    Args:
        plan: the call.
        draws: how many.
        hurry: compile as fast as can be, and not as for users.
    """
    sample = plan.sample
    try:
        call, scalars = get(plan.operator).bind(sample.attrs, sample.train)
        state = [initial_state(0)] if call.takes_state else []
        if plan.large:
            return _large(plan, call, state)
        arrays = _edges(plan, 0)
        inferred = call.infer(types_of([*arrays, *state]))
    except MXNetError:
        return []  # an error that says what is required is an answer
    except Exception as error:
        return [_found(plan, "raises", f"{type(error).__name__}: {error}")]
    if sum(one.size * one.dtype.itemsize for one in inferred) > _LARGE:
        return []
    try:
        with jax.enable_x64(True):
            run = jax.jit(
                lambda a, s: tuple(call.lower("cpu", a, s)),
                compiler_options=quick() if hurry else None,
            )
            found = []
            for draw in range(1 if plan.empty else draws):
                arrays = _edges(plan, draw)
                numbers = _scalars(call, scalars, draw)
                results = run([*arrays, *state], [_number(one) for one in numbers])
                results = [np.asarray(one) for one in results]
                found += _wrong(plan, call, inferred, arrays, numbers, results)
    except MXNetError:
        return []
    except Exception as error:
        return [_found(plan, "fails", f"{type(error).__name__}: {error}")]
    return found


def _large(plan: Plan, call: Call, state: Sequence[Any]) -> list[Found]:
    """Infers the types of a call of arrays whose first axis is large; makes no array."""
    types = [
        tensor_type((plan.large, *one.shape[1:]) if one.shape else (), one.dtype)
        for one in plan.sample.inputs
    ]
    for one in call.infer((*types, *types_of(state))):
        if min(one.shape, default=0) < 0 or not all(type(size) is int for size in one.shape):
            return [_found(plan, "shape", f"inferred {one}")]
    return []


def _number(value: Any) -> Any:
    return np.int64(value) if isinstance(value, int) else np.float64(value)


def _found(plan: Plan, kind: str, text: str) -> Found:
    return Found(plan.operator, str(plan), kind, text[:600])


def _wrong(
    plan: Plan,
    call: Call,
    inferred: Sequence[Any],
    arrays: Sequence[Array],
    numbers: Sequence[Any],
    results: Sequence[Array],
) -> list[Found]:
    got = [(one.shape, one.dtype) for one in results]
    wanted = [(one.shape, one.dtype) for one in inferred]
    if got != wanted:
        return [_found(plan, "type", f"{got}, inferred {wanted}")]
    if plan.operator not in FUNCTIONS:
        return []
    expected = answer(plan.operator, arrays, numbers, plan.sample.attrs)
    if expected is None:
        return []
    kind, text = differs(results[0], expected)
    if not kind:
        return []
    given = ", ".join(f"{one.dtype.name} {one.ravel()[:16].tolist()}" for one in arrays)
    also = f" and {numbers}" if numbers else ""
    return [_found(plan, kind, f"{text}; of {given}{also}")]
