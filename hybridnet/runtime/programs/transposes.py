"""Transposes sink below what works element by element, to where they meet their inverse.

    relu(back(x)) + back(y)          back(relu(x) + y)          last(back(x))  is  x

Operators on images compute with the channels last, and turn what they take and what they give. XLA
drops a transpose that meets its inverse. Where an elementwise operator is between the two, and its
result is needed more than once, as that of a residual connection and in its gradient, XLA
makes the result with the channels first, and whatever sums over rows gathers numbers one by one:
17 ms of a processor for float32 (32, 64, 32, 32), which are 0.42 with the channels last.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, final

from hybridnet.base.lazy import jax, lax

from .equations import Atom, ClosedJaxpr, Equation, LaidOpen, run

# Primitives each of whose elements depends on those at the same place and on scalars.
_NAMES: Final = """
    abs acos add add_any and asin atan atan2 cbrt ceil clamp convert_element_type copy copy_p cos
    cosh div eq erf erf_inv erfc exp exp2 expm1 floor ge gt integer_pow is_finite le log log1p
    logistic lt max min mul ne neg nextafter not or pow reduce_precision rem round rsqrt select_n
    sign sin sinh sqrt square sub tan tanh xor
"""
_ELEMENTWISE: Final = frozenset(_NAMES.split())
# Arrays of fewer elements are of no account.
_MIN_ELEMENTS: Final = 1 << 14

# The order of a value's axes: the axes of what it is a transpose of.
_Axes = tuple[int, ...]


def sink(closed: ClosedJaxpr) -> Callable[..., tuple[jax.Array, ...]] | None:
    """Returns a program with fewer elements to transpose, to be traced; None where there is none.

    Args:
        closed: the program, as JAX has traced it.
    """
    if sum(_turns(equation) for equation in closed.jaxpr.eqns) < 2:
        return None
    laid = LaidOpen(closed)
    if laid.effects or any(one.primitive.name == "checkpoint" for one in closed.jaxpr.eqns):
        return None
    sunk = _Sinking(laid, through_elements=True)
    if sunk.moved >= _Sinking(laid, through_elements=False).moved:
        return None

    # (Its name is the module's in what XLA logs.)
    def program(*arrays: jax.Array) -> tuple[jax.Array, ...]:
        return run(sunk.equations, dict(zip(laid.inputs, arrays, strict=True)), sunk.outputs)

    return program


def _turns(equation: Any) -> bool:
    """Whether an equation of a jaxpr transposes a large array."""
    if equation.primitive.name != "transpose":
        return False
    size: int = math.prod(equation.outvars[0].aval.shape)
    return size >= _MIN_ELEMENTS


@final
class _Sinking:
    """A program whose transposes are made where something needs them, and not before.

    Attributes:
        equations: the program's; the numbers of its values go on after its own.
        outputs: what it gives.
        moved: elements that are transposed, once the pairs that undo each other are dropped.
    """

    def __init__(self, program: LaidOpen, *, through_elements: bool) -> None:
        self.equations: list[Equation] = []
        self.moved = 0
        self._through_elements = through_elements
        self._shapes: list[_Axes | None] = [getattr(x, "shape", None) for x in program.types]
        self._turned: dict[int, tuple[int, _Axes]] = {}  # value -> what it is a transpose of
        self._same: dict[int, Atom] = {}  # value -> the one that it is
        self._made: dict[tuple[int, _Axes], int] = {}  # transposes that are there
        # value -> what is broadcast, and to which axes
        self._spread: dict[int, tuple[Atom, _Axes]] = {}
        for equation in program.equations:
            self._take(equation)
        self.outputs = [self._plain(atom) for atom in program.outputs]

    def _take(self, equation: Equation) -> None:
        name = equation.primitive.name
        if name == "transpose" and type(equation.inputs[0]) is int:
            self._transpose(equation)
        elif not (self._through_elements and self._sinks(equation)):
            inputs = tuple(map(self._plain, equation.inputs))
            self.equations.append(
                Equation(equation.primitive, equation.params, inputs, equation.outputs)
            )
            if name == "broadcast_in_dim" and len(inputs) == 1:
                axes = tuple(equation.params["broadcast_dimensions"])
                self._spread[equation.outputs[0]] = inputs[0], axes

    def _transpose(self, equation: Equation) -> None:
        atom = self._same.get(equation.inputs[0], equation.inputs[0])  # type: ignore[arg-type]
        assert type(atom) is int
        axes = tuple(equation.params["permutation"])
        base, before = self._turned.get(atom, (atom, tuple(range(len(axes)))))
        axes = tuple(before[axis] for axis in axes)
        (number,) = equation.outputs
        if axes == tuple(range(len(axes))):
            self._same[number] = base
        else:
            self._turned[number] = base, axes

    def _plain(self, atom: Atom) -> Atom:
        """Returns a value as it is, transposed where it is known as a transpose only."""
        if type(atom) is not int:
            return atom
        atom = self._same.get(atom, atom)
        if type(atom) is not int or atom not in self._turned:
            return atom
        base, axes = self._turned[atom]
        made = self._made.get((base, axes))
        if made is None:
            made = self._made[base, axes] = self._transposed(base, axes)
        return made

    def _transposed(self, atom: int, axes: _Axes) -> int:
        shape = self._shape(atom)
        number = self._new(tuple(shape[axis] for axis in axes))
        long = [axis for axis in axes if shape[axis] != 1]
        if long != sorted(long):  # moving axes of length 1 moves nothing
            self.moved += math.prod(shape)
        self._add(lax.transpose_p, {"permutation": axes}, (atom,), number)
        return number

    def _sinks(self, equation: Equation) -> bool:
        """Computes an elementwise equation before the transposes of what it reads; if it can."""
        if equation.primitive.name not in _ELEMENTWISE or len(equation.outputs) != 1:
            return False
        (number,) = equation.outputs
        found = [
            self._turned[atom] for atom in map(self._known, equation.values) if atom in self._turned
        ]
        if not found:
            return False
        axes = found[0][1]
        wide = self._shape(number)
        given = [self._before(atom, axes, wide) for atom in equation.inputs]
        if any(atom is None for atom in given):
            return False
        base = self._new(_turned_back(wide, axes))
        self._add(equation.primitive, equation.params, [x for x in given if x is not None], base)
        self._turned[number] = base, axes
        return True

    def _known(self, number: int) -> Atom:
        return self._same.get(number, number)

    def _before(self, atom: Atom, axes: _Axes, wide: _Axes) -> Atom | None:
        """Returns what a value is a transpose of, by these axes; None where nothing is.

        What is much smaller than the shape `wide` that it is broadcast to is turned for it.
        """
        if type(atom) is int:
            atom = self._same.get(atom, atom)
        shape = self._shape(atom)
        if not shape:
            return atom  # a scalar
        if type(atom) is not int:
            return None
        if atom in self._turned:
            base, own = self._turned[atom]
            if own == axes:
                return base
        if atom in self._spread:
            narrow, places = self._spread[atom]
            return self._broadcast(narrow, [axes[place] for place in places], shape, axes)
        if len(shape) == len(wide) and 2 * math.prod(shape) <= math.prod(wide):
            plain = self._plain(atom)
            assert type(plain) is int
            return self._transposed(plain, _turned_back(tuple(range(len(axes))), axes))
        return None

    def _broadcast(
        self, narrow: Atom, places: Sequence[int], shape: _Axes, axes: _Axes
    ) -> Atom | None:
        """Broadcasts an array to these axes of what is to be transposed to a shape."""
        order = tuple(sorted(range(len(places)), key=lambda axis: places[axis]))
        if order != tuple(range(len(places))):
            if type(narrow) is not int or 2 * math.prod(self._shape(narrow)) > math.prod(shape):
                return None
            narrow = self._transposed(narrow, order)
        target = _turned_back(shape, axes)
        number = self._new(target)
        params = {
            "shape": target,
            "broadcast_dimensions": tuple(places[axis] for axis in order),
            "sharding": None,
        }
        self._add(lax.broadcast_in_dim_p, params, (narrow,), number)
        return number

    def _shape(self, atom: Atom) -> _Axes:
        shape = self._shapes[atom] if type(atom) is int else getattr(atom.value, "shape", ())  # type: ignore[union-attr]
        assert shape is not None
        return shape

    def _new(self, shape: _Axes) -> int:
        self._shapes.append(shape)
        return len(self._shapes) - 1

    def _add(
        self, primitive: object, params: Mapping[str, object], given: Sequence[Atom], to: int
    ) -> None:
        self.equations.append(Equation(primitive, params, tuple(given), (to,)))


def _turned_back(shape: _Axes, axes: _Axes) -> _Axes:
    """Returns the shape of what has a shape when it is transposed by these axes."""
    sizes = dict(zip(axes, shape, strict=True))
    return tuple(sizes[axis] for axis in range(len(axes)))
