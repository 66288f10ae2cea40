"""Updates of several weights by one operator, made from the update of one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, final

from hybridnet.base.attrs import REQUIRED, Count, Range, Scalar, Scalars
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.base.tensor_type import TensorType
from hybridnet.ops.host.namespace import jnp

from ..core.checks import wide
from ..core.families import keywords_of, signed
from ..core.registry import get, operator
from .updates import UPDATE, check_update, require_one_number


@final
@dataclass(frozen=True, slots=True)
class _One:
    """The update of one weight.

    Attributes:
        label: what it is, for the documentation.
        inputs: the weight, the gradient, and the states.
        lowering: takes them, then what all weights share, and parameters; it returns the new
            weight, and after it the new states.
        shared: names of inputs that all weights share; they come last.
        each: parameter of the lowering -> MXNet's name for those of all weights.
        number: MXNet's name of the parameter that holds how many weights there are.
    """

    label: str
    inputs: Sequence[str]
    lowering: Callable[..., Any]
    shared: Sequence[str] = ()
    each: Mapping[str, str] = field(default_factory=lambda: {"lr": "lrs", "wd": "wds"})
    number: str = "num_weights"

    @property
    def states(self) -> int:
        """The number of states of a weight."""
        return len(self.inputs) - 2

    def group(self, items: Sequence[Any], i: int) -> Sequence[Any]:
        """Returns the part of an operator's inputs that belongs to one weight."""
        return items[len(self.inputs) * i : len(self.inputs) * (i + 1)]

    def keywords(self, preloaded: bool) -> dict[str, tuple[Any, Any]]:
        """Returns the parameters of the update of several weights, for `signed`."""
        rate = (Annotated[Scalars, Count(self.number)], REQUIRED)
        rates = {} if preloaded else dict.fromkeys(self.each.values(), rate)
        one = keywords_of(self.lowering).items()
        # Whether only some rows are updated is asked of single weights alone.
        common = {key: kept for key, kept in one if key not in {*self.each, "lazy_update"}}
        return {**rates, **common, self.number: (Annotated[int, Range(1)], 1)}


def _registered(name: str) -> _One:
    """Returns the update of one weight that an operator is."""
    return _One(name, get(name).inputs, get(name).lowering)


def _several(name: str, one: _One, *, preloaded: bool = False, aliases: Sequence[str] = ()) -> None:
    """Registers an update of several weights.

    Its inputs are those of the update of one weight, for each weight. Its outputs are all new
    weights, and then each weight's new states.

    Args:
        name: MXNet's name.
        one: the update of one weight.
        preloaded: whether learning rates and weight decays are two arrays, the last inputs,
            instead of parameters.
        aliases: other names.
    """

    def mutates(**params: Any) -> Mapping[int, int]:
        count = params[one.number]
        return {
            len(one.inputs) * i + 2 + state: count + one.states * i + state
            for i in range(count)
            for state in range(one.states)
        }

    def infer(*types: TensorType, **params: Any) -> Sequence[TensorType]:
        groups = [one.group(types, i) for i in range(params[one.number])]
        return [group[0] for group in groups] + [state for group in groups for state in group[2:]]

    operator(
        name,
        aliases=aliases,
        outputs=lambda **params: params[one.number] * (1 + one.states),
        visible=lambda **params: params[one.number],
        mutates=mutates,
        check=_check(name, one, preloaded),
        infer=infer,
        no_gradient=UPDATE,
        doc=_doc(one, preloaded),
    )(signed(_lowering(one, preloaded), ("*data",), one.keywords(preloaded)))


def _check(name: str, one: _One, preloaded: bool) -> Callable[..., None]:
    def check(*types: TensorType, **params: Any) -> None:
        count = params[one.number]
        own = len(one.inputs) * count
        wanted = own + len(one.shared) + 2 * preloaded
        if len(types) != wanted:
            raise ParameterError(
                f"{name}: requires {wanted} inputs for {one.number}={count}, got {len(types)}"
            )
        for i in range(count):
            check_update(name, one.inputs, one.group(types, i))
        for shared, given in zip(one.shared, types[own:], strict=not preloaded):
            require_one_number(name, shared, given)
        for rates in types[own:] if preloaded else ():
            if rates.shape != (count,):
                raise ShapeError(
                    f"{name}: the learning rates and the weight decays must have shape "
                    f"({count},), one for each weight, got {rates}"
                )

    return check


def _lowering(one: _One, preloaded: bool) -> Callable[..., Any]:
    kinds = keywords_of(one.lowering)
    dynamic = [key for key, (kind, _) in kinds.items() if kind == Scalar]

    def lowering(*data: Any, **params: Any) -> Any:
        count = params.pop(one.number)
        each = {key: params.pop(many, None) for key, many in one.each.items()}
        if preloaded:
            each = {"lr": data[-2], "wd": data[-1]}
        shared = data[len(one.inputs) * count :][: len(one.shared)]
        weights: list[Any] = []
        new_states: list[Any] = []
        for i in range(count):
            group = one.group(data, i)
            # The weights need not have one dtype; the numbers come in the widest.
            given = {**{key: values[i] for key, values in each.items()}, **params}
            dtype = jnp.result_type(*group)
            numbers = {key: given[key].astype(dtype) for key in dynamic}
            stepped = one.lowering(*group, *shared, **{**given, **numbers})
            new, *moved = stepped if isinstance(stepped, tuple) else (stepped,)
            weights.append(new)
            new_states += moved
        return (*weights, *new_states)

    return lowering


#: What MXNet calls the parameters of which there is one for each weight.
_MEANINGS: Final = {
    "lr": "the learning rate of each weight",
    "wd": "the weight decay of each weight",
    "eta": "a factor of the whole step of each weight",
    "t": "how many steps each weight has taken, this one included",
}


def _doc(one: _One, preloaded: bool) -> str:
    last = "; then the learning rates and the weight decays, two arrays of shape (num_weights,)"
    if not preloaded:
        last = f"; then {', '.join(one.shared)}" if one.shared else ""
    rates = "".join(f"    {many}: {_MEANINGS[key]}.\n" for key, many in one.each.items())
    return (
        f"Updates several weights at once, each by {one.label}.\n\nArgs:\n"
        f"    data: for each weight {', '.join(one.inputs)}{last}.\n"
        f"{'' if preloaded else rates}    {one.number}: how many weights there are.\n"
    )


for _name in ("sgd_update", "sgd_mom_update", "mp_sgd_update", "mp_sgd_mom_update"):
    _several(f"multi_{_name}", _registered(_name), aliases=(f"_multi_{_name}",))
    _several(f"preloaded_multi_{_name}", _registered(_name), preloaded=True)
for _name in (
    *("nag_mom_update", "signsgd_update", "signum_update", "adam_update", "rmsprop_update"),
    *("rmspropalex_update", "ftrl_update", "_sparse_adagrad_update"),
    *("_decoupled_adam_update", "_lion_update"),
):
    _several(f"_multi_{_name.lstrip('_')}", _registered(_name))


_MOMENTS: Final = ("weight", "grad", "mean", "var")
_MIXED: Final = (*_MOMENTS, "weight32")


def _decoupled(name: str, of: str, inputs: Sequence[str]) -> None:
    each = {"lr": "lrs", "wd": "wds", "eta": "etas"}
    _several(name, _One(of, inputs, get(of).lowering, shared=("rescale_grad",), each=each))


_decoupled("_multi_adamw_update", "_adamw_update", _MOMENTS)
_decoupled("_multi_mp_adamw_update", "_mp_adamw_update", _MIXED)


def _lamb(
    weight: Any,
    grad: Any,
    mean: Any,
    var: Any,
    *,
    lr: Scalar,
    wd: Scalar,
    t: Scalar,
    beta1: Scalar = 0.9,
    beta2: Scalar = 0.999,
    epsilon: Scalar = 1e-6,
    rescale_grad: Scalar = 1.0,
    lower_bound: float = -1.0,
    upper_bound: float = -1.0,
    clip_gradient: float = -1.0,
    bias_correction: bool = True,
) -> Any:
    """LAMB (You et al., 2019): both halves, and the norms between them."""
    bounds = {"lower_bound": lower_bound, "upper_bound": upper_bound}
    return _lamb_step(
        (weight, grad, mean, var),
        weight,
        {"lr": lr, **bounds},
        wd=wd,
        t=t,
        beta1=beta1,
        beta2=beta2,
        epsilon=epsilon,
        rescale_grad=rescale_grad,
        clip_gradient=clip_gradient,
        bias_correction=bias_correction,
    )


def _lamb_step(arrays: Sequence[Any], measured: Any, scaling: Any, **params: Any) -> Any:
    """Takes a step of LAMB.

    Args:
        arrays: weight, gradient, mean and variance.
        measured: the array whose norm counts as the weight's.
        scaling: the parameters of the second half.
        params: those of the first.
    """
    step, mean, var = get("lamb_update_phase1").lowering(*arrays, **params)
    norms = [_norm(array).astype(step.dtype) for array in (measured, step)]
    return get("lamb_update_phase2").lowering(arrays[0], step, *norms, **scaling), mean, var


def _norm(array: Any) -> Any:
    """Returns the norm of all elements, (1,), summed in float32 at least."""
    return jnp.sqrt(jnp.square(array.astype(wide(array.dtype))).sum().reshape(1))


def _mixed_lamb(weight: Any, grad: Any, mean: Any, var: Any, weight32: Any, **params: Any) -> Any:
    scaling = {key: params.pop(key) for key in ("lr", "lower_bound", "upper_bound")}
    arrays = (weight32, grad.astype(weight32.dtype), mean, var)
    new, mean, var = _lamb_step(arrays, weight, scaling, **params)
    return new.astype(weight.dtype), mean, var, new


def _layerwise(name: str, label: str, inputs: Sequence[str], lowering: Callable[..., Any]) -> None:
    each = {"lr": "learning_rates", "wd": "wds", "t": "step_count"}
    _several(name, _One(label, inputs, lowering, each=each, number="num_tensors"))


_layerwise("_multi_lamb_update", "LAMB", _MOMENTS, _lamb)
_layerwise(
    "_multi_mp_lamb_update",
    "LAMB in mixed precision",
    _MIXED,
    signed(_mixed_lamb, _MIXED, keywords_of(_lamb)),
)
