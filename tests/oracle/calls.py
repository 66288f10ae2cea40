"""Calls of public functions by their paths, as 'np.add': the same code makes them on both sides.

There are two families: ``numpy`` (`numpy_cases.py`), and ``functions`` (`function_cases.py`), those
of `nd` and `sym` that are Python code around operators. `make_calls.py` keeps MXNet's answers in
``answers_<family>.npz``, by the names of the cases, in which the paths are. See `case.py`.

A case's attrs are keyword arguments, but for three that say how its inputs are given:

- ``listed``: the inputs are one argument, a list;
- ``first``: an argument in front of the inputs;
- ``names``: the inputs are keyword arguments, by these names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import function_cases
import numpy as np
import numpy_cases
from case import Case, Cases, head_gradient, make_inputs

__all__ = ["FAMILIES", "finish", "make_arrays", "run", "run_on", "run_symbols"]

Array = np.ndarray[Any, Any]

FAMILIES: dict[str, Cases] = {
    "numpy": numpy_cases.CASES,
    "functions": function_cases.CASES,
}


def run(mx: Any, case: Case) -> dict[str, Array]:
    """Calls a case's function, and its gradient.

    Args:
        mx: MXNet, or hybridnet.
        case: the case.

    Returns:
        The outputs and gradients by their names in the answers: 'out0', 'grad0', ...
    """
    if case.op.startswith("sym."):
        return run_symbols(mx, [case])[0]
    return finish(case, run_on(mx, case, make_arrays(mx, case)))


def make_arrays(mx: Any, case: Case) -> list[Any]:
    """Returns a case's inputs as arrays of the kind that its function takes."""
    kind = mx.np if case.op.startswith("np") else mx.nd
    return [kind.array(one, dtype=one.dtype) for one in make_inputs(case)]


def run_on(mx: Any, case: Case, arrays: Sequence[Any]) -> dict[str, Any]:
    """Does what `run` does with arrays that are there, and returns arrays."""
    for index in case.grads:
        arrays[index].attach_grad()
    with mx.autograd.record() if case.grads else mx.autograd.pause():
        outputs = _call(mx, case, arrays)
    found = {f"out{i}": one for i, one in enumerate(outputs)}
    if case.grads:
        kind = mx.np if case.op.startswith("np") else mx.nd
        heads = outputs[: case.outputs]
        grads = [head_gradient(case, i, one.shape, one.dtype) for i, one in enumerate(heads)]
        mx.autograd.backward(heads, [kind.array(one, dtype=one.dtype) for one in grads])
        found |= {f"grad{i}": arrays[i].grad for i in case.grads}
    return found


def run_symbols(mx: Any, cases: Sequence[Case]) -> list[dict[str, Array]]:
    """Calls functions of `sym`, binds all that they make as one group, and computes it."""
    symbols: list[list[Any]] = []
    arguments: dict[str, Any] = {}
    gradients: dict[str, Any] = {}
    for number, case in enumerate(cases):
        names = [f"x{number}_{i}" for i in range(len(case.inputs))]
        arguments |= dict(zip(names, make_arrays(mx, case), strict=True))
        gradients |= {names[i]: mx.nd.zeros_like(arguments[names[i]]) for i in case.grads}
        symbols.append(_call(mx, case, [mx.sym.var(name) for name in names]))
    requests = {name: "write" if name in gradients else "null" for name in arguments}
    group = mx.sym.Group([one for outputs in symbols for one in outputs])
    executor = group.bind(mx.cpu(), arguments, args_grad=gradients, grad_req=requests)
    executor.forward(is_train=bool(gradients))
    rest, found, heads = list(executor.outputs), [], []
    for case, parts in zip(cases, symbols, strict=True):
        outputs, rest = rest[: len(parts)], rest[len(parts) :]
        found.append({f"out{i}": one.asnumpy() for i, one in enumerate(outputs)})
        for i, one in enumerate(outputs):
            head = head_gradient(case, i, one.shape, one.dtype)
            heads.append(mx.nd.array(head * (i < case.outputs), dtype=one.dtype))
    if gradients:
        executor.backward(heads)
        for number, case in enumerate(cases):
            found[number] |= {
                f"grad{i}": executor.grad_dict[f"x{number}_{i}"].asnumpy() for i in case.grads
            }
    return found


def _call(mx: Any, case: Case, operands: Sequence[Any]) -> list[Any]:
    """Calls a case's function on arrays or symbols; returns its outputs."""
    attrs = dict(case.attrs)
    names, listed = attrs.pop("names", ()), attrs.pop("listed", False)
    first = [attrs.pop("first")] if "first" in attrs else []
    function = mx
    for part in case.op.split("."):
        function = getattr(function, part)
    args: list[Any] = [list(operands)] if listed else [*first, *operands]
    if names:
        args, attrs = first, {**dict(zip(names, operands, strict=False)), **attrs}
    out = function(*args, **attrs)
    several = isinstance(out, (list, tuple)) or case.op.startswith("sym.")
    return list(out) if several else [out]


# What is determined -------------------------------------------------------------------------------


def finish(case: Case, found: dict[str, Any]) -> dict[str, Array]:
    """Returns results on the host, in the form that is compared."""
    hosts = {
        key: one.asnumpy() if hasattr(one, "asnumpy") else np.asarray(one)
        for key, one in found.items()
    }
    return _DETERMINED.get(case.op, lambda results: results)(hosts)


def _eig(found: dict[str, Array]) -> dict[str, Array]:
    """Eigenvalues in ascending order, and their vectors up to the sign."""
    order = np.argsort(found["out0"], axis=-1)
    sorted_ = {"out0": np.take_along_axis(found["out0"], order, -1)}
    if "out1" in found:
        vectors = np.take_along_axis(np.abs(found["out1"]), order[..., None, :], -1)
        sorted_["out1"] = vectors
    return sorted_


def _eigh(found: dict[str, Array]) -> dict[str, Array]:
    """Eigenvalues, and the product of the factors in the place of the vectors."""
    values, vectors = found["out0"], found["out1"]
    return {"out0": values, "out1": (vectors * values[..., None, :]) @ np.swapaxes(vectors, -1, -2)}


def _svd(found: dict[str, Array]) -> dict[str, Array]:
    """Singular values, the product of the factors, and the vectors up to their signs."""
    u, s, v = (found[f"out{i}"] for i in range(3))
    return {"out0": np.abs(u), "out1": s, "out2": np.abs(v), "out3": (u * s[..., None, :]) @ v}


#: Of functions whose results hold vectors, whose signs are not determined.
_DETERMINED: dict[str, Callable[[dict[str, Array]], dict[str, Array]]] = {
    "np.linalg.eig": _eig,
    "np.linalg.eigvals": _eig,
    "np.linalg.eigh": _eigh,
    "np.linalg.svd": _svd,
}
