"""Updates of narrow weights that keep a float32 copy, and of several weights by one operator.

In mixed precision the step is taken on ``weight32``, and the narrow weight is rounded from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

from hybridnet.base.attrs import REQUIRED, Count, Range, Scalars
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.base.tensor_type import TensorType
from hybridnet.ops.host.namespace import jnp

from ..core.families import keywords_of, signed
from ..core.registry import get, operator
from ..core.rules import check_same_shape, unify
from .updates import UPDATE, check_update, update

__all__: list[str] = []


def _mixed(name: str, of: str) -> None:
    """Registers the form of an update in mixed precision: its last input is the float32 copy."""
    row = get(of)
    inputs = (*row.inputs, "weight32")

    def lowering(weight: Any, grad: Any, *rest: Any, **params: Any) -> Any:
        *states, weight32 = rest
        stepped = row.lowering(weight32, grad.astype(weight32.dtype), *states, **params)
        new, *states = stepped if isinstance(stepped, tuple) else (stepped,)
        return (new.astype(weight.dtype), *states, new)

    decorate = update(name, inputs, doc=f"{of} in mixed precision.")
    decorate(signed(lowering, inputs, keywords_of(row.lowering)))


_mixed("mp_sgd_update", "sgd_update")
_mixed("mp_sgd_mom_update", "sgd_mom_update")
_mixed("mp_nag_mom_update", "nag_mom_update")


_LAMB: Final = ("weight", "grad", "mean", "var", "weight32")


def _phase1(weight: Any, grad: Any, mean: Any, var: Any, weight32: Any, **params: Any) -> Any:
    grad = grad.astype(weight32.dtype)
    return get("lamb_update_phase1").lowering(weight32, grad, mean, var, **params)


operator(
    "mp_lamb_update_phase1",
    outputs=3,
    visible=1,
    mutates={"mean": 1, "var": 2},
    check=lambda *types, **_: check_update("mp_lamb_update_phase1", _LAMB, types),
    infer=lambda weight, grad, mean, var, weight32, **_: (weight32, mean, var),
    complete=unify,
    no_gradient=UPDATE,
    doc="lamb_update_phase1 in mixed precision; what it returns has the dtype of `weight32`.",
)(signed(_phase1, _LAMB, keywords_of(get("lamb_update_phase1").lowering)))


def _check_lamb_phase2(*types: TensorType, **_: Any) -> None:
    weight, g, r1, r2, weight32 = types
    check_same_shape("mp_lamb_update_phase2", ("weight", "weight32"), (weight, weight32))
    check = get("lamb_update_phase2").check
    if check is not None:
        check(weight32, g, r1, r2)


def _phase2(weight: Any, g: Any, r1: Any, r2: Any, weight32: Any, **params: Any) -> Any:
    new = get("lamb_update_phase2").lowering(weight32, g, r1, r2, **params)
    return new.astype(weight.dtype), new


operator(
    "mp_lamb_update_phase2",
    outputs=2,
    visible=1,
    mutates={"weight32": 1},
    check=_check_lamb_phase2,
    infer=lambda weight, g, r1, r2, weight32, **_: (weight, weight32),
    no_gradient=UPDATE,
    doc="""lamb_update_phase2 in mixed precision: the step is taken on `weight32`, and then rounded.

    `weight32` holds the new weight afterwards; MXNet leaves it as it was, against its own words.
    """,
)(
    signed(
        _phase2,
        ("weight", "g", "r1", "r2", "weight32"),
        keywords_of(get("lamb_update_phase2").lowering),
    )
)


# Several weights --------------------------------------------------------------------------------

_RATE: Final = (Annotated[Scalars, Count("num_weights")], REQUIRED)
_RATES: Final = {"lrs": _RATE, "wds": _RATE}
_NUMBER: Final = {"num_weights": (Annotated[int, Range(1)], 1)}


def _several(name: str, of: str, *, preloaded: bool = False) -> None:
    """Registers an update of several weights.

    Its inputs are those of the update of one weight, for each weight. Its outputs are all new
    weights, and then each weight's new states.

    Args:
        name: MXNet's name.
        of: the update of one weight.
        preloaded: whether learning rates and weight decays are two arrays, the last inputs,
            instead of parameters.
    """
    row = get(of)
    each = len(row.inputs)
    states = each - 2

    def mutates(*, num_weights: int, **_: Any) -> Mapping[int, int]:
        return {
            each * i + 2 + state: num_weights + states * i + state
            for i in range(num_weights)
            for state in range(states)
        }

    def check(*types: TensorType, num_weights: int, **_: Any) -> None:
        wanted = each * num_weights + 2 * preloaded
        if len(types) != wanted:
            raise ParameterError(
                f"{name}: requires {wanted} inputs for num_weights={num_weights}, got {len(types)}"
            )
        for i in range(num_weights):
            check_update(name, row.inputs, types[each * i : each * (i + 1)])
        for rates in types[each * num_weights :]:
            if rates.shape != (num_weights,):
                raise ShapeError(
                    f"{name}: the learning rates and the weight decays must have shape "
                    f"({num_weights},), one for each weight, got {rates}"
                )

    def infer(*types: TensorType, num_weights: int, **_: Any) -> Sequence[TensorType]:
        groups = [types[each * i : each * (i + 1)] for i in range(num_weights)]
        return [group[0] for group in groups] + [state for group in groups for state in group[2:]]

    def lowering(
        *data: Any, num_weights: int, lrs: Any = None, wds: Any = None, **params: Any
    ) -> Any:
        if preloaded:
            lrs, wds = data[-2:]
        weights: list[Any] = []
        new_states: list[Any] = []
        for i in range(num_weights):
            group = data[each * i : each * (i + 1)]
            # The weights need not have one dtype; the numbers come in the widest.
            given = {"lr": lrs[i], "wd": wds[i], **params}
            dtype = jnp.result_type(*group)
            numbers = {key: given[key].astype(dtype) for key in given.keys() & row.dynamic.keys()}
            stepped = row.lowering(*group, **{**given, **numbers})
            new, *moved = stepped if isinstance(stepped, tuple) else (stepped,)
            weights.append(new)
            new_states += moved
        return (*weights, *new_states)

    shared = {
        key: value
        for key, value in keywords_of(row.lowering).items()
        if key not in ("lr", "wd", "lazy_update")
    }
    rates = {} if preloaded else _RATES
    operator(
        name,
        outputs=lambda *, num_weights, **_: num_weights * (1 + states),
        visible=lambda *, num_weights, **_: num_weights,
        mutates=mutates,
        check=check,
        infer=infer,
        no_gradient=UPDATE,
        doc=_several_doc(of, row.inputs, preloaded),
    )(signed(lowering, ("*data",), {**rates, **shared, **_NUMBER}))


def _several_doc(of: str, inputs: Sequence[str], preloaded: bool) -> str:
    last = "; then the learning rates and the weight decays, two arrays of shape (num_weights,)"
    rates = (
        "    lrs: the learning rate of each weight.\n    wds: the weight decay of each weight.\n"
    )
    return (
        f"Updates several weights at once, each by {of}.\n\nArgs:\n"
        f"    data: for each weight {', '.join(inputs)}{last if preloaded else ''}.\n"
        f"{'' if preloaded else rates}    num_weights: how many weights there are.\n"
    )


_several("multi_sgd_update", "sgd_update")
_several("multi_sgd_mom_update", "sgd_mom_update")
_several("multi_mp_sgd_update", "mp_sgd_update")
_several("multi_mp_sgd_mom_update", "mp_sgd_mom_update")
_several("preloaded_multi_sgd_update", "sgd_update", preloaded=True)
_several("preloaded_multi_sgd_mom_update", "sgd_mom_update", preloaded=True)
_several("preloaded_multi_mp_sgd_update", "mp_sgd_update", preloaded=True)
_several("preloaded_multi_mp_sgd_mom_update", "mp_sgd_mom_update", preloaded=True)
