"""Splitting a program in two: what follows from some of its inputs alone, and the rest.

    y = conv(transpose(x), transpose(w)) * rsqrt(var + eps)       w and var stay the same

    prologue (w, var) -> a, b        a = transpose(w); b = rsqrt(var + eps)
    main     (x, a, b) -> y          y = conv(transpose(x), a) * b

The program is a jaxpr, whose calls of functions are laid open; what has effects or draws random
numbers stays where it is. What only makes an array larger or names it anew (broadcasts, reshapes,
slices) is no work worth a buffer: it is done again in the main part.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from hybridnet.base.lazy import jax
from hybridnet.native import onednn
from hybridnet.passes import DeviceCost

from ..programs.equations import Atom, ClosedJaxpr, Equation, Known, LaidOpen, run

# What XLA does for nothing, or while it reads an operand.
_VIEWS: Final = frozenset(
    {"broadcast_in_dim", "reshape", "squeeze", "expand_dims", "slice", "copy", "copy_p", "iota"}
)
# What a program is for. If its data happen to stay the same, too, it computes them all the same.
_WORK: Final = frozenset({"dot_general", "conv_general_dilated", "reduce_window", "sort"})
_PRODUCTS: Final = frozenset({"dot_general", "conv_general_dilated"})
_USUAL: Final = DeviceCost()
_DRAWS: Final = ("random", "threefry", "rng")
# Primitives that run code which nobody here knows.
_FOREIGN: Final = ("callback", "ffi", "custom_call", "infeed", "outfeed")


class _Program(LaidOpen):
    """A program of which a part may be computed at another time."""

    def may_move(self, equation: Equation) -> bool:
        """Whether an equation is a mere preparation, that may be computed at another time."""
        name = equation.primitive.name
        return (
            equation.outputs[0] not in self.effects
            and name not in _WORK
            and not name.startswith(_DRAWS)
            and (_is_pack(equation) or not any(word in name for word in _FOREIGN))
            and not any(map(_is_program, equation.params.values()))
        )

    def nbytes(self, number: int) -> int:
        """Returns the bytes of a value."""
        kind = self.types[number]
        return int(math.prod(kind.shape)) * int(kind.dtype.itemsize)

    def seconds(self, equation: Equation) -> float:
        """Returns about how long an equation takes by itself: the roofline of a usual processor.

        To whole programs this gives more time than they take where XLA makes one loop of several
        equations, and so less of a share to each of them.
        """
        if _is_view(self, equation):
            return 0.0
        # What is there for its effect makes nothing, or a token.
        made = [number for number in equation.outputs if hasattr(self.types[number], "shape")]
        read = [number for number in equation.values if hasattr(self.types[number], "shape")]
        moved = sum(map(self.nbytes, (*read, *made)))
        return _USUAL.seconds(self._operations(equation, made), moved)

    def _operations(self, equation: Equation, made: Sequence[int]) -> float:
        """Returns how many floating-point operations an equation takes, about."""
        size = float(sum(math.prod(self.types[number].shape) for number in made))
        if equation.primitive.name not in _PRODUCTS:
            return size
        first, second = [float(math.prod(self._shape(atom))) for atom in equation.inputs[:2]]
        if equation.primitive.name == "dot_general":
            (_, _), (batch, _) = equation.params["dimension_numbers"]
            batches = math.prod(self._shape(equation.inputs[0])[axis] for axis in batch)
            # Of arrays of b n k, b k m and b n m elements it is b n k m.
            return 2.0 * math.sqrt(first * second * size / max(batches, 1))
        features: int = equation.params["dimension_numbers"].rhs_spec[0]
        return 2.0 * size * second / max(self._shape(equation.inputs[1])[features], 1)

    def _shape(self, atom: Atom) -> tuple[int, ...]:
        kind = atom.value if type(atom) is Known else self.types[atom]  # type: ignore[index]
        return np.shape(kind) if type(atom) is Known else tuple(kind.shape)


def _is_pack(equation: Equation) -> bool:
    """Whether an equation turns weights for a library's kernel, and does nothing else."""
    name = equation.primitive.name
    return name == "ffi_call" and bool(equation.params["target_name"] == onednn.PACK)


def _is_program(param: object) -> bool:
    """Whether a parameter of a primitive is a program itself, as that of a loop is."""
    if isinstance(param, (tuple, list)):
        return any(map(_is_program, param))
    return hasattr(param, "eqns")  # closed or not: newer JAX has one class for both


@dataclass(frozen=True, eq=False, slots=True)
class Split:
    """A program in two parts; both are to be traced by `jax.jit`.

    Attributes:
        reads: the inputs of the program, by number, that the prologue takes.
        takes: those that the main part takes, before what the prologue made.
        nbytes: of what the prologue makes.
        share: of the program's time, as foreseen, that the prologue takes.
    """

    reads: tuple[int, ...]
    takes: tuple[int, ...]
    nbytes: int
    share: float
    _program: _Program
    _early: tuple[Equation, ...]
    _late: tuple[Equation, ...]
    _kept: tuple[int, ...]

    @property
    def types(self) -> list[Any]:
        """Shapes and dtypes of what the prologue makes."""
        return [self._program.types[number] for number in self._kept]

    def prologue(self, *arrays: jax.Array) -> tuple[jax.Array, ...]:
        """Computes what the main part takes, from the inputs in `reads`."""
        return run(self._early, dict(zip(self.reads, arrays, strict=True)), self._kept)

    def main(self, *arrays: jax.Array) -> tuple[jax.Array, ...]:
        """Computes the program's outputs from the inputs in `takes`, and what was made of others.

        Inputs are numbered as values are: both begin with the program's inputs.
        """
        known = dict(zip((*self.takes, *self._kept), arrays, strict=True))
        return run(self._late, known, self._program.outputs)


def split(closed: ClosedJaxpr, constant: Iterable[int], limit: int | None = None) -> Split | None:
    """Splits a program; None where nothing worth it follows from these inputs.

    Args:
        closed: the program, as JAX has traced it.
        constant: inputs, by number, that stay the same.
        limit: bytes that the prologue may make, at most.
    """
    program = _Program(closed)
    fixed = {program.inputs[number] for number in constant}
    given = sum(map(program.nbytes, fixed))
    early = _following(program, fixed)
    makers = {number: equation for equation in early for number in equation.outputs}

    def is_much(kept: Sequence[int]) -> bool:
        # Not more than was given; a library's order of a weight counts as the weight.
        sources = [makers[i].values[0] if _is_pack(makers[i]) else i for i in kept]
        made, counted = (sum(map(program.nbytes, values)) for values in (kept, sources))
        return counted > given or (limit is not None and made > limit)

    results = [atom for atom in program.outputs if type(atom) is int]
    # What the program gives away must not be what is kept.
    redone = {makers[atom] for atom in results if atom in makers}
    kept, again = _frontier(program, makers, redone)
    # Whatever grows most is done again first.
    while kept and is_much(kept):
        redone.add(max((makers[i] for i in kept), key=lambda each: _growth(program, each)))
        kept, again = _frontier(program, makers, redone)
    if not kept:
        return None
    needed = _needed(kept, early)
    late = [
        equation
        for equation in program.equations
        if equation.outputs[0] not in makers or equation in again
    ]
    read_late = {number for equation in late for number in equation.values}.union(results)
    reads = {number for equation in needed for number in equation.values} & fixed
    return Split(
        tuple(sorted(reads)),
        tuple(i for i in program.inputs if i not in fixed or i in read_late),
        sum(map(program.nbytes, kept)),
        sum(map(program.seconds, needed)) / (sum(map(program.seconds, program.equations)) or 1.0),
        program,
        tuple(needed),
        tuple(late),
        tuple(kept),
    )


def _following(program: _Program, fixed: Iterable[int]) -> list[Equation]:
    """Returns the equations that depend on some inputs and on nothing else."""
    known = set(fixed)
    found = []
    for equation in program.equations:
        values = equation.values
        if values and known.issuperset(values) and program.may_move(equation):
            found.append(equation)
            known.update(equation.outputs)
    return found


def _frontier(
    program: _Program, makers: Mapping[int, Equation], redone: set[Equation]
) -> tuple[list[int], set[Equation]]:
    """Returns what the main part needs of an early part, and what of that is done again.

    `makers` is the early part: value -> what makes it; `redone` is done again as views are.
    """
    wanted = [
        number
        for equation in program.equations
        if equation.outputs[0] not in makers
        for number in equation.values
    ]
    wanted += [atom for atom in program.outputs if type(atom) is int]
    kept: dict[int, None] = {}
    again: set[Equation] = set()
    while wanted:
        number = wanted.pop()
        maker = makers.get(number)
        if maker is None or maker in again:
            continue
        if maker in redone or _is_view(program, maker):
            again.add(maker)
            wanted += maker.values
        else:
            kept[number] = None
    return sorted(kept), again


def _is_view(program: _Program, equation: Equation) -> bool:
    """Whether XLA does something for nothing, or while it reads an operand."""
    name = equation.primitive.name
    if name == "transpose":  # moving axes of length 1 moves nothing
        shape = program.types[equation.values[0]].shape
        moved = [axis for axis in equation.params["permutation"] if shape[axis] != 1]
        return moved == sorted(moved)
    return name in _VIEWS


def _needed(kept: Iterable[int], early: Sequence[Equation]) -> list[Equation]:
    """Returns the equations that some values depend on, in order."""
    wanted = set(kept)
    found = []
    for equation in reversed(early):
        if not wanted.isdisjoint(equation.outputs):
            found.append(equation)
            wanted.update(equation.values)
    return found[::-1]


def _growth(program: _Program, equation: Equation) -> float:
    """Returns how many times larger what an equation makes is than what it reads."""
    given = sum(map(program.nbytes, set(equation.values)))
    return sum(map(program.nbytes, equation.outputs)) / max(given, 1)
