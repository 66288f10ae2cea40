"""`Draft`: an ONNX graph while it is made, as plain steps and constants.

The translations of operators write into it and know nothing of ONNX's files; `protos` makes those.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from hybridnet.base.array_types import ArrayLike, NumpyArray

#: A shape; None where a size is left open.
Sizes = tuple[int | None, ...]


@final
@dataclass(frozen=True, slots=True)
class OnnxStep:
    """An operator of ONNX applied to values.

    Attributes:
        op: its name in ONNX.
        inputs: names of values; "" for one that is left out.
        outputs: names of what it gives.
        attrs: its attributes: numbers, texts, or lists of them.
    """

    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attrs: dict[str, Any]


@final
class Draft:
    """The steps and constants so far. Values are known by their names, which are never given twice.

    Attributes:
        steps: in an order in which they can run.
        constants: arrays by name: parameters under their own, and those that translations need.
    """

    def __init__(self, taken: Sequence[str] = ()) -> None:
        self.steps: list[OnnxStep] = []
        self.constants: dict[str, NumpyArray] = {}
        self._taken = set(taken)
        self._equal: dict[tuple[Any, ...], str] = {}

    def name(self, wanted: str) -> str:
        """Returns a new name: the one that is wanted, or with a number behind it."""
        name, number = wanted, 0
        while name in self._taken:
            number += 1
            name = f"{wanted}_{number}"
        self._taken.add(name)
        return name

    def add(self, stem: str, op: str, inputs: Sequence[str], attrs: dict[str, Any]) -> str:
        """Adds a step of one output; returns its name, which begins with `stem`."""
        return self.add_several(stem, op, inputs, 1, attrs)[0]

    def add_several(
        self, stem: str, op: str, inputs: Sequence[str], count: int, attrs: dict[str, Any]
    ) -> list[str]:
        """Adds a step of several outputs; returns their names."""
        outputs = [self.name(f"{stem}_{op.lower()}") for _ in range(count)]
        known = {name: value for name, value in attrs.items() if value is not None}
        self.steps.append(OnnxStep(op, tuple(inputs), tuple(outputs), known))
        return outputs

    def constant(self, array: ArrayLike) -> str:
        """Returns the name of a constant; equal ones are one."""
        value = np.asarray(array)
        key = (value.shape, value.dtype.str, value.tobytes())
        if key not in self._equal:
            self._equal[key] = name = self.name("constant")
            self.constants[name] = value
        return self._equal[key]

    def rename(self, names: dict[str, str]) -> None:
        """Gives values other names."""
        self.steps = [
            OnnxStep(
                step.op,
                tuple(names.get(name, name) for name in step.inputs),
                tuple(names.get(name, name) for name in step.outputs),
                step.attrs,
            )
            for step in self.steps
        ]
        self.constants = {names.get(name, name): value for name, value in self.constants.items()}

    def prune(self, outputs: Sequence[str]) -> set[str]:
        """Drops what no output depends on; returns the names of all values that are used."""
        used = set(outputs)
        kept = []
        for step in reversed(self.steps):
            if used.intersection(step.outputs):
                used.update(step.inputs)
                kept.append(step)
        self.steps = kept[::-1]
        self.constants = {name: self.constants[name] for name in self.constants if name in used}
        return used


@final
@dataclass(frozen=True)
class Port:
    """An input or output of a model: its name, dtype and sizes, None where they are open."""

    name: str
    dtype: np.dtype[np.generic]
    sizes: Sizes


@final
@dataclass(frozen=True)
class Network:
    """A model before it is a file: steps and constants, and what goes in and comes out."""

    draft: Draft
    inputs: list[Port]
    outputs: list[Port]
