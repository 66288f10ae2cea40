"""Alternatives: other lowerings of an operator, of which one is chosen where it is the faster.

    @alternative("Convolution", "winograd", applies=_is_3_by_3, tolerance=1e-4)
    def winograd(data, weight, bias=None, *, kernel, ...): ...

    @builtin_choice("Convolution")
    def _choose(site: Site) -> str: ...

The operator's own lowering, `PLAIN`, is the reference that the others are held against. What is
chosen at a `Site` is, in this order, what was picked for the program that is being built (see
`hybridnet.runtime.programs.recipe`), what the operator's rule says, and the plain lowering.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple, Protocol

import numpy as np

from hybridnet.base import config
from hybridnet.base.errors import MXNetError

from .call import Call
from .fingerprint import Unstable, fingerprint

#: The name of an operator's own lowering.
PLAIN: Final = "plain"

Lowering = Callable[..., Any]


class OperandType(NamedTuple):
    """The known facts of an operand: in an exported program, a dimension may be no number."""

    shape: tuple[Any, ...]
    dtype: np.dtype[Any]


class _OperatorCall(Protocol):
    """The questions that a call is asked here; it is an `OpCall`, whose module imports this one."""

    @property
    def attrs(self) -> Mapping[str, Any]: ...
    @property
    def name(self) -> str: ...
    @property
    def train(self) -> bool | None: ...
    @property
    def fingerprint(self) -> bytes | None: ...


@dataclass(frozen=True)
class Site:
    """The place where an operator is lowered, with all that a choice can depend on.

    Attributes:
        platform: 'cpu', 'gpu' or 'tpu'.
        call: the operator with its static parameters.
        operands: its inputs.
        wanted: the inputs by which the lowering is differentiated; None: it is not.
        constant_weights: whether weights stay the same from call to call: what a lowering does to
            a weight alone is done once, and costs nothing.
    """

    platform: str
    call: _OperatorCall
    operands: tuple[OperandType, ...]
    wanted: tuple[int, ...] | None = None
    constant_weights: bool = False

    @property
    def attrs(self) -> Mapping[str, Any]:
        """The static parameters."""
        return self.call.attrs

    @property
    def role(self) -> str:
        """'forward', or 'gradient': the lowering is there to be differentiated."""
        return "forward" if self.wanted is None else "gradient"

    @cached_property
    def is_static(self) -> bool:
        """Whether all dimensions are numbers."""
        return all(type(size) is int for operand in self.operands for size in operand.shape)

    @cached_property
    def key(self) -> str | None:
        """The site's name in files; None where it has none that outlives the process."""
        call = self.call.fingerprint
        if call is None or not self.is_static:
            return None
        try:
            operands = [(operand.shape, operand.dtype) for operand in self.operands]
            return fingerprint(self.platform, call, operands, self.wanted).hex()
        except Unstable:
            return None

    def __str__(self) -> str:
        shapes = ", ".join(f"{operand.dtype.name}{[*operand.shape]}" for operand in self.operands)
        return f"{self.call.name}({shapes}), {self.role}"


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another lowering of an operator.

    Attributes:
        name: what it is called, unique for the operator.
        lowering: takes what the operator's own lowering takes.
        applies: whether it can be used at a site.
        tolerance: the greatest difference from the plain lowering, of outputs and gradients, as a
            share of the greatest magnitude in what that gives, for normal random inputs of float32.
    """

    name: str
    lowering: Lowering
    applies: Callable[[Site], bool]
    tolerance: float


class Alternatives:
    """The alternatives of one operator, and the rule that chooses where nothing was measured."""

    def __init__(self) -> None:
        self.by_name: dict[str, Alternative] = {}
        self.choose: Callable[[Site], str] | None = None
        #: The rule for sites whose weights are constant; None: there is none of its own.
        self.choose_constant: Callable[[Site], str | None] | None = None

    def applying(self, site: Site) -> list[Alternative]:
        """Returns those that can be used at a site."""
        return [option for option in self.by_name.values() if option.applies(site)]


# By the canonical name of the operator. Most operators have none.
_table: Final[dict[str, Alternatives]] = {}
#: The operators of which one is a user's, which is to be used: NumPy runs them no more.
extended: Final[set[str]] = set()
#: Called when one of these has got a lowering of the user's.
on_extended: Final[list[Callable[[], None]]] = []


class _Building(threading.local):
    """The choices that the thread that traces a program has been told."""

    #: Site key -> name.
    picks: Mapping[str, str] = {}
    #: What the program's own rule makes of an operator's.
    revise: Callable[[Site, str], str] | None = None
    #: Filled with the choice at each site; None: nobody asked.
    seen: dict[Site, str] | None = None
    #: What is being differentiated, a call, and by which of its inputs.
    differentiated: tuple[object, tuple[int, ...]] | None = None
    #: Whether weights stay the same from call to call.
    constant_weights = False


_building: Final = _Building()


def alternatives_of(operator: str) -> Alternatives | None:
    """Returns the alternatives of an operator, by its canonical name; None: it has none."""
    return _table.get(operator)


def alternative(
    operator: str, name: str, *, applies: Callable[[Site], bool], tolerance: float
) -> Callable[[Lowering], Lowering]:
    """Registers the decorated function as another lowering of an operator.

    Args:
        operator: the operator's canonical name.
        name: of the alternative.
        applies: whether it can be used at a site; it must be right about platform, dtypes, ranks
            and parameters, and need not know where it is fast.
        tolerance: see `Alternative`.

    Raises:
        MXNetError: the operator has one of this name.
    """

    def register(lowering: Lowering) -> Lowering:
        of = _table.setdefault(operator, Alternatives())
        if name == PLAIN or name in of.by_name:
            raise MXNetError(f"{operator} already has a lowering {name!r}; choose another name")
        of.by_name[name] = Alternative(name, lowering, applies, tolerance)
        if not getattr(lowering, "func", lowering).__module__.startswith("hybridnet."):
            extended.add(operator)
            for tell in on_extended:
                tell()
        return lowering

    return register


def builtin_choice(operator: str) -> Callable[[Callable[[Site], str]], Callable[[Site], str]]:
    """Registers the decorated function as the rule that chooses among an operator's lowerings.

    It returns `PLAIN` or the name of an alternative; one that does not apply counts as `PLAIN`.
    """

    def register(rule: Callable[[Site], str]) -> Callable[[Site], str]:
        _table.setdefault(operator, Alternatives()).choose = rule
        return rule

    return register


def constant_choice(
    operator: str,
) -> Callable[[Callable[[Site], str | None]], Callable[[Site], str | None]]:
    """Registers the decorated function as the rule at sites whose weights are constant.

    It comes before what was picked for the program, which was measured with weights that change;
    where it returns None, or what does not apply, these sites are as any.
    """

    def register(rule: Callable[[Site], str | None]) -> Callable[[Site], str | None]:
        _table.setdefault(operator, Alternatives()).choose_constant = rule
        return rule

    return register


@contextmanager
def constant_weights() -> Iterator[None]:
    """While a program is traced in this thread whose weights stay the same from call to call."""
    before = _building.constant_weights
    _building.constant_weights = True
    try:
        yield
    finally:
        _building.constant_weights = before


@contextmanager
def picking(
    picks: Mapping[str, str],
    seen: dict[Site, str] | None = None,
    revise: Callable[[Site, str], str] | None = None,
) -> Iterator[None]:
    """While a program is traced in this thread: overrules the rules at some sites.

    Args:
        picks: the key of a site -> the name of a lowering.
        seen: is filled with the sites that have alternatives, and what was chosen.
        revise: given a site and what the operator's rule chose there, returns what is used; not
            asked where `picks` says it.
    """
    before = _building.picks, _building.seen, _building.revise
    _building.picks, _building.seen, _building.revise = picks, seen, revise
    try:
        yield
    finally:
        _building.picks, _building.seen, _building.revise = before


@contextmanager
def differentiating(call: Call, wanted: tuple[int, ...]) -> Iterator[None]:
    """While a call is lowered to be differentiated in this thread.

    Args:
        call: what is differentiated.
        wanted: by which of its inputs.
    """
    before = _building.differentiated
    _building.differentiated = (call, wanted)
    try:
        yield
    finally:
        _building.differentiated = before


def lowering_of(
    call: _OperatorCall, plain: Lowering, platform: str, operands: Sequence[Any]
) -> Lowering:
    """Returns the lowering to use for a call at hand.

    Args:
        call: the call.
        plain: the operator's own lowering.
        platform: where the program will run.
        operands: arrays or tracers.
    """
    of = _table.get(call.name)
    if of is None:
        return plain
    wanted = None
    if _building.differentiated is not None:
        outer, inputs = _building.differentiated
        # Within a graph that is differentiated as one, any input may be asked for.
        wanted = inputs if outer is call else tuple(range(len(operands)))
    site = Site(
        platform,
        call,
        tuple([OperandType(tuple(x.shape), np.dtype(x.dtype)) for x in operands]),
        wanted,
        _building.constant_weights,
    )
    name = _choice(of, site)
    if _building.seen is not None:
        _building.seen[site] = name
    return plain if name == PLAIN else of.by_name[name].lowering


def _choice(of: Alternatives, site: Site) -> str:
    if site.constant_weights and of.choose_constant is not None and site.is_static:
        best = of.by_name.get(of.choose_constant(site) or PLAIN)
        if best is not None and best.applies(site):
            return best.name
    picks = _building.picks
    name = picks.get(site.key or "") if picks else None
    if name is None:
        if of.choose is None or config.tuning() == "off":
            return PLAIN
        name = of.choose(site)
        if _building.revise is not None:
            name = _building.revise(site, name)
    found = of.by_name.get(name)
    return name if found is not None and found.applies(site) else PLAIN
