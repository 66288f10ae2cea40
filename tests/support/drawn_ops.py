"""Runs the drawn calls of an operator and says how the results differ from MXNet's.

All calls of one operator, with their gradient rules, are one program, so that thousands of calls
are few compilations.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import jax
import numpy as np
from oracle.case import Case, head_gradient, make_inputs
from oracle.drawn import is_infinite, is_kink, special_inputs
from traced import Traced, quick

from hybridnet.base.errors import MXNetError
from hybridnet.base.tensor_type import tensor_type
from hybridnet.ops.core.call import Backward, Call
from hybridnet.ops.core.registry import get
from hybridnet.ops.random.state import initial_state

__all__ = ["Difference", "differences", "known"]

Array = np.ndarray[Any, Any]
# MXNet keeps numbers that are parameters as float32, even beside float64 arrays.
_TOLERANCE: Final = {"float64": (3e-7, 1e-7), "float32": (3e-5, 3e-6), "float16": (4e-3, 2e-3)}


@dataclass(frozen=True)
class Difference:
    """How a call differs.

    Attributes:
        case: the call.
        kind: 'accepted' (MXNet refuses the call), 'refused' (ours does), 'fails' (ours, and not
            at the call), 'shape', 'dtype', 'result' or 'gradient'.
        text: what both gave.
    """

    case: Case
    kind: str
    text: str

    @property
    def kinds(self) -> set[str]:
        """The kind, and the narrower ones it also is: 'special', 'kink' and 'whole'."""
        found = {self.kind}
        if self.kind in ("result", "gradient"):
            found |= {"special"} if is_infinite(self.case) else set()
            found |= {"kink"} if is_kink(self.case) else set()
            found |= (
                {"whole"} if all(one.dtype.kind in "iub" for one in _inputs(self.case)) else set()
            )
        return found


class _Known:
    """An array as an operator measures it."""

    def __init__(self, array: Array) -> None:
        self._array = array
        self.type = tensor_type(array.shape, array.dtype)

    def asnumpy(self) -> Array:
        return self._array


def known(inputs: Sequence[Array]) -> list[_Known]:
    """Returns arrays as operators measure them."""
    return [_Known(one) for one in inputs]


def _inputs(case: Case) -> list[Array]:
    return special_inputs(case, make_inputs(case))


def _types(case: Case, call: Call, inputs: Sequence[Array]) -> tuple[Any, ...]:
    arrays = [*inputs, initial_state(0)] if call.takes_state else inputs
    return call.infer(tuple(tensor_type(one.shape, one.dtype) for one in arrays))


def differences(cases: Sequence[Case], expected: dict[str, dict[str, Array]]) -> list[Difference]:
    """Returns how the calls of one operator differ from MXNet's answers."""
    found, runnable = [], []
    for case in cases:
        inputs = _inputs(case)
        try:
            operator = get(case.op)
            attrs = case.attrs
            if operator.sizes:
                attrs = operator.measured(attrs, known(inputs))
            call, scalars = operator.bind(attrs, case.train)
            types = _types(case, call, inputs)
        except MXNetError as error:
            if case.name in expected:
                found.append(Difference(case, "refused", str(error)))
            continue
        if case.name not in expected:
            found.append(Difference(case, "accepted", f"gives {[str(one) for one in types]}"))
            continue
        wrong = _wrong_types(case, call, types, expected[case.name])
        found += wrong
        if not wrong and not call.takes_state:
            runnable.append((case, call, scalars, inputs))
    for case, results in _run(runnable, expected):
        if isinstance(results, Exception):
            found.append(Difference(case, "fails", f"{type(results).__name__}: {results}"))
        else:
            found += _wrong_values(case, results, expected[case.name])
    return found


def _wrong_types(
    case: Case, call: Call, types: Sequence[Any], expected: dict[str, Array]
) -> list[Difference]:
    wanted = [one for key, one in expected.items() if key.startswith("out")]
    shown = list(types[: call.num_visible])
    shapes = [one.shape for one in shown], [one.shape for one in wanted]
    if shapes[0] != shapes[1]:
        return [Difference(case, "shape", f"{shapes[0]}, MXNet {shapes[1]}")]
    dtypes = [np.dtype(one.dtype).name for one in shown], [one.dtype.name for one in wanted]
    if dtypes[0] != dtypes[1]:
        return [Difference(case, "dtype", f"{dtypes[0]}, MXNet {dtypes[1]}")]
    return []


def _run(runnable: Sequence[Any], expected: dict[str, dict[str, Array]]) -> list[Any]:
    """Returns each case with its results; those that differ in values alone share their part."""
    alike: dict[Any, list[Any]] = {}
    for one in runnable:
        alike.setdefault(_structure(one, expected), []).append(one)
    groups = list(alike.values())

    def everything(values: Any) -> Any:
        return [
            _results(case, call, scalars, arrays, heads)
            for ((case, call, scalars, _), *_), (arrays, heads) in zip(groups, values, strict=True)
        ]

    compiled, found = jax.jit(everything, compiler_options=quick()), []
    try:
        for number in range(max(map(len, groups), default=0)):
            chosen = [group[min(number, len(group) - 1)] for group in groups]
            with jax.enable_x64(True):
                results = compiled([_values(one, expected) for one in chosen])
            found += [
                (one[0], result)
                for one, group, result in zip(chosen, groups, results, strict=True)
                if number < len(group)
            ]
    except (TypeError, ValueError, IndexError, KeyError) as error:
        if len(runnable) > 1:  # find the call it is of
            return [result for one in runnable for result in _run([one], expected)]
        return [(runnable[0][0], error)]
    return found


def _values(one: Any, expected: dict[str, dict[str, Array]]) -> Any:
    """Returns the inputs of a case, and the gradients by its outputs."""
    case, _, _, inputs = one
    count = min(case.outputs, sum(key.startswith("out") for key in expected[case.name]))
    outs = [expected[case.name][f"out{i}"] for i in range(count if case.grads else 0)]
    return inputs, [head_gradient(case, i, each.shape, each.dtype) for i, each in enumerate(outs)]


def _structure(one: Any, expected: dict[str, dict[str, Array]]) -> Any:
    """Returns what cases have in common that differ in the numbers of their inputs alone."""
    case, call, scalars, _ = one
    arrays = [(each.shape, each.dtype.str) for each in jax.tree.leaves(_values(one, expected))]
    return call, repr(scalars), case.grads, case.outputs, case.after, str(arrays)


def _results(
    case: Case, call: Call, scalars: Sequence[Any], arrays: Sequence[Any], heads: Sequence[Any]
) -> dict[str, Any]:
    inputs = [Traced(one) for one in arrays]
    outputs = Traced.apply_call(call, inputs, tuple(scalars))
    results = {f"out{i}": outputs[i].array for i in range(call.num_visible)}
    results |= {f"after{i}": outputs[call.mutates[i]].array for i in case.after}
    grads: Sequence[Any] = [None] * len(inputs)
    if case.grads and not call.no_gradient:
        given = [Traced(one) for one in heads] + [None] * (len(outputs) - len(heads))
        wanted = [index in case.grads for index in range(len(inputs))]
        grads = call.gradient(Backward(call, inputs, outputs, given, tuple(scalars), wanted))
    for index in case.grads:
        grad = grads[index]
        zero = jax.numpy.zeros_like(arrays[index])
        results[f"grad{index}"] = zero if grad is None else grad.array
    return results


def _wrong_values(
    case: Case, results: dict[str, Any], expected: dict[str, Array]
) -> list[Difference]:
    found = []
    for key, wanted in expected.items():
        if key not in results:
            continue
        got = np.asarray(results[key])
        if got.dtype != wanted.dtype or got.shape != wanted.shape:
            text = f"{key} is {got.dtype}{got.shape}, MXNet {wanted.dtype}{wanted.shape}"
            found.append(Difference(case, "gradient" if key.startswith("grad") else "shape", text))
            continue
        names = {one.dtype.name for one in expected.values()}
        name = "float16" if "float16" in names else wanted.dtype.name  # what both were rounded to
        rtol, atol = _TOLERANCE.get(name, (0, 0)) if wanted.dtype.kind == "f" else (0, 0)
        if wanted.dtype.name in ("int32", "int64"):
            # C leaves open what NaN and numbers out of range are as integers.
            got = np.where(wanted == np.iinfo(wanted.dtype).min, wanted, got)
        with np.errstate(all="ignore"):
            if np.allclose(got, wanted, rtol=rtol, atol=atol, equal_nan=True):
                continue
        kind = "gradient" if key.startswith("grad") else "result"
        text = f"{key}: {got.ravel()[:12]}, MXNet {wanted.ravel()[:12]}"
        found.append(Difference(case, kind, text))
    return found


def matches(pattern: str, name: str) -> bool:
    """Whether an operator's name is one of the comma-separated patterns of a table's cell."""
    return any(fnmatch.fnmatchcase(name, one.strip(" `")) for one in pattern.split(","))
