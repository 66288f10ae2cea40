"""Updates of narrow weights that keep a float32 copy, and of several weights by one operator.

In mixed precision the step is taken on ``weight32``, and the narrow weight is rounded from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Final

from hybridnet.base.attrs import Floats, Range, Scalar
from hybridnet.base.errors import ParameterError
from hybridnet.base.lazy import jnp
from hybridnet.base.tensor_type import TensorType

from ._checks import require_floats
from .optimizer_ops import UPDATE, nag_mom_update, sgd_mom_update, sgd_update, update
from .registry import operator

__all__: list[str] = []


@update("mp_sgd_update", ("weight", "grad", "weight32"))
def mp_sgd_update(
    weight: Any,
    grad: Any,
    weight32: Any,
    *,
    lr: Scalar,
    wd: Scalar = 0.0,
    rescale_grad: Scalar = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
) -> Any:
    """sgd_update in mixed precision."""
    new = sgd_update(
        weight32,
        grad.astype(weight32.dtype),
        lr=lr,
        wd=wd,
        rescale_grad=rescale_grad,
        clip_gradient=clip_gradient,
    )
    return new.astype(weight.dtype), new


def _mixed_momentum(name: str, step: Callable[..., Any]) -> None:
    def lowering(
        weight: Any,
        grad: Any,
        mom: Any,
        weight32: Any,
        *,
        lr: Scalar,
        momentum: Scalar = 0.0,
        wd: Scalar = 0.0,
        rescale_grad: Scalar = 1.0,
        clip_gradient: float = -1.0,
        lazy_update: bool = True,
    ) -> Any:
        new, mom = step(
            weight32,
            grad.astype(weight32.dtype),
            mom,
            lr=lr,
            momentum=momentum,
            wd=wd,
            rescale_grad=rescale_grad,
            clip_gradient=clip_gradient,
        )
        return new.astype(weight.dtype), mom, new

    lowering.__doc__ = f"{name.removeprefix('mp_')} in mixed precision."
    update(name, ("weight", "grad", "mom", "weight32"))(lowering)


_mixed_momentum("mp_sgd_mom_update", sgd_mom_update)
_mixed_momentum("mp_nag_mom_update", nag_mom_update)


# Several weights --------------------------------------------------------------------------------


def _several(name: str, momentum: bool, mixed: bool, preloaded: bool) -> None:
    """Registers an update of several weights.

    Its inputs are, for each weight: the weight, its gradient, its momentum and its float32 copy,
    the last two where there are such; and in the end, preloaded, the arrays of learning rates and
    weight decays. Its outputs are all new weights, and then each weight's new states.
    """
    each = 2 + momentum + mixed
    states = momentum + mixed

    def mutates(*, num_weights: int, **_: Any) -> Mapping[int, int]:
        return {
            each * i + 2 + state: num_weights + states * i + state
            for i in range(num_weights)
            for state in range(states)
        }

    def check(*types: TensorType, num_weights: int, **params: Any) -> None:
        require_floats(name, ("weight",), types)
        wanted = each * num_weights + 2 * preloaded
        if len(types) != wanted:
            raise ParameterError(
                f"{name}: requires {wanted} inputs for num_weights={num_weights}, got {len(types)}"
            )
        require_floats(name, ("data0",), types)
        for key in () if preloaded else ("lrs", "wds"):
            if len(params[key]) != num_weights:
                raise ParameterError(
                    f"{name}: {key} must have {num_weights} numbers, one for each weight, got "
                    f"{params[key]}"
                )

    def infer(*types: TensorType, num_weights: int, **_: Any) -> Sequence[TensorType]:
        groups = [types[each * i : each * (i + 1)] for i in range(num_weights)]
        return [group[0] for group in groups] + [one for group in groups for one in group[2:]]

    def run(data: Sequence[Any], lrs: Any, wds: Any, num_weights: int, shared: Any) -> Any:
        weights: list[Any] = []
        new_states: list[Any] = []
        for i in range(num_weights):
            weight, grad, *rest = data[each * i : each * (i + 1)]
            target = rest[-1] if mixed else weight
            step: Callable[..., Any] = sgd_mom_update if momentum else sgd_update
            new = step(
                target,
                grad.astype(target.dtype),
                *rest[:momentum],
                lr=jnp.asarray(lrs[i], target.dtype),
                wd=jnp.asarray(wds[i], target.dtype),
                **shared,
            )
            new, *moved = new if momentum else (new,)
            weights.append(new.astype(weight.dtype))
            new_states += [*moved, new] if mixed else moved
        return (*weights, *new_states)

    lowering = _LOWERINGS[momentum, preloaded](run)
    operator(
        name,
        outputs=lambda *, num_weights, **_: num_weights * (1 + states),
        visible=lambda *, num_weights, **_: num_weights,
        mutates=mutates,
        check=check,
        infer=infer,
        no_gradient=UPDATE,
        doc=_several_doc(momentum, mixed, preloaded),
    )(lowering)


def _several_doc(momentum: bool, mixed: bool, preloaded: bool) -> str:
    base = ("mp_" if mixed else "") + ("sgd_mom_update" if momentum else "sgd_update")
    each = "weight, grad" + ", mom" * momentum + ", weight32" * mixed
    rates = (
        "The last two inputs are the arrays of learning rates and weight decays."
        if preloaded
        else "`lrs` and `wds` are part of the program, which is compiled anew when they change; "
        f"preloaded_multi_{base} takes them as arrays."
    )
    return f"{base} of `num_weights` weights. For each of them the inputs are {each}. {rates}"


def _given(run: Callable[..., Any]) -> Callable[..., Any]:
    def lowering(
        *data: Any,
        lrs: Floats,
        wds: Floats,
        rescale_grad: Scalar = 1.0,
        clip_gradient: float = -1.0,
        num_weights: Annotated[int, Range(1)] = 1,
    ) -> Any:
        shared = {"rescale_grad": rescale_grad, "clip_gradient": clip_gradient}
        return run(data, lrs, wds, num_weights, shared)

    return lowering


def _given_momentum(run: Callable[..., Any]) -> Callable[..., Any]:
    def lowering(
        *data: Any,
        lrs: Floats,
        wds: Floats,
        momentum: Scalar = 0.0,
        rescale_grad: Scalar = 1.0,
        clip_gradient: float = -1.0,
        num_weights: Annotated[int, Range(1)] = 1,
    ) -> Any:
        shared = {"rescale_grad": rescale_grad, "clip_gradient": clip_gradient}
        return run(data, lrs, wds, num_weights, {**shared, "momentum": momentum})

    return lowering


def _preloaded(run: Callable[..., Any]) -> Callable[..., Any]:
    def lowering(
        *data: Any,
        rescale_grad: Scalar = 1.0,
        clip_gradient: float = -1.0,
        num_weights: Annotated[int, Range(1)] = 1,
    ) -> Any:
        shared = {"rescale_grad": rescale_grad, "clip_gradient": clip_gradient}
        return run(data, data[-2], data[-1], num_weights, shared)

    return lowering


def _preloaded_momentum(run: Callable[..., Any]) -> Callable[..., Any]:
    def lowering(
        *data: Any,
        momentum: Scalar = 0.0,
        rescale_grad: Scalar = 1.0,
        clip_gradient: float = -1.0,
        num_weights: Annotated[int, Range(1)] = 1,
    ) -> Any:
        shared = {"rescale_grad": rescale_grad, "clip_gradient": clip_gradient}
        return run(data, data[-2], data[-1], num_weights, {**shared, "momentum": momentum})

    return lowering


# By whether there is a momentum, and whether rates come as arrays: the lowering's parameters.
_LOWERINGS: Final = {
    (False, False): _given,
    (True, False): _given_momentum,
    (False, True): _preloaded,
    (True, True): _preloaded_momentum,
}

for _preload in (False, True):
    for _mixed in (False, True):
        for _momentum in (False, True):
            _kind = ("mp_" if _mixed else "") + ("sgd_mom_update" if _momentum else "sgd_update")
            _name = ("preloaded_" if _preload else "") + f"multi_{_kind}"
            _several(_name, _momentum, _mixed, _preload)
