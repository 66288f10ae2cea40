"""`Parameter`: an array that is learned, on one device or several, and its gradient."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, Final, TypedDict

import numpy as np

from hybridnet import autograd, initializer, ndarray, symbol
from hybridnet.base.array_owners import owns_arrays
from hybridnet.base.array_types import ArrayLike, DTypeLike
from hybridnet.base.context import Context, cpu, current_context
from hybridnet.base.dtype import as_dtype
from hybridnet.base.errors import MXNetError, ParameterError, RefusedError, ShapeError
from hybridnet.base.mesh import Mesh
from hybridnet.base.numpy_mode import mode
from hybridnet.base.placement import Placement
from hybridnet.initializer.base import InitLike
from hybridnet.ndarray import NDArray
from hybridnet.runtime.recording import Value
from hybridnet.runtime.traces import init_scope
from hybridnet.symbol import Symbol

from . import _changes as changes
from ._parameter_names import PrivateNames

UNIFORM: Final = initializer.Uniform(0.07)

_REQUESTS: Final = ("write", "add", "null")
_STORAGES: Final = ("default", "row_sparse", "csr")
#: What `attr` of a parameter's variable says about its storage, as MXNet's files have it.
_STORAGE_CODES: Final = {"default": "0", "row_sparse": "1", "csr": "2"}


class ParameterOptions(TypedDict, total=False):
    """The keyword arguments of `Parameter`, by which `ParameterDict.get` makes one."""

    grad_req: str
    shape: int | Sequence[int] | None
    dtype: DTypeLike
    lr_mult: float
    wd_mult: float
    init: InitLike | None
    allow_deferred_init: bool
    differentiable: bool
    stype: str
    grad_stype: str


class DeferredInitializationError(MXNetError):
    """A parameter was asked for before its shape was known: nothing has been run through yet."""


#: Makes an array of zeros of the shape, the dtype and the context of another.
Zeros = Callable[[NDArray], NDArray]


#: A placement, or what gives one for a shape.
PlacementOf = Placement | Callable[[tuple[int, ...]], Placement]


def _for_shape(placement: PlacementOf | None, shape: tuple[int, ...]) -> Placement:
    return (placement(shape) if callable(placement) else placement) or {}


def contexts_of(ctx: Context | Sequence[Context] | None) -> list[Context]:
    """Returns contexts as a list; None stands for the current one."""
    if ctx is None:
        return [current_context()]
    contexts = [ctx] if isinstance(ctx, Context) else list(dict.fromkeys(ctx))
    if not contexts or not all(isinstance(context, Context) for context in contexts):
        raise ParameterError(
            f"ctx must be a context, such as cpu(0), or some in a list, got {ctx!r}"
        )
    return contexts


def _as_shape(name: str, shape: int | Sequence[int]) -> tuple[int, ...]:
    """Returns the sizes of a parameter as plain numbers."""
    sizes = tuple(shape) if isinstance(shape, Sequence) else (shape,)
    if all(hasattr(size, "__index__") and size >= -1 for size in sizes):
        return tuple(max(size.__index__(), 0) for size in sizes)
    raise ParameterError(
        f"Parameter {name!r}: shape must be whole numbers, 0 or -1 where the size is not known "
        f"yet, got {shape!r}"
    )


def is_known(shape: tuple[int, ...] | None) -> bool:
    """Whether a shape has no unknown dimension."""
    return shape is not None and all(size > 0 for size in shape)


@owns_arrays
class Parameter(PrivateNames):
    """An array that is learned.

    Args:
        name: unique in its `ParameterDict`.
        grad_req: 'write' (each backward pass replaces the gradient), 'add' (it adds to it) or
            'null' (there is none, and the parameter is not learned).
        shape: 0 stands for a dimension that the first input decides.
        dtype: the element type.
        lr_mult, wd_mult: factors on the optimizer's learning rate and weight decay.
        init: its own initializer; default that given to `initialize`.
        allow_deferred_init: wait with initialization until the shape is known.
        differentiable: False for statistics, which no optimizer touches.
        stype: the storage of the value, 'default' (dense), 'row_sparse' or 'csr'. Of a row-sparse
            value a store holds all of it, which a `Trainer` brings, and users ask for rows.
        grad_stype: the storage of the gradient, one of these.

    Attributes:
        name, lr_mult, wd_mult, init, stype, grad_stype: as given.
        times_set: how often it got a value from elsewhere than a `Trainer`.
        lies: how it lies on meshes; see `place`.
        used: how layers get it there, if that is another.
    """

    def __init__(
        self,
        name: str,
        grad_req: str = "write",
        shape: int | Sequence[int] | None = None,
        dtype: DTypeLike = np.float32,
        lr_mult: float = 1.0,
        wd_mult: float = 1.0,
        init: InitLike | None = None,
        allow_deferred_init: bool = False,
        differentiable: bool = True,
        stype: str = "default",
        grad_stype: str = "default",
    ) -> None:
        for what, kind in (("stype", stype), ("grad_stype", grad_stype)):
            if kind not in _STORAGES:
                raise RefusedError(
                    f"Parameter {name!r}: {what} must be one of {_STORAGES}, got {kind!r}"
                )
        self.name = name
        self.stype = stype
        self.grad_stype = grad_stype
        self.lr_mult = lr_mult
        self.wd_mult = wd_mult
        self.init = init
        self._take_dtype(dtype)
        self._shape = None if shape is None else _as_shape(name, shape)
        self._allow_deferred_init = allow_deferred_init
        self._differentiable = differentiable
        self._values: dict[Context, NDArray] = {}
        self.times_set = 0
        # What initialization has to do once the shape is known: initializer, contexts.
        self._deferred: tuple[Any, list[Context]] | None = None
        # The gradients that are of no use, on each context: as made, or used by an update.
        self._used: list[weakref.ref[Value]] = []
        self._grad_req = "null"
        self._trained_by: weakref.ref[Any] | None = None
        self._var: tuple[dict[str, Any], Symbol] | None = None
        self.lies: PlacementOf | None = None
        self.used: PlacementOf | None = None
        self.grad_req = grad_req

    def __repr__(self) -> str:
        return f"{type(self).__name__} {self.name} (shape={self.shape}, dtype={self.dtype})"

    def __getstate__(self) -> dict[str, Any]:
        """Returns the state for a copy or pickle: everything but gradients."""
        return {**vars(self), "_used": [], "_var": None, "_trained_by": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._attach()

    @property
    def grad_req(self) -> str:
        """'write', 'add' or 'null'; always 'null' for what is not differentiable."""
        return self._grad_req

    @grad_req.setter
    def grad_req(self, req: str) -> None:
        if req not in _REQUESTS:
            raise ParameterError(
                f"Parameter {self.name!r}: grad_req must be 'write', 'add' or 'null', got {req!r}"
            )
        req = req if self._differentiable else "null"
        if req == self._grad_req:
            return
        self._grad_req = req
        self._attach()

    @property
    def dtype(self) -> DTypeLike:
        """The element type as it was given ('float16' stays text); float32 for None."""
        return self._given_dtype

    @dtype.setter
    def dtype(self, dtype: DTypeLike) -> None:
        self.cast(dtype)

    @property
    def shape(self) -> tuple[int, ...] | Any:
        """The dimensions; for one not known yet 0, or -1 where shapes are read as NumPy does."""
        if self._shape is None or not mode.shape:
            return self._shape
        return tuple(size or -1 for size in self._shape)

    @shape.setter
    def shape(self, shape: int | Sequence[int]) -> None:
        new = _as_shape(self.name, shape)
        if not self._fits(new):
            raise ShapeError(
                f"Parameter {self.name!r}: shape must agree with {self._shape}, got {new}"
            )
        self._shape = new

    def _fits(self, shape: tuple[int, ...]) -> bool:
        """Whether a shape fills in the unknown dimensions and leaves the others."""
        own = self._shape
        return own is None or (
            len(own) == len(shape) and all(a in (0, b) for a, b in zip(own, shape, strict=True))
        )

    # -- values ------------------------------------------------------------------------------

    def initialize(
        self,
        init: InitLike | None = None,
        ctx: Context | Sequence[Context] | None = None,
        default_init: InitLike | None = UNIFORM,
        force_reinit: bool = False,
    ) -> None:
        """Gives the parameter its first value.

        Args:
            init: an initializer or its name; default the parameter's own, then `default_init`.
            ctx: one context or several; default the current one.
            default_init: used where neither `init` nor the parameter's own is given.
            force_reinit: initialize again where it has a value; else a value is left as it is.

        Raises:
            ParameterError: its shape is unknown and it may not wait.
        """
        if self._values and not force_reinit:
            return
        if not is_known(self._shape) and not self._allow_deferred_init:
            raise ParameterError(
                f"Parameter {self.name!r}: cannot be initialized with the unknown shape "
                f"{self._shape}; give its sizes, or allow_deferred_init=True"
            )
        chosen = init if init is not None else self.init
        chosen = initializer.create(default_init if chosen is None else chosen)
        contexts = contexts_of(ctx)
        self._values = {}
        self._deferred = (chosen, contexts)
        changes.note()
        if is_known(self._shape):
            self.finish_deferred_init()

    def initialize_with(self, data: NDArray, ctx: Context | Sequence[Context] | None) -> None:
        """Gives the parameter its first value, which is known.

        Args:
            data: the value, of its dtype.
            ctx: one context or several; default the current one.
        """
        self.shape = data.shape
        with autograd.pause(), init_scope():
            self._set_all(data, contexts_of(ctx))
        self._deferred = None

    def take_over(
        self,
        place: Callable[[Context], NDArray],
        ctx: Context | Sequence[Context] | None,
        zeros: Zeros,
    ) -> None:
        """Gives the parameter its first value in arrays that nobody else holds, without a copy.

        Args:
            place: makes the array for a context, of the parameter's shape and dtype.
            ctx: one context or several; default the current one.
            zeros: makes the gradient that a value has before there is one.
        """
        with autograd.pause(), init_scope():
            self._values = {one: place(one) for one in contexts_of(ctx)}
            self.times_set += 1
            self._attach(zeros)
        self._deferred = None
        changes.note()

    @property
    def is_initialized(self) -> bool:
        """Whether it has a value."""
        return bool(self._values)

    @property
    def is_deferred(self) -> bool:
        """Whether initialization waits for the shape."""
        return self._deferred is not None

    def finish_deferred_init(self) -> None:
        """Makes the value, now that the shape is known; does nothing where there is one."""
        if self._deferred is None:
            return
        shape = self._shape
        if shape is None or not is_known(shape):
            raise ShapeError(
                f"Parameter {self.name!r}: its shape {shape} could not be found from the input"
            )
        chosen, contexts = self._deferred
        # Parameters outlive the trace in which the first input may arrive.
        with autograd.pause(), init_scope():
            data = ndarray.empty(shape, cpu(), self._dtype)
            # What is named for one array fills it as it is, whatever its name ends in.
            chosen(initializer.InitDesc(self.name, {"__init__": chosen}), data)
            self._set_all(data, contexts)
        self._deferred = None

    _finish_deferred_init = finish_deferred_init  # MXNet's name, which packages use

    def _set_all(self, data: NDArray, contexts: Sequence[Context]) -> None:
        if data.stype != self.stype:
            data = data.tostype(self.stype)
        if mode.array and self.stype == "default":
            data = data.as_np_ndarray()
        self._values = {ctx: self._copied(data, ctx) for ctx in contexts}
        self.times_set += 1
        self._attach()
        changes.note()

    def _copied(self, data: NDArray, ctx: Context) -> NDArray:
        if isinstance(ctx, Mesh) and not isinstance(data.context, Mesh):
            return ndarray.array(data, ctx, placement=self.placement_of(data.shape))
        return self._placed(data.copyto(ctx))

    def place(
        self,
        mesh: Mesh,
        placement: PlacementOf | None,
        used: PlacementOf | None = None,
    ) -> None:
        """Places the value on a mesh, with its gradient and the optimizer's states.

        Args:
            mesh: where the value is from now on, if there is one, or will be.
            placement: see `NDArray.to_placement`; or a function that returns one for a shape.
            used: how layers get it to compute with, if that is another.

        Raises:
            ParameterError: it cannot lie so.
        """
        self.lies, self.used = placement, used
        known = self.is_initialized or self.is_deferred
        if known and self.list_ctx() != [mesh]:
            self.reset_ctx(mesh)
            return
        with autograd.pause(), init_scope():
            self._values = {ctx: self._placed(x.detach()) for ctx, x in self._values.items()}
        self.times_set += 1
        self._attach()
        changes.note()

    def placement_of(self, shape: tuple[int, ...]) -> Placement:
        """Returns how a value of some shape lies on a mesh."""
        return _for_shape(self.lies, shape)

    def _placed(self, data: NDArray) -> NDArray:
        if not isinstance(data.context, Mesh):
            return data
        return data.to_placement(self.placement_of(data.shape))

    def as_used(self, data: NDArray) -> NDArray:
        """Returns the value on a mesh as layers compute with it; see `place`."""
        if self.used is None:
            return data
        return data.to_placement(_for_shape(self.used, data.shape))

    def named_arrays(self) -> list[tuple[str, NDArray]]:
        """Returns the values and gradients that there are, each with a name."""
        found = []
        for array in list(self._values.values()):
            found.append((self.name, array))
            grad = array.grad
            if grad is not None:
                found.append((f"gradient of {self.name}", grad))
        return found

    def _attach(self, zeros: Zeros | None = None) -> None:
        """Gives the values gradients, zeros, as `grad_req` says."""
        with init_scope():
            for array in self._values.values():
                if self._grad_req == "null":
                    array.set_edge(None)
                    continue
                if zeros is None or self.grad_stype != "default":
                    array.attach_grad(self._grad_req, self.grad_stype)
                else:
                    array.mark_variable(zeros(array), self._grad_req)
        self.note_grads_used()
        changes.note()

    def _check(self, ctx: Context | None) -> None:
        if self._values:
            if ctx is None or ctx in self._values:
                return
            raise MXNetError(
                f"Parameter {self.name!r} was not initialized on {ctx}; it is on "
                f"{', '.join(map(str, self._values))}"
            )
        if self._deferred is not None:
            raise DeferredInitializationError(
                f"Parameter {self.name!r} has no value yet, because its shape is not known; run "
                "some input through the network first"
            )
        raise MXNetError(
            f"Parameter {self.name!r} has not been initialized; call initialize() on it or on the "
            "block (collect_params().initialize() reaches children too)"
        )

    def data(self, ctx: Context | None = None) -> NDArray:
        """Returns the value on a context.

        Args:
            ctx: default the current context where the parameter is on several.

        Raises:
            DeferredInitializationError: its shape is not known yet.
            MXNetError: it is not initialized, or not on this context.
        """
        if self.stype != "default":
            raise self._not_whole("data", "row_sparse_data(row_id)")
        found = None if ctx is None else self._values.get(ctx)
        return self._value_on(ctx) if found is None else found

    def list_data(self) -> list[NDArray]:
        """Returns the value on each of its contexts."""
        if self.stype != "default":
            raise self._not_whole("list_data", "list_row_sparse_data(row_id)")
        return self.list_values()

    def list_values(self) -> list[NDArray]:
        """Returns the arrays that hold the value, of whatever storage, for updates of them."""
        self._check(None)
        return list(self._values.values())

    def _value_on(self, ctx: Context | None) -> NDArray:
        if ctx is not None:
            found = self._values.get(ctx)
            if found is not None:
                return found
        elif len(self._values) == 1:
            return next(iter(self._values.values()))
        else:
            ctx = current_context()
        self._check(ctx)
        return self._values[ctx]

    def _not_whole(self, asked: str, instead: str) -> MXNetError:
        return MXNetError(
            f"Parameter {self.name!r}: {asked} requires a dense value, got one of storage "
            f"{self.stype!r}; use {instead}"
        )

    def row_sparse_data(self, row_id: NDArray) -> NDArray:
        """Returns rows of a row-sparse value on the context of `row_id`, as they are now.

        Args:
            row_id: which rows, any numbers in any order.

        Raises:
            MXNetError: the value is not row-sparse, or no `Trainer` was made with the parameter.
        """
        return self._rows("row_sparse_data", row_id, [row_id.context])[0]

    def list_row_sparse_data(self, row_id: NDArray) -> list[NDArray]:
        """Returns rows of a row-sparse value on each of its contexts; see `row_sparse_data`."""
        return self._rows("list_row_sparse_data", row_id, self.list_ctx())

    def _rows(self, asked: str, rows: NDArray, contexts: Sequence[Context]) -> list[NDArray]:
        if self.stype != "row_sparse":
            raise MXNetError(
                f"Parameter {self.name!r}: {asked} requires a row_sparse value, got one of storage "
                f"{self.stype!r}; use {asked.replace('row_sparse_', '')}()"
            )
        trainer = self._trainer
        if trainer is None:
            raise MXNetError(
                f"Parameter {self.name!r}: {asked} requires a Trainer, whose store holds the rows; "
                "make one with this parameter first"
            )
        found = [self._value_on(ctx) for ctx in contexts]
        with autograd.pause():
            trainer.pull_rows(self, found, rows)
        return found

    def reduced(self) -> NDArray:
        """Returns the mean over all contexts, on the first CPU; of sparse values all rows."""
        if self.stype != "default":
            first = self.list_values()[0]
            if self.stype == "row_sparse" and self._trainer is not None:
                every = ndarray.arange(first.shape[0], ctx=first.context, dtype="int64")
                first = self.row_sparse_data(every)
            return first.detach().as_in_context(cpu())
        values = [array.detach().as_in_context(cpu()) for array in self.list_data()]
        return values[0] if len(values) == 1 else ndarray.add_n(*values) / len(values)

    @property
    def _trainer(self) -> Any:
        """The trainer that updates it; None: there is none, or no more."""
        return None if self._trained_by is None else self._trained_by()

    @_trainer.setter
    def _trainer(self, trainer: Any) -> None:
        self._set_trainer(trainer)

    def _set_trainer(self, trainer: Any) -> None:
        """Notes which trainer updates it.

        Raises:
            MXNetError: another does, whose store holds the rows of a sparse value.
        """
        held = self.stype != "default" and trainer is not None
        if held and self._trainer not in (None, trainer):
            raise MXNetError(
                f"Parameter {self.name!r}: a value of storage {self.stype!r} is held by one "
                "Trainer, and it has one"
            )
        self._trained_by = None if trainer is None else weakref.ref(trainer)

    def _check_and_get(
        self, arr_list: list[NDArray] | None, ctx: Any
    ) -> NDArray | list[NDArray] | None:
        """Returns the one of `_data` or `_grad` on a context, as subclasses of MXNet's ask for it.

        Args:
            arr_list: `_data` or `_grad`.
            ctx: a context; None for the current one where there are several; `list` for all.
        """
        if arr_list is None:
            self._check(None)
        if ctx is list:
            return arr_list
        here = self._value_on(ctx).context
        return next(array for array in arr_list or () if array.context == here)

    def grad(self, ctx: Context | None = None) -> NDArray:
        """Returns the gradient on a context.

        Raises:
            MXNetError: the parameter has none, because its grad_req is 'null'.
        """
        found = self._value_on(ctx).grad
        if found is None:
            raise MXNetError(f"Parameter {self.name!r} has no gradient: its grad_req is 'null'")
        return found

    def list_grad(self) -> list[NDArray]:
        """Returns the gradient on each of its contexts."""
        self._check(None)
        grads = [array.grad for array in self._values.values()]
        return [
            self.grad(ctx) if grad is None else grad
            for ctx, grad in zip(self._values, grads, strict=True)
        ]

    def list_ctx(self) -> list[Context]:
        """Returns the contexts it is, or will be, on."""
        if not self._values and self._deferred is not None:
            return list(self._deferred[1])
        self._check(None)
        return list(self._values)

    def set_data(self, data: ArrayLike | NDArray) -> None:
        """Sets the value on every context.

        Args:
            data: an NDArray or what `nd.array` takes, of the parameter's shape; cast to its dtype.

        Raises:
            ShapeError: the shape is another.
            MXNetError: the parameter is not initialized.
        """
        if not isinstance(data, NDArray):
            data = ndarray.array(data, cpu(), self._dtype)
        if self._deferred is None:
            self._check(None)
        self.shape = data.shape
        if self._deferred is not None:
            self.initialize_with(data.astype(self._dtype, copy=False), self._deferred[1])
            return
        if data.stype != self.stype:
            data = data.tostype(self.stype)
        for ctx, array in self._values.items():
            array.assign(data.as_in_context(ctx))
        self.times_set += 1
        if self._trainer is not None:
            self._trainer.note_set(self)

    def check_loaded(
        self,
        array: NDArray,
        where: str,
        ctx: Context | Sequence[Context] | None,
        cast_dtype: bool,
    ) -> None:
        """Refuses an array that `take_loaded` could not take; see `load_values`.

        Args:
            where: begins messages: the file, and the array's name in it.
        """
        if not self._fits(array.shape):
            raise ShapeError(f"{where} has shape {array.shape}, but the parameter has {self.shape}")
        if array.inferred_dtype != self._dtype and not cast_dtype:
            raise ParameterError(
                f"{where} has dtype {array.inferred_dtype.name}, but the parameter has "
                f"{self._dtype.name}; pass cast_dtype=True to convert"
            )
        if ctx is not None and (self._values or self.is_deferred):
            held = self.list_ctx()
            if set(held) != set(contexts_of(ctx)):
                raise ParameterError(
                    f"{where} was to go to {contexts_of(ctx)}, but the parameter is on "
                    f"{held} already; use reset_ctx to move it"
                )

    def take_loaded(
        self, array: NDArray, ctx: Context | Sequence[Context] | None, dtype_source: str
    ) -> None:
        """Sets the value, or begins with it, from an array that `check_loaded` lets pass."""
        if array.inferred_dtype != self._dtype:
            if dtype_source == "saved":
                self.cast(array.dtype)
            else:
                array = array.astype(self._dtype)
        if self._values or self.is_deferred:
            self.set_data(array)
        else:
            self.initialize_with(array, ctx)

    def reset_ctx(self, ctx: Context | Sequence[Context]) -> None:
        """Moves the parameter to other contexts."""
        contexts = contexts_of(ctx)
        if self._values:
            with autograd.pause(), init_scope():
                self._set_all(self.reduced(), contexts)
        elif self._deferred is not None:
            self._deferred = (self._deferred[0], contexts)
        else:
            raise ParameterError(
                f"Parameter {self.name!r}: reset_ctx requires a value, got a parameter that has "
                "not been initialized; call initialize(ctx=...)"
            )

    def _take_dtype(self, dtype: DTypeLike) -> None:
        """Sets the element type, and what `dtype` says of it."""
        self._dtype = as_dtype(dtype)
        self._given_dtype = np.float32 if dtype is None else dtype

    def cast(self, dtype: DTypeLike) -> None:
        """Changes the element type of the value and the gradient."""
        self._take_dtype(dtype)
        if not self._values:
            return
        with autograd.pause(), init_scope():
            self._values = {
                ctx: self._placed(array.detach().astype(self._dtype))
                for ctx, array in self._values.items()
            }
        self.times_set += 1
        self._attach()
        changes.note()

    # -- gradients ---------------------------------------------------------------------------

    def zero_grad(self) -> None:
        """Sets the gradient on every context to 0."""
        if self._grad_req == "null":
            return
        fresh = self.has_fresh_grads()
        for array in self._values.values():
            array.zero_grad()
        if not fresh:
            self.note_grads_used()

    def has_fresh_grads(self) -> bool:
        """Whether every gradient was written since it was made or used, as by a backward pass."""
        for array, used in zip(self._values.values(), self._used, strict=True):
            grad = array.grad
            if grad is None or used() is grad.stamp():
                return False
        return True

    def note_grads_used(self) -> None:
        """Notes that an update has used the gradients."""
        # Weakly: the memory of a gradient that is replaced goes to its successor.
        grads = [array.grad for array in self._values.values()]
        self._used = [weakref.ref(grad.stamp()) for grad in grads if grad is not None]

    # -- symbols -----------------------------------------------------------------------------

    def var(self) -> Symbol:
        """Returns the variable that stands for this parameter in symbols: one and the same."""
        attributes: dict[str, Any] = {
            "shape": self.shape,
            "dtype": self._dtype.name,
            "lr_mult": self.lr_mult,
            "wd_mult": self.wd_mult,
            "init": self._symbol_init(),
            "__storage_type__": _STORAGE_CODES[self.stype],
        }
        if self._var is None or self._var[0] != attributes:
            self._var = (attributes, symbol.var(self.name, **attributes))
        return self._var[1]

    def _symbol_init(self) -> str | initializer.Initializer | None:
        """Returns the initializer as symbols hold it: text, or an object with such a form."""
        return self.init if isinstance(self.init, (str, initializer.Initializer)) else None
