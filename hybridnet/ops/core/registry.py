"""The table of operators, and the decorator that adds a row.

    @operator("FullyConnected", complete=_weights)
    def fully_connected(data, weight, bias=None, *, num_hidden: Annotated[int, Range(1)], ...):
        '''Documentation that users read.'''

The lowering's positional arguments are the operator's inputs, its keyword-only arguments the
parameters (`hybridnet.base.attrs` lists the types they can have).

The functions of `nd`, `sym` and the others are made of the rows that there are when these are
imported. A row that a user adds later is given to them, as `Namespace`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

from hybridnet.base.attrs import declaration_of
from hybridnet.base.errors import MXNetError
from hybridnet.base.locks import free_in_children
from hybridnet.base.modules import load
from hybridnet.base.tensor_type import TensorType
from hybridnet.engine import RLock

from .call import Averages, Backward, IndexBound
from .operator import Operator, Shapes

__all__ = [
    "REGISTRY",
    "Namespace",
    "complete_library",
    "get",
    "namespaces",
    "operator",
    "public_operators",
    "register_gradient",
]

#: Every name, aliases included, and its operator.
REGISTRY: Final[dict[str, Operator]] = {}

Lowering = Callable[..., Any]


class Namespace(Protocol):
    """A module with a function for each operator whose name begins in a certain way.

    Attributes:
        title: as users write it, such as 'nd.contrib'.
        prefix: what the names of its operators begin with in the registry; see `public_name`.
    """

    title: str
    prefix: str

    def has(self, name: str) -> bool:
        """Whether the module has a name, whatever that is."""

    def add(self, name: str, op: Operator) -> None:
        """Gives the module a function for an operator, by a name that it does not have."""


#: Where operators that users register get functions.
namespaces: Final[list[Namespace]] = []
# Those that must be there before a user's operator is added, so that no name is taken twice; and
# what has to be in front of one of its names for that. Others are loaded by these.
_LOADED_BY: Final = {"nd": "", "sym": "", "np": "_np_", "npx": "_npx_"}
# Re-entrant, like every lock here.
_adding: Final = free_in_children(RLock())


class _Revision:
    """Counts how often a gradient rule was replaced; a part of the key of a `Replay`."""

    number = 0


revision: Final = _Revision()


class _Library:
    """Whether the library's own operators are all registered; later ones are a user's."""

    complete = False


def complete_library() -> None:
    """Notes that all operators from here on are users'."""
    _Library.complete = True


def operator(
    name: str,
    *,
    aliases: Sequence[str] = (),
    outputs: int | Callable[..., int] = 1,
    visible: int | Callable[..., int] | None = None,
    mutates: Mapping[str, int] | Callable[..., Mapping[int, int]] | None = None,
    averages: Callable[..., Averages | None] | None = None,
    takes: Callable[..., Sequence[str]] | None = None,
    presence: Mapping[str, str] | None = None,
    infer: Callable[..., Sequence[TensorType]] | None = None,
    check: Callable[..., None] | None = None,
    complete: Callable[..., Shapes] | None = None,
    gradient: Callable[[Backward], Sequence[Any]] | None = None,
    no_gradient: str = "",
    own_gradient: Callable[..., bool] | None = None,
    input_dtypes: Mapping[str, str] | None = None,
    cost: Callable[..., float] | None = None,
    sizes: Mapping[str, Callable[[Sequence[Any], Mapping[str, Any]], int]] | None = None,
    output_names: Sequence[str] = ("output",),
    takes_state: Callable[..., bool] | None = None,
    look: Callable[..., Callable[[Sequence[Any], Sequence[Any]], None] | None] | None = None,
    bounds: Callable[..., Sequence[IndexBound]] | None = None,
    refuse: Callable[..., str] | None = None,
    rewrites: bool = False,
    doc: str = "",
) -> Callable[[Lowering], Lowering]:
    """Registers the decorated function, the *lowering*, as an operator.

    A user's operator gets its functions at once: ``nd.<name>`` and ``sym.<name>``. What its names
    begin with says which: of ``_contrib_<name>`` they are in `nd.contrib` and `sym.contrib`, of
    ``_npx_<name>`` in `npx`, of ``_np_<name>`` in `np` and ``sym.np``; further ones of one operator
    are given in `aliases`. Other names that begin with an underscore get none.

    In the list below ``params`` are the values of the operator's parameters, passed by keyword, and
    ``types`` are the types of its inputs, one argument for each.

    Args:
        name: MXNet's name of the operator, or a new one.
        aliases: other names of the same operator.
        outputs: how many arrays the lowering returns, hidden ones included, but without the new
            random state; or a function (**params) of that.
        visible: how many of them users see, beginning with the first; default all.
        mutates: for auxiliary states: the name of an input -> the index of the output that it is
            overwritten with; or a function (**params) that returns input index -> output index.
        averages: where the states in `mutates` are running averages of the batches' statistics: a
            function (**params) of the `Averages`, which says how the backward pass moves them; None
            where they stay.
        takes: a function (**params) that returns the names of the inputs that a call takes; default
            all.
        presence: the name of an optional input -> the parameter, a bool, that says whether it is
            given, and which a call with that input need not set.
        infer: a function (*types, **params) that returns the types of the outputs; default: JAX
            evaluates the lowering on types alone.
        check: a function (*types, **params) that raises ShapeError or DTypeError if the inputs do
            not meet the operator's requirement.
        complete: a function (shapes, **params) that returns the shapes of the inputs, with those
            that are unknown filled in.
        gradient: the gradient rule; default `jax.vjp` of the lowering.
        no_gradient: if the operator has no gradient, why.
        own_gradient: a function (**params) that says whether the rule does not need the gradients
            of the outputs, like that of a loss. Such a rule runs whenever the head of a backward
            pass depends on the outputs, even if only through operators without a gradient.
        input_dtypes: the name of an input -> the dtype that it always has. A variable of a graph
            without a dtype gets this one.
        cost: a function (*types, **params) that returns how many floating-point operations a call
            takes; default the number of elements of the outputs.
        sizes: for operators whose output shape depends on the values of the inputs: the name of a
            parameter (``int | None = None``) -> a function (arrays, params) of its value. If the
            parameter is not given, a call on arrays waits for their values and computes it; in a
            graph it must be given.
        output_names: the names of the visible outputs, as saved symbols have them.
        takes_state: a function (**params) that says whether a call draws random numbers; default:
            all calls do if the lowering takes a `RandomState`.
        look: for operators that can find a fault in their values, which a compiled program cannot
            raise: a function (**params) that returns a function (inputs, outputs) of NumPy arrays,
            which raises an OpError; or None if there is nothing to look at. A task calls it after
            each call on arrays, outside of traces and while autograd does not record.
        bounds: for operators that take positions: a function (*types, **params) that returns what
            these may be, for each input that holds some.
        refuse: a function of the numbers that a call takes beside its inputs; it returns why they
            have no meaning, or "". In a graph such a call is refused. On arrays it counts as having
            failed while it ran, since that is when MXNet reports it.
        rewrites: whether the operator returns its first input with a part of it changed, and its
            lowering does so as its last step, by `at` or `lax.dynamic_update_slice`. Then NumPy
            changes the array in place if nothing else refers to it.
        doc: the documentation, if it is not the lowering's docstring.

    Raises:
        MXNetError: the name or an alias is taken, by an operator or in a namespace that it would
            be in; then nothing is registered.
    """

    def register(lowering: Lowering) -> Lowering:
        signature = _read_signature(lowering)
        if takes_state is not None:
            signature["takes_state"] = takes_state
        place = signature["inputs"].index
        row = Operator(
            name=name,
            lowering=lowering,
            **signature,
            outputs=outputs,
            visible=outputs if visible is None else visible,
            mutates=(
                mutates
                if callable(mutates)
                else {place(key): index for key, index in (mutates or {}).items()}
            ),
            averages=averages,
            takes=takes,
            presence=presence or {},
            infer=infer,
            check=check,
            complete=complete,
            gradient=gradient,
            no_gradient=no_gradient,
            own_gradient=own_gradient,
            input_dtypes=input_dtypes or {},
            cost=cost,
            sizes=sizes or {},
            output_names=tuple(output_names),
            look=look,
            bounds=bounds,
            refuse=refuse,
            rewrites=rewrites,
            aliases=tuple(aliases),
            doc=doc or lowering.__doc__ or "",
            built_in=not _Library.complete,
        )
        _add(row)
        return lowering

    return register


def _read_signature(lowering: Lowering) -> dict[str, Any]:
    """Returns the fields of an `Operator` that the signature of its lowering determines."""
    inputs, required, variadic, declared, given = declaration_of(lowering)
    params = {param.name: param for param in declared}
    return {
        "inputs": inputs,
        "required_inputs": required,
        "variadic": variadic,
        "params": params,
        "static": {key: param for key, param in params.items() if not param.dynamic},
        "dynamic": {key: param for key, param in params.items() if param.dynamic},
        "counted": any(param.count for param in params.values()),
        "takes_train": "train" in given,
        "takes_platform": "platform" in given,
        "takes_state": "random_state" in given,
        "state_keyword": given.get("random_state", ""),
    }


def _add(row: Operator) -> None:
    """Enters an operator under its name and its aliases, all or none."""
    names = (row.name, *row.aliases)
    if not row.built_in:
        for module, prefix in _LOADED_BY.items():
            if any(name.startswith(prefix) for name in names):
                load(module)
    with _adding:
        for number, key in enumerate(names):
            if key in REGISTRY or key in names[:number]:
                raise MXNetError(f"operator {key!r} is already registered; choose another name")
        places = [] if row.built_in else [*_places(names)]
        for space, public, key in places:
            if space.has(public):
                raise MXNetError(
                    f"operator {key!r}: there is a {space.title}.{public} already; choose another "
                    "name"
                )
        REGISTRY.update(dict.fromkeys(names, row))
        for space, public, _ in places:
            space.add(public, row)


def _places(names: Sequence[str]) -> Iterator[tuple[Namespace, str, str]]:
    """Yields where operators of some names have functions, under which name, and of which."""
    for space in namespaces:
        for name in names:
            public = public_name(name, space.prefix)
            if public is not None:
                yield space, public, name


def public_name(name: str, prefix: str) -> str | None:
    """Returns what an operator is called in the namespace of a prefix; None: it is not in there.

    Args:
        name: its name in the registry.
        prefix: what the names of the operators in there begin with, as '_contrib_' for
            ``nd.contrib``; empty for those without an underscore in front, which are ``nd`` itself.
    """
    belongs = name.startswith(prefix) if prefix else not name.startswith("_")
    return name.removeprefix(prefix) if belongs else None


def get(name: str) -> Operator:
    """Returns the operator of this name.

    Raises:
        MXNetError: there is none.
    """
    try:
        return REGISTRY[name]
    except KeyError:
        near = ", ".join(sorted(known for known in REGISTRY if name.lower() in known.lower())[:5])
        hint = f"; did you mean one of {near}?" if near else ""
        raise MXNetError(f"there is no operator named {name!r}{hint}") from None


def public_operators(prefix: str = "") -> dict[str, Operator]:
    """Returns the operators of a namespace by the names they have there.

    Args:
        prefix: see `public_name`.
    """
    found = {public_name(name, prefix): op for name, op in list(REGISTRY.items())}
    return {name: op for name, op in found.items() if name is not None}


def register_gradient(name: str) -> Callable[[Callable[[Backward], Sequence[Any]]], Any]:
    """Replaces the gradient rule of an operator: ``@register_gradient("sin")``.

    The decorated rule gets a `Backward` and returns one gradient (or None) for each input.
    """

    def register(rule: Callable[[Backward], Sequence[Any]]) -> Callable[[Backward], Sequence[Any]]:
        # The one change a row ever sees; calls already bound follow, since they ask their row.
        object.__setattr__(get(name), "gradient", rule)
        revision.number += 1
        return rule

    return register
