"""The table of operators, and the decorator that adds a row.

    @operator("FullyConnected", complete=_weights)
    def fully_connected(data, weight, bias=None, *, num_hidden: Annotated[int, Range(1)], ...):
        '''Documentation that users read.'''

The lowering's positional arguments are the operator's inputs, its keyword-only arguments the
parameters (`hybridnet.base.attrs` lists the types they can have).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from hybridnet.base.attrs import declaration_of
from hybridnet.base.errors import MXNetError
from hybridnet.base.tensor_type import TensorType

from .call import Backward
from .operator import Operator, Shapes

__all__ = [
    "REGISTRY",
    "complete_library",
    "get",
    "operator",
    "public_operators",
    "register_gradient",
]

#: Every name, aliases included, and its operator.
REGISTRY: Final[dict[str, Operator]] = {}

Lowering = Callable[..., Any]


class _Revision:
    """How often a gradient rule was replaced: what was remembered of rules holds for one number."""

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
    takes: Callable[..., Sequence[str]] | None = None,
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
    refuse: Callable[..., str] | None = None,
    rewrites: bool = False,
    doc: str = "",
) -> Callable[[Lowering], Lowering]:
    """Registers the decorated lowering as an operator.

    Args:
        name: MXNet's canonical name.
        aliases: other names of the same operator.
        outputs: how many arrays the lowering returns (without the new random state), hidden ones
            included, or a function of the parameters that says it.
        visible: how many of them, from the first, users see; default all.
        mutates: input name -> index of the output it is overwritten with (auxiliary states), or
            parameters -> (input index -> that index).
        takes: parameters -> names of the inputs that a call takes; default all.
        infer: (*types, **params) -> types of the outputs; default by abstract evaluation.
        check: (*types, **params), raises ShapeError or DTypeError with the requirement.
        complete: (shapes, **params) -> shapes, with unknown input shapes filled in.
        gradient: the rule; default `jax.vjp` of the lowering.
        no_gradient: why there is none.
        own_gradient: (**params) -> whether the rule does without the gradients of the outputs, as
            that of a loss. It runs wherever something depends on the outputs, were it through
            operators without a gradient.
        input_dtypes: names of inputs -> the dtype that they have whatever the others have: where
            variables of a graph are given none, it is theirs.
        cost: (*types, **params) -> floating-point operations; default the elements of the outputs.
        sizes: for a shape that depends on values: parameter (``int | None = None``) ->
            (arrays, params) -> its value. On arrays a call waits for their values and measures it;
            in a graph it must be given, or the call is refused.
        output_names: names of the visible outputs, as saved symbols spell them.
        takes_state: parameters -> whether the call draws random numbers; default all calls do,
            where the lowering takes a `RandomState`.
        look: (**params) -> what looks at the inputs and outputs of a call on arrays, (inputs,
            outputs) of NumPy, and raises an OpError where there is no answer; None where nothing
            need be looked at. A task does, where autograd does not record, outside of traces.
        refuse: (*numbers) -> why numbers that the call takes beside its inputs have no meaning, or
            "". Arrays of such a call fail as if it had failed while it ran, which is when MXNet
            finds out; a graph is refused.
        rewrites: whether it gives its first input with a part of it changed, and its lowering does
            that by `at` or `lax.dynamic_update_slice`, last of all. NumPy then changes the array
            itself where nobody needs it any more.
        doc: documentation, where the lowering's own docstring is not it.

    Raises:
        MXNetError: the name or an alias is taken.
    """

    def register(lowering: Lowering) -> Lowering:
        inputs, required, variadic, declared, given = declaration_of(lowering)
        params = {param.name: param for param in declared}
        row = Operator(
            name=name,
            lowering=lowering,
            inputs=inputs,
            required_inputs=required,
            variadic=variadic,
            params=params,
            static={key: param for key, param in params.items() if not param.dynamic},
            dynamic={key: param for key, param in params.items() if param.dynamic},
            counted=any(param.count for param in params.values()),
            takes_train="train" in given,
            takes_platform="platform" in given,
            takes_state="random_state" in given if takes_state is None else takes_state,
            state_keyword=given.get("random_state", ""),
            outputs=outputs,
            visible=outputs if visible is None else visible,
            mutates=(
                mutates
                if callable(mutates)
                else {inputs.index(key): index for key, index in (mutates or {}).items()}
            ),
            takes=takes,
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
            refuse=refuse,
            rewrites=rewrites,
            aliases=tuple(aliases),
            doc=doc or lowering.__doc__ or "",
            built_in=not _Library.complete,
        )
        for key in (name, *aliases):
            if key in REGISTRY:
                raise MXNetError(f"operator {key!r} is already registered; choose another name")
            REGISTRY[key] = row
        return lowering

    return register


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
        prefix: what their names in the registry begin with, as '_contrib_' for ``nd.contrib``;
            empty for the names without an underscore in front, which are ``nd`` itself.
    """
    return {
        name.removeprefix(prefix): op
        for name, op in REGISTRY.items()
        if (name.startswith(prefix) if prefix else not name.startswith("_"))
    }


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
