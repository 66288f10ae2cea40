"""`Optimizer`: what every update rule shares, which is counting, rates, decay and precision.

A traced function (`hybridnet.tracing`) records an update once and runs it many times, so numbers
that change from step to step may not be computed where the update is recorded. The built-in
optimizers take them from `Optimizer.steps`, which asks for them at every run. An optimizer of your
own that computes with `_get_lr` and `_index_update_count` works in eager programs, as in MXNet; to
work in traced functions too, it uses `steps`.
"""

from __future__ import annotations

import functools
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final, NamedTuple, NoReturn, TypeAlias, TypedDict, TypeVar

from hybridnet import registry
from hybridnet.base.dtype import BFLOAT16, FLOAT16
from hybridnet.base.errors import MXNetError, ParameterError
from hybridnet.base.numpy_mode import mode
from hybridnet.ndarray import NDArray
from hybridnet.ndarray.internal import are_dense, zeros_of
from hybridnet.ops.core import registry as operators
from hybridnet.runtime.recording import recorder
from hybridnet.runtime.traces import host_scalars

from .mxnet_states import own_attributes

__all__ = [
    "ListOptimizer",
    "MomentumOptimizer",
    "Optimizer",
    "Step",
    "create",
    "is_low_precision",
    "register",
    "zeros_like",
]

_Class = TypeVar("_Class", bound="type[Optimizer]")

#: A weight's key: its position or its name.
Index = int | str
#: What `update` gets: those of one weight, or of several.
Indices: TypeAlias = Index | list[int] | list[str] | list[Index] | tuple[Index, ...]
#: What an optimizer remembers of a weight; of several weights a list.
State: TypeAlias = "NDArray | tuple[State, ...] | None"
States: TypeAlias = "State | list[State]"
#: A factor of the learning rate or the decay, by the key of a weight.
Multipliers: TypeAlias = Mapping[int, float] | Mapping[str, float] | Mapping[Index, float]
Arrays: TypeAlias = NDArray | list[NDArray] | tuple[NDArray, ...]

_OURS: Final = "hybridnet."
_LOW_PRECISION: Final = (FLOAT16, BFLOAT16)


class OptimizerOptions(TypedDict, total=False):
    """The keyword arguments that all optimizers take; see `Optimizer`."""

    rescale_grad: float
    param_idx2name: Mapping[int, str] | Mapping[str, str] | None
    wd: float
    clip_gradient: float | None
    lr_scheduler: Callable[[int], float] | None
    sym: Any
    begin_num_update: int
    multi_precision: bool
    param_dict: Mapping[Any, Any] | None


class RatedOptions(OptimizerOptions, total=False):
    """The same, of those whose learning rate is `Optimizer`'s by default."""

    learning_rate: float | None


class ScheduledRateError(ParameterError, UserWarning):
    """The learning rate was to be set, but a scheduler sets it."""


class Step(NamedTuple):
    """One weight's part of an update.

    Attributes:
        weight: to be overwritten.
        grad: its gradient, not rescaled yet; of the weight's shape and dtype.
        state: what `create_state` made for it.
        scalars: ``lr``, ``wd`` and ``rescale_grad``, to be passed on to an operator as they are:
            in a trace they stand for numbers that are not known yet.
    """

    weight: NDArray
    grad: NDArray
    state: Any
    scalars: dict[str, Any]


class Optimizer:
    """The base of optimizers; a subclass defines `create_state` and `update`.

    Args:
        rescale_grad: what gradients are multiplied by first; often 1 over the batch size.
        param_idx2name: the names of the weights by index. Weights whose name ends neither in
            ``_weight`` nor in ``_gamma`` then do not decay, unless `set_wd_mult` says so.
        wd: the weight decay: this much of the weight is added to its gradient.
        clip_gradient: the limit for the absolute value of each element of the rescaled gradient;
            None or 0 for no limit.
        learning_rate: default 0.01, or what `lr_scheduler` says. Given along with a scheduler it
            overwrites the scheduler's ``base_lr``, with a warning.
        lr_scheduler: gives the learning rate from the number of updates: an `LRScheduler`, or
            whatever can be called with that number.
        sym: a symbol whose variables' ``__lr_mult__`` and ``__wd_mult__`` attributes are heeded.
        begin_num_update: what the count of updates begins at, for resumed training.
        multi_precision: keep a float32 copy of each float16 or bfloat16 weight and update that.
        param_dict: parameters by index; their `lr_mult` and `wd_mult`, read at every update, take
            the place of the multipliers set here.

    Attributes:
        lr: the learning rate where there is no scheduler.
        num_update: the greatest number of updates that any one weight has had.
        aggregate_num: 0 if `update` takes one weight at a time; else it takes lists too.
        master_first: whether the float32 copy of a weight stands before the rest of its state.
        running: names of the numbers that an update changes in the optimizer itself, beside its
            counts; parameter servers keep them with the states.
        draws: whether an update draws random numbers.
        by_name: whether an update depends on the names of weights.
        elementwise: whether the update of an element depends on that element alone, so that
            parameter servers may divide a large weight; others they keep whole.

    Raises:
        ParameterError: `param_idx2name` is no dict, or `learning_rate` is given along with a
            scheduler that has no ``base_lr``.
    """

    master_first: ClassVar[bool] = True
    running: ClassVar[tuple[str, ...]] = ()
    draws: ClassVar[bool] = False
    by_name: ClassVar[bool] = False
    elementwise: ClassVar[bool] = False

    #: The registered classes by lower-case name.
    opt_registry: ClassVar[dict[str, type[Optimizer]]] = {}

    aggregate_num: int = 0

    def __init__(
        self,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[int, str] | Mapping[str, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        learning_rate: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        sym: Any = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Any, Any] | None = None,
    ) -> None:
        if param_idx2name is not None and not isinstance(param_idx2name, Mapping):
            raise ParameterError(
                f"{type(self).__name__}: param_idx2name must be a dict from a weight's index to "
                f"its name, got {param_idx2name!r}"
            )
        self.rescale_grad = rescale_grad
        self.lr_scheduler: Any = lr_scheduler
        self.lr = self._initial_lr(learning_rate, lr_scheduler)
        self.wd = wd
        self.clip_gradient = clip_gradient
        self.multi_precision = multi_precision
        self.begin_num_update = begin_num_update
        self.num_update = begin_num_update
        self._device = 0
        self._all_index_update_counts: dict[int, dict[Index, int]] = {0: {}}
        self.idx2name: dict[Any, str] = dict(param_idx2name or {})
        self.param_dict = dict(param_dict or {})
        # Whether arrays of NumPy's semantics are updated as such, which they always are.
        self.allow_np_array = mode.array
        self.sym_info = () if sym is None else (sym.attr_dict(), sym.list_arguments())
        self.lr_mult: dict[Any, float] = {}
        self.wd_mult: dict[Any, float] = {}
        self.set_lr_mult({})
        self.set_wd_mult({})

    @staticmethod
    def _initial_lr(learning_rate: float | None, scheduler: Any) -> float:
        base = getattr(scheduler, "base_lr", None)
        if learning_rate is None:
            return 0.01 if base is None else base
        if scheduler is None or learning_rate == base:
            return learning_rate
        if not hasattr(scheduler, "base_lr"):
            raise ParameterError(
                "lr_scheduler: a scheduler given along with learning_rate requires a base_lr, "
                f"which learning_rate overwrites, got {scheduler!r}; leave learning_rate out"
            )
        if base is not None:  # None is a scheduler's that waits for its optimizer's
            warnings.warn(
                f"the optimizer's learning_rate {learning_rate} overwrites the scheduler's "
                f"base_lr {base}; give both the same number",
                stacklevel=4,
            )
        scheduler.base_lr = learning_rate
        return learning_rate

    # -- the registry ------------------------------------------------------------------------

    @staticmethod
    def register(klass: _Class) -> _Class:
        """Registers a class under its own name in lower case; a class decorator.

        Raises:
            ParameterError: it is no optimizer, or another one has the name.
        """
        _register(klass)
        Optimizer.opt_registry[klass.__name__.lower()] = klass
        return klass

    @staticmethod
    def create_optimizer(name: str, **kwargs: Any) -> Optimizer:
        """Makes an optimizer by its registered name: ``create('sgd', learning_rate=0.1)``.

        Args:
            name: in any case.
            kwargs: what the class takes.

        Raises:
            ParameterError: no optimizer has the name.
            TypeError: the optimizer takes no such argument.
        """
        made: Optimizer = _create(name, **kwargs)
        return made

    # -- what a subclass defines -------------------------------------------------------------

    def create_state(self, index: Index, weight: NDArray) -> State:
        """Returns the state for a weight before the first update.

        Args:
            index: the weight's key.
            weight: the weight.

        Returns:
            None, an array, or a tuple of these.
        """
        return None

    def update(self, index: Index, weight: NDArray, grad: NDArray, state: Any) -> None:
        """Overwrites a weight and its state by one step.

        Args:
            index: the weight's key.
            weight: the weight.
            grad: its gradient; of its shape and dtype.
            state: what `create_state` made.
        """
        raise NotImplementedError(f"{type(self).__name__} must define update()")

    # -- precision ---------------------------------------------------------------------------

    def create_state_multi_precision(self, index: Index, weight: NDArray) -> State:
        """Returns the state for `update_multi_precision`.

        Returns:
            ``(float32 copy of the weight, state)`` where one is kept (the other way around where
            `master_first` is False), else the state.
        """
        if is_low_precision(weight):
            if self.multi_precision:
                master = weight.astype("float32")
                state = self.create_state(index, master)
                return (master, state) if self.master_first else (state, master)
            warnings.warn(
                f"the weight {self.idx2name.get(index, index)!r} is {weight.dtype.__name__}, in "
                "which small updates are lost; multi_precision=True keeps a float32 copy to update",
                stacklevel=3,
            )
        return self.create_state(index, weight)

    def update_multi_precision(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """As `update`, but low-precision weights are updated through their float32 copies."""
        if not self.multi_precision:
            self.update(index, weight, grad, state)
            return
        together = isinstance(index, (list, tuple))
        weights, grads, states = (weight, grad, state) if together else ([weight], [grad], [state])
        low = [is_low_precision(w) for w in weights]
        at, other = (0, 1) if self.master_first else (1, 0)
        masters = [
            s[at] if is_low else w for w, s, is_low in zip(weights, states, low, strict=True)
        ]
        grads = [g.astype("float32") if is_low else g for g, is_low in zip(grads, low, strict=True)]
        states = [s[other] if is_low else s for s, is_low in zip(states, low, strict=True)]
        if together:
            update_all: Callable[..., None] = self.update
            update_all(index, masters, grads, states)
        else:
            self.update(index, masters[0], grads[0], states[0])
        for w, master, is_low in zip(weights, masters, low, strict=True):
            if is_low:
                w.assign(master)

    # -- numbers -----------------------------------------------------------------------------

    @property
    def rescale_grad(self) -> float:
        """The factor that gradients are multiplied by first."""
        return self._rescale_grad

    @rescale_grad.setter
    def rescale_grad(self, value: float) -> None:
        self._rescale_grad = value
        # Set inside a traced function (from the batch size), it belongs to that trace, and is not
        # to be changed by another trace of the function for a batch of another size.
        trace = recorder.thread.trace
        self._rescale_trace = None if trace is None else weakref.ref(trace)

    @property
    def learning_rate(self) -> float:
        """The learning rate now, before multipliers."""
        return self.lr if self.lr_scheduler is None else self.lr_scheduler(self.num_update)

    def set_learning_rate(self, lr: float) -> None:
        """Sets the learning rate.

        Raises:
            ScheduledRateError: there is a scheduler, which would overrule it.
        """
        if self.lr_scheduler is not None:
            raise ScheduledRateError(
                "set_learning_rate: requires an optimizer without lr_scheduler; "
                "set the scheduler's base_lr instead"
            )
        self.lr = lr

    def set_lr_mult(self, args_lr_mult: Multipliers) -> None:
        """Sets multipliers of the learning rate by index or name, over those of the symbol."""
        self.lr_mult = {**self._symbol_mults("__lr_mult__"), **args_lr_mult}

    def set_lr_scale(self, args_lrscale: Multipliers) -> NoReturn:
        """Is gone, as in MXNet: `set_lr_mult` took its place.

        Raises:
            MXNetError: always.
        """
        raise MXNetError(
            f"{type(self).__name__}: set_lr_scale was replaced by set_lr_mult, which takes the "
            f"same dict, got {args_lrscale!r}"
        )

    def set_wd_mult(self, args_wd_mult: Multipliers) -> None:
        """Sets multipliers of the weight decay by index or name.

        They come over those of the symbol, and these over the rule for names (`param_idx2name`).
        """
        names = self.idx2name.values()
        exempt = [name for name in names if not name.endswith(("_weight", "_gamma"))]
        symbol_mults = self._symbol_mults("__wd_mult__")
        self.wd_mult = {**dict.fromkeys(exempt, 0.0), **symbol_mults, **args_wd_mult}

    def _symbol_mults(self, key: str) -> dict[str, float]:
        if not self.sym_info:
            return {}
        attrs, names = self.sym_info
        return {name: float(attrs[name][key]) for name in names if key in attrs.get(name, ())}

    def _multipliers(
        self, indices: Sequence[Index], mults: Mapping[Any, float], attribute: str
    ) -> list[float]:
        """Returns the multipliers of weights: a parameter's own, else by index, else by name."""
        params, found = self.param_dict, []
        for index in indices:  # asked at each step, of all weights: a loop that calls nothing
            if index in params:
                found.append(getattr(params[index], attribute))
            elif index in mults:
                found.append(mults[index])
            else:
                found.append(mults.get(self.idx2name.get(index), 1.0))
        return found

    def _get_lrs(self, indices: Sequence[Index]) -> list[float]:
        """Returns the learning rates of weights; asks the scheduler once."""
        lr = self.learning_rate
        return [lr * factor for factor in self._multipliers(indices, self.lr_mult, "lr_mult")]

    def _get_lr(self, index: Index) -> float:
        """Returns the learning rate of a weight."""
        return self._get_lrs([index])[0]

    def _get_wds(self, indices: Sequence[Index]) -> list[float]:
        """Returns the weight decays of weights."""
        wd = self.wd
        return [wd * factor for factor in self._multipliers(indices, self.wd_mult, "wd_mult")]

    def _get_wd(self, index: Index) -> float:
        """Returns the weight decay of a weight."""
        return self._get_wds([index])[0]

    # -- counting ----------------------------------------------------------------------------

    @property
    def _index_update_count(self) -> dict[Index, int]:
        """The number of updates of each weight of the present device."""
        return self._all_index_update_counts[self._device]

    def _set_current_context(self, device_id: int) -> None:
        """Chooses whose counts are kept from now on, where one optimizer serves several devices."""
        self._all_index_update_counts.setdefault(device_id, {})
        self._device = device_id

    def _update_count(self, index: Indices) -> None:
        """Counts an update of a weight, or of each of a list of them."""
        counts = self._all_index_update_counts[self._device]
        before, latest = self.begin_num_update, self.num_update
        for key in index if isinstance(index, (list, tuple)) else [index]:
            count = counts[key] = counts.get(key, before) + 1
            if count > latest:
                latest = count
        self.num_update = latest

    # -- the steps of an update --------------------------------------------------------------

    def _effective_lrs(self, indices: Sequence[Index], lrs: list[float]) -> list[float]:
        """Returns the rates that the operators are given, from the scheduled ones.

        A subclass corrects for bias here; ``self._index_update_count[index]`` is the step, from 1.
        """
        return lrs

    def _step_scalars(self, indices: tuple[Index, ...]) -> list[float]:
        """Counts an update, and returns its numbers: rescale_grad, rates, and decays."""
        self._update_count(indices)
        if type(self)._get_lr is Optimizer._get_lr:
            rates = self._get_lrs(indices)
        else:  # a class of the user's says it of one weight, as it does in MXNet
            rates = [self._get_lr(index) for index in indices]
        rates = self._effective_lrs(indices, rates)
        if type(self)._get_wd is Optimizer._get_wd:
            decays = self._get_wds(indices)
        else:
            decays = [self._get_wd(index) for index in indices]
        return [self._rescale_grad, *rates, *decays]

    def step_numbers(self, indices: Sequence[Index]) -> tuple[Any, list[Any], list[Any]]:
        """Counts an update of weights and returns its numbers, as operators take them.

        Returns:
            The factor of the gradients, and for each weight the learning rate and the decay.
        """
        count = len(indices)
        source = functools.partial(self._step_scalars, tuple(indices))
        rescale, *numbers = host_scalars(source, 1 + 2 * count)
        if self._rescale_trace is not None and self._rescale_trace() is recorder.current_trace():
            rescale = float(self._rescale_grad)
        return rescale, numbers[:count], numbers[count:]

    def steps(self, index: Indices, weight: Any, grad: Any, state: Any) -> Iterator[Step]:
        """Counts an update and gives the steps to take.

        Args:
            index, weight, grad, state: as `update` gets them: of one weight, or lists.
        """
        if not isinstance(index, (list, tuple)):
            index, weight, grad, state = [index], [weight], [grad], [state]
        rescale, rates, decays = self.step_numbers(index)
        for w, g, s, lr, wd in zip(weight, grad, state, rates, decays, strict=True):
            yield Step(w, g, s, {"lr": lr, "wd": wd, "rescale_grad": rescale})

    def update_counts(self, index: Indices) -> list[Any]:
        """Returns which update of each weight is being made, from 1, as operators take it.

        Args:
            index: as `update` got it, after `steps` has counted.
        """
        indices = tuple(index) if isinstance(index, (list, tuple)) else (index,)
        return list(host_scalars(functools.partial(self._counts_of, indices), len(indices)))

    def _counts_of(self, indices: Sequence[Index]) -> list[float]:
        return [float(self._index_update_count[index]) for index in indices]

    def _clip_parameter(self) -> float:
        """Returns `clip_gradient` as the operators want it: negative for no limit."""
        return float(self.clip_gradient) if self.clip_gradient else -1.0

    def _numbers(self, *names: str) -> dict[str, Any]:
        """Returns attributes as an operator's parameters of the same names, with the limit."""
        numbers = {name: float(getattr(self, name)) for name in names}
        return {**numbers, "clip_gradient": self._clip_parameter()}

    def check_servers(self) -> None:
        """Raises an error if parameter servers cannot make this optimizer's updates.

        They keep the states of weights, and nothing else that updates leave behind.

        Raises:
            ParameterError: they cannot.
        """

    # -- copies ------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        # The parameters belong to whoever trains; they are given anew to a restored optimizer.
        return {**self.__dict__, "param_dict": {}, "_rescale_trace": None}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        """Becomes the optimizer whose ``__getstate__`` gave this state, ours or MXNet's."""
        own = own_attributes(state) if "rescale_grad" in state else state
        self.__dict__.update({"_device": 0, **own}, param_dict={}, _rescale_trace=None)


_register = registry.get_register_func(Optimizer, "optimizer")
_create = registry.get_create_func(Optimizer, "optimizer")

register = Optimizer.register
create = Optimizer.create_optimizer


class ListOptimizer(Optimizer):
    """The base of the optimizers here, whose `update` takes lists, too.

    Attributes:
        num_states: how many arrays of zeros, of its shape and dtype, are remembered of a weight.
    """

    aggregate_num = 4
    elementwise = True
    num_states: int = 0

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        is_ours = cls.__module__.startswith(_OURS)
        if "update" in vars(cls) and "aggregate_num" not in vars(cls) and not is_ours:
            cls.aggregate_num = 0  # a user's `update` is called for one weight, as by MXNet

    def create_state(self, index: Index, weight: NDArray) -> State:
        """Returns the state for a weight: zeros like it; None where there is none."""
        return tuple(zeros_like(weight) for _ in range(self.num_states)) or None

    def _apply(
        self, name: str, index: Any, weight: Any, grad: Any, state: Any, **numbers: Any
    ) -> None:
        """Updates by the operator for one weight, or several dense ones by the one for several.

        To record an operator takes some microseconds, and a step has one for each weight.

        Args:
            name: the operator for one, which takes weight, gradient and states.
            index, weight, grad, state: as `update` gets them.
            numbers: its parameters, but for the rate, the decay and the gradients' factor.
        """
        arrays: list[NDArray] = []
        if isinstance(index, (list, tuple)) and len(index) > 1:
            for w, g, s in zip(weight, grad, state, strict=True):
                arrays += (w, g)
                if s is not None:
                    arrays += s if isinstance(s, tuple) else (s,)
        if not (arrays and are_dense(frozenset(map(type, arrays)))):
            op = operators.get(name)
            for w, g, s, scalars in self.steps(index, weight, grad, state):
                NDArray.apply_operator(op, (w, g, *_states(s)), {**numbers, **scalars}, out=w)
            return
        rescale, rates, decays = self.step_numbers(index)
        numbers.pop("lazy_update", None)
        NDArray.apply_operator(
            operators.REGISTRY[f"_multi_{name.lstrip('_')}"],
            arrays,
            {
                **numbers,
                "lrs": tuple(rates),
                "wds": tuple(decays),
                "rescale_grad": rescale,
                "num_weights": len(weight),
            },
            out=weight,
        )


def _states(state: Any) -> Sequence[NDArray]:
    """The arrays of a weight's state."""
    return () if state is None else state if isinstance(state, tuple) else (state,)


class MomentumOptimizer(ListOptimizer):
    """The base of those whose state is a momentum, or None where `momentum` is 0.

    Attributes:
        plain: the operator that updates a weight without one.
        with_momentum: the one that updates it with one.
    """

    momentum: float
    plain: ClassVar[str]
    with_momentum: ClassVar[str]

    def _step(
        self, index: Any, weight: Any, grad: Any, state: Any, common: Any, momentum: Any
    ) -> None:
        """Updates each weight by the one operator or the other.

        Args:
            index, weight, grad, state: as `update` gets them.
            common: parameters of both.
            momentum: further ones of `with_momentum`.
        """
        kinds = {s is None for s in (state if isinstance(index, (list, tuple)) else [state])}
        if len(kinds) > 1:  # `momentum` was changed before some of them were seen
            for one in zip(index, weight, grad, state, strict=True):
                self._step(*one, common, momentum)
        elif True in kinds:
            self._apply(self.plain, index, weight, grad, state, **common)
        else:
            momentum = {"momentum": float(self.momentum), **momentum}
            self._apply(self.with_momentum, index, weight, grad, state, **common, **momentum)

    def create_state(self, index: Index, weight: NDArray) -> NDArray | None:
        """Returns the momentum, zeros of the weight's shape and dtype; None if there is none."""
        return zeros_like(weight) if self.momentum else None


def is_low_precision(weight: NDArray) -> bool:
    """Whether updates of this weight lose much to rounding: float16 and bfloat16."""
    return weight.inferred_dtype in _LOW_PRECISION


def zeros_like(weight: NDArray) -> NDArray:
    """Returns zeros of a weight's shape, dtype and context, without reading the weight."""
    return zeros_of(weight.shape, weight.context, weight.dtype)
