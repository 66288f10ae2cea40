"""Runs the programs of `control_cases` under MXNet 1.9.1 and writes its answers, ``control.json``.

Run it with a Python (at most 3.11) that has ``mxnet==1.9.1 numpy==1.23.5``. Beside the answers the
file says, as 'called', which functions were called.
"""

from __future__ import annotations

import json
import types
from pathlib import Path
from typing import Any

import control_cases
import mxnet as mx
import numpy as np


def _listed(array: Any) -> list[Any]:
    return [list(array.shape), [float(f"{one:.7g}") for one in array.asnumpy().reshape(-1)]]


class _Noting:
    """A package whose functions are noted, by their paths, when they are looked up."""

    def __init__(self, package: Any, path: str, called: set[str]) -> None:
        self._package, self._path, self._called = package, path, called

    def __getattr__(self, name: str) -> Any:
        found, path = getattr(self._package, name), f"{self._path}.{name}"
        if isinstance(found, types.ModuleType):
            return _Noting(found, path, self._called)
        self._called.add(path)
        return found


def answer(name: str, called: set[str]) -> dict[str, Any]:
    """Returns MXNet's symbol, its outputs, and the gradients of the sum of their squares.

    Args:
        name: of the program.
        called: the paths of the functions that it calls are added.
    """
    program, _ = control_cases.CASES[name]
    nd, sym = _Noting(mx.nd, "nd", called), _Noting(mx.sym, "sym", called)
    inputs = {key: mx.nd.array(one) for key, one in control_cases.make_inputs(name).items()}
    symbol = mx.sym.Group(program(sym, **{key: mx.sym.var(key) for key in inputs}))
    for one in inputs.values():
        one.attach_grad()
    with mx.autograd.record():
        outputs = program(nd, **inputs)
        loss = sum((one * one).sum() for one in outputs)
    loss.backward()
    try:
        ran = [one.asnumpy() for one in symbol.eval(**inputs)]
    except mx.MXNetError:
        print(f"{name}: MXNet cannot infer the shapes of the symbol")
    else:
        for one, other in zip(outputs, ran, strict=True):
            if not np.allclose(one.asnumpy(), other, atol=1e-5):
                print(f"{name}: symbol and arrays differ")
    return {
        "symbol": symbol.tojson(),
        "arguments": symbol.list_arguments(),
        "outputs": [_listed(one) for one in outputs],
        "grads": {key: _listed(one.grad) for key, one in inputs.items()},
    }


def main() -> None:
    called: set[str] = set()
    found: dict[str, Any] = {name: answer(name, called) for name in control_cases.CASES}
    found["called"] = sorted(called)
    file = Path(__file__).resolve().parent / "control.json"
    file.write_text(json.dumps(found, separators=(",", ":")))
    print(len(found), "cases,", file.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
