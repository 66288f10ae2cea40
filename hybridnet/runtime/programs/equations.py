"""A jaxpr laid open: equations over numbered values, to be changed and then traced once more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from hybridnet.base.lazy import jax_core

# Primitives that are calls of a function, and the parameter that holds it.
_CALLS: Final = {
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "closed_call": "call_jaxpr",
    "core_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "checkpoint": "jaxpr",
}


class ClosedJaxpr(Protocol):
    """A jaxpr with the values of its constants, a class that JAX from 0.12.0.1 on has no more.

    There a `jax.extend.core.Jaxpr` has both attributes, and is its own `jaxpr`.
    """

    @property
    def jaxpr(self) -> jax_core.Jaxpr:
        """The equations."""

    @property
    def consts(self) -> Sequence[Any]:
        """Values of the jaxpr's ``constvars``, in their order."""


@dataclass(frozen=True, eq=False, slots=True)
class Known:
    """A value that is known when the program is built."""

    value: Any


#: A value of the program by number, or one that is known.
Atom = int | Known


@dataclass(frozen=True, eq=False, slots=True)
class Equation:
    """One step: a primitive, what it reads, and the numbers of what it makes."""

    primitive: Any
    params: Mapping[str, Any]
    inputs: tuple[Atom, ...]
    outputs: tuple[int, ...]

    @property
    def values(self) -> list[int]:
        """The variables that it reads, without literals."""
        return [atom for atom in self.inputs if type(atom) is int]


class LaidOpen:
    """A jaxpr whose calls are laid open: equations over numbered values; its inputs come first.

    Attributes:
        types: of the values, by number.
        equations: in order.
        effects: numbers of what equations make that are there for what they do.
        inputs: numbers of the inputs.
        outputs: what it gives.
    """

    def __init__(self, closed: ClosedJaxpr) -> None:
        """Lays a traced program open."""
        self.types: list[Any] = []
        self.equations: list[Equation] = []
        self.effects: set[int] = set()
        self.inputs = [self._new(var.aval) for var in closed.jaxpr.invars]
        self.outputs = self._walk(closed.jaxpr, closed.consts, self.inputs)

    def _new(self, kind: object) -> int:
        self.types.append(kind)
        return len(self.types) - 1

    def _walk(
        self, jaxpr: jax_core.Jaxpr, consts: Iterable[object], inputs: Sequence[Atom]
    ) -> list[Atom]:
        literal = jax_core.Literal
        known: dict[Any, Atom] = dict(zip(jaxpr.invars, inputs, strict=True))
        known.update(zip(jaxpr.constvars, map(Known, consts), strict=True))

        def read(atom: object) -> Atom:
            return Known(atom.val) if isinstance(atom, literal) else known[atom]

        for equation in jaxpr.eqns:
            operands = tuple(map(read, equation.invars))
            inner = equation.params.get(_CALLS.get(equation.primitive.name, ""))
            if inner is not None:
                own = getattr(inner, "consts", ())
                made = self._walk(getattr(inner, "jaxpr", inner), own, operands)
                known.update(zip(equation.outvars, made, strict=True))
                continue
            numbers = tuple(self._new(var.aval) for var in equation.outvars)
            known.update(zip(equation.outvars, numbers, strict=True))
            numbers = numbers or (self._new(None),)  # what makes nothing is there for its effect
            if equation.effects or not equation.outvars:
                self.effects.update(numbers)
            self.equations.append(Equation(equation.primitive, equation.params, operands, numbers))
        return [read(var) for var in jaxpr.outvars]


def run(
    equations: Iterable[Equation], known: dict[int, Any], outputs: Sequence[Atom]
) -> tuple[Any, ...]:
    """Computes outputs from the values that are known; the rest is added to these."""

    def read(atom: Atom) -> Any:
        return atom.value if type(atom) is Known else known[atom]  # type: ignore[index]

    for equation in equations:
        primitive = equation.primitive
        params = primitive.get_bind_params(equation.params)
        made = primitive.bind(*map(read, equation.inputs), **params)
        made = made if primitive.multiple_results else (made,)
        known.update(zip(equation.outputs, made, strict=bool(made)))  # see LaidOpen
    return tuple(map(read, outputs))
