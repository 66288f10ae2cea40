"""Updates of narrow weights that keep a float32 copy.

In mixed precision the step is taken on ``weight32``, and the narrow weight is rounded from it.
"""

from __future__ import annotations

from typing import Any, Final

from hybridnet.base.tensor_type import TensorType

from ..core.families import keywords_of, signed
from ..core.registry import get, operator
from ..core.rules import check_same_shape, unify
from .updates import UPDATE, check_update, require_one_number, update


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


# AdamW, whose last input is no state of one weight -----------------------------------------------


def _check_decoupled(*types: TensorType, **_: Any) -> None:
    check_update("_mp_adamw_update", _LAMB, types[:5])
    require_one_number("_mp_adamw_update", "rescale_grad", types[5])


def _decoupled(
    weight: Any,
    grad: Any,
    mean: Any,
    var: Any,
    weight32: Any,
    rescale_grad: Any,
    **params: Any,
) -> Any:
    grad = grad.astype(weight32.dtype)
    new, mean, var = get("_adamw_update").lowering(
        weight32, grad, mean, var, rescale_grad, **params
    )
    return new.astype(weight.dtype), mean, var, new


operator(
    "_mp_adamw_update",
    outputs=4,
    visible=1,
    mutates={"mean": 1, "var": 2, "weight32": 3},
    check=_check_decoupled,
    infer=lambda weight, grad, mean, var, weight32, *_, **__: (weight, mean, var, weight32),
    no_gradient=UPDATE,
    doc="_adamw_update in mixed precision.",
)(signed(_decoupled, (*_LAMB, "rescale_grad"), keywords_of(get("_adamw_update").lowering)))
