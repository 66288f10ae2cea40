"""Calls of operators whose answers by MXNet 1.9.1 are kept: plain data and NumPy.

Each family of operators has its cases in ``cases_<family>.py`` and the answers in
``answers_<family>.npz``. `make_ops.py` runs the cases under MXNet, our tests through hybridnet::

    from oracle.case import all_cases, answers, head_gradient, make_inputs

    for case in all_cases():
        expected = answers(case.family)[case.name]        # "out0", "grad0", "after2", ...
        inputs = make_inputs(case)

Inputs are made from the case's name, so both sides have the same numbers in every NumPy.
"""

from __future__ import annotations

import functools
import importlib
import json
import sys
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

__all__ = [
    "Case", "Cases", "Input", "all_cases", "answers", "families", "given", "head_gradient",
    "make_inputs", "random",
]  # fmt: skip

Array = np.ndarray[Any, Any]
HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Input:
    """One input: random numbers between two bounds, whole ones for whole dtypes, or given ones."""

    shape: tuple[int, ...] = ()
    low: float = -1.0
    high: float = 1.0
    dtype: str = "float32"
    values: tuple[Any, ...] | None = None


@dataclass(frozen=True)
class Case:
    """One call.

    Attributes:
        name: the operator and a number.
        op: the operator's name in MXNet.
        inputs: its array inputs, in order.
        attrs: its parameters.
        grads: the inputs whose gradients are in the answers: ``grad<i>``, with `head_gradient` of
            the outputs for head gradients.
        outputs: how many outputs get a head gradient.
        train: whether the call is in a training pass.
        after: the inputs that the operator updates in place; their values afterwards (and after
            the backward pass, if there is one) are ``after<i>``.
        family: the file it is in.
    """

    name: str
    op: str
    inputs: tuple[Input, ...]
    attrs: dict[str, Any] = field(default_factory=dict)
    grads: tuple[int, ...] = ()
    outputs: int = 1
    train: bool = True
    after: tuple[int, ...] = ()
    family: str = ""


def make_inputs(case: Case) -> list[Array]:
    """Returns the arrays of a case's inputs."""
    arrays = []
    for index, spec in enumerate(case.inputs):
        if spec.values is not None:
            arrays.append(np.array(spec.values, spec.dtype))
            continue
        random = np.random.RandomState(zlib.crc32(f"{case.name} {index}".encode()))
        values = random.uniform(spec.low, spec.high, spec.shape)
        if np.dtype(spec.dtype).kind in "iub":
            values = np.floor(values)
        # Three decimals: the numbers are alike in print, in files and in every dtype but float16.
        arrays.append(np.round(values, 3).astype(spec.dtype))
    return arrays


def head_gradient(case: Case, index: int, shape: Sequence[int], dtype: Any) -> Array:
    """Returns the gradient of the loss by output `index`, between -1 and 1."""
    random = np.random.RandomState(zlib.crc32(f"{case.name} head {index}".encode()))
    return np.round(random.uniform(-1, 1, tuple(shape)), 3).astype(dtype)


class Cases(list[Case]):
    """The cases of a family.

    Args:
        family: its name, as in the name of the file.
    """

    def __init__(self, family: str) -> None:
        super().__init__()
        self._family = family
        self._counts: dict[str, int] = {}

    def add(
        self,
        op: str,
        *inputs: Input,
        grads: Sequence[int] | None = None,
        outputs: int = 1,
        train: bool = True,
        after: Sequence[int] = (),
        **attrs: Any,
    ) -> None:
        """Adds a case; by default every floating input has a gradient."""
        if grads is None:
            grads = [i for i, one in enumerate(inputs) if np.dtype(one.dtype).kind == "f"]
        number = self._counts.setdefault(op, 0)
        self._counts[op] += 1
        name = f"{op}-{number}"
        self.append(
            Case(name, op, inputs, attrs, tuple(grads), outputs, train, tuple(after), self._family)
        )


def random(*shape: int, low: float = -1.0, high: float = 1.0, dtype: str = "float32") -> Input:
    """An input of random numbers."""
    return Input(shape, low, high, dtype)


def given(*values: Any, dtype: str = "float32") -> Input:
    """An input of these numbers, or nested tuples of them."""
    return Input(values=values, dtype=dtype)


@functools.cache
def families() -> dict[str, Cases]:
    """Returns the cases of every family."""
    if str(HERE) not in sys.path:
        sys.path.append(str(HERE))
    names = sorted(file.stem for file in HERE.glob("cases_*.py"))
    return {name.removeprefix("cases_"): importlib.import_module(name).CASES for name in names}


def all_cases() -> list[Case]:
    """Returns the cases of all families."""
    return [case for cases in families().values() for case in cases]


@functools.cache
def answers(family: str) -> dict[str, dict[str, Array]]:
    """Returns MXNet's answers by case name: arrays in the dtypes that MXNet gave."""
    with np.load(HERE / f"answers_{family}.npz") as file:
        pools = {kind: file[kind] for kind in ("float32", "float64")}
        index = json.loads(bytes(file["index"]).decode())
    found: dict[str, dict[str, Array]] = {}
    for name, key, dtype, shape, kind, start in index:
        count = int(np.prod(shape, dtype=int))
        values = pools[kind][start : start + count].reshape(shape).astype(dtype)
        found.setdefault(name, {})[key] = values
    return found
