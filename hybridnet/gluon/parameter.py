"""`Parameter`: an array that is learned, on one or several devices, and its gradient."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from hybridnet import autograd, initializer, ndarray, symbol
from hybridnet.base.context import Context, cpu, current_context
from hybridnet.base.dtype import as_dtype
from hybridnet.base.errors import MXNetError, ParameterError, ShapeError
from hybridnet.ndarray import NDArray
from hybridnet.runtime.trace import init_scope

__all__ = ["Constant", "DeferredInitializationError", "Parameter", "ParameterDict"]

_UNIFORM: Final = initializer.Uniform(0.07)


class DeferredInitializationError(MXNetError):
    """A parameter was asked for before its shape was known: nothing has been run through yet."""


def _contexts(ctx: Context | Sequence[Context] | None) -> list[Context]:
    if ctx is None:
        return [current_context()]
    return [ctx] if isinstance(ctx, Context) else list(ctx)


def _known(shape: tuple[int, ...] | None) -> bool:
    return shape is not None and all(size > 0 for size in shape)


class Parameter:
    """An array that is learned.

    Args:
        name: unique in its `ParameterDict`.
        grad_req: 'write', 'add' or 'null' (not learned).
        shape: 0 stands for a dimension that the first input decides.
        dtype: the element type.
        lr_mult, wd_mult: factors on the optimizer's learning rate and weight decay.
        init: its own initializer; default that given to `initialize`.
        allow_deferred_init: wait with initialisation until the shape is known.
        differentiable: False for statistics, which no optimizer touches.
        stype, grad_stype: 'default'.
    """

    def __init__(
        self,
        name: str,
        grad_req: str = "write",
        shape: int | Sequence[int] | None = None,
        dtype: Any = np.float32,
        lr_mult: float = 1.0,
        wd_mult: float = 1.0,
        init: Any = None,
        allow_deferred_init: bool = False,
        differentiable: bool = True,
        stype: str = "default",
        grad_stype: str = "default",
    ) -> None:
        if stype != "default" or grad_stype != "default":
            raise ParameterError(f"Parameter {name!r}: stype and grad_stype must be 'default'")
        self.name = name
        self.lr_mult = lr_mult
        self.wd_mult = wd_mult
        self.init = init
        self._dtype = as_dtype(dtype)
        self._shape = (
            (shape,) if isinstance(shape, int) else None if shape is None else tuple(shape)
        )
        self._allow_deferred_init = allow_deferred_init
        self._differentiable = differentiable
        self._data: dict[Context, NDArray] = {}
        self._deferred: tuple[Any, list[Context], Any, NDArray | None] | None = None
        self._grad_req = "null"
        self._var: Any = None
        self.grad_req = grad_req

    def __repr__(self) -> str:
        return f"Parameter {self.name} (shape={self.shape}, dtype={self._dtype.name})"

    @property
    def grad_req(self) -> str:
        """'write', 'add' or 'null'."""
        return self._grad_req

    @grad_req.setter
    def grad_req(self, req: str) -> None:
        if req not in ("write", "add", "null"):
            raise ParameterError(f"grad_req must be 'write', 'add' or 'null', got {req!r}")
        req = req if self._differentiable else "null"
        if req == self._grad_req:
            return
        self._grad_req = req
        for one in self._data.values():
            self._attach(one)

    @property
    def dtype(self) -> Any:
        """The element type."""
        return self._dtype.type

    @dtype.setter
    def dtype(self, dtype: Any) -> None:
        self.cast(dtype)

    @property
    def shape(self) -> tuple[int, ...] | None:
        """The dimensions; 0 for one that is not known yet."""
        return self._shape

    @shape.setter
    def shape(self, shape: Sequence[int]) -> None:
        new = tuple(shape)
        if self._shape is not None:
            fits = len(self._shape) == len(new) and all(
                a in (0, b) for a, b in zip(self._shape, new, strict=True)
            )
            if not fits:
                raise ShapeError(
                    f"Parameter {self.name!r}: shape must agree with {self._shape}, got {new}"
                )
        self._shape = new

    # -- values ------------------------------------------------------------------------------

    def initialize(
        self,
        init: Any = None,
        ctx: Context | Sequence[Context] | None = None,
        default_init: Any = _UNIFORM,
        force_reinit: bool = False,
    ) -> None:
        """Gives the parameter its first value.

        Args:
            init: an initializer or its name; default the parameter's own, then `default_init`.
            ctx: one context or several; default the current one.
            default_init: used where neither `init` nor the parameter's own is given.
            force_reinit: start anew where it has a value.

        Raises:
            ParameterError: its shape is unknown and it may not wait.
        """
        if self._data and not force_reinit:
            return
        self._data = {}
        chosen = init if init is not None else self.init
        self._deferred = (chosen, _contexts(ctx), default_init, None)
        if _known(self._shape):
            self.finish_deferred_init()
        elif not self._allow_deferred_init:
            self._deferred = None
            raise ParameterError(
                f"Parameter {self.name!r}: cannot be initialised with the unknown shape "
                f"{self._shape}; give its sizes, or allow_deferred_init=True"
            )

    def finish_deferred_init(self) -> None:
        """Makes the value, now that the shape is known; does nothing where there is one."""
        if self._deferred is None:
            return
        shape = self._shape
        if shape is None or not _known(shape):
            raise ShapeError(
                f"Parameter {self.name!r}: its shape {shape} could not be found from the input"
            )
        chosen, contexts, default_init, data = self._deferred
        self._deferred = None
        # Parameters outlive the trace in which the first input may arrive.
        with autograd.pause(), init_scope():
            if data is None:
                data = ndarray.zeros(shape, cpu(), self._dtype)
                attrs = {} if chosen is None else {"__init__": chosen}
                fill = initializer.create(default_init)
                fill(initializer.InitDesc(self.name, attrs), data)
            self._set_all(data, contexts)

    def _set_all(self, data: NDArray, contexts: Sequence[Context]) -> None:
        for ctx in contexts:
            one = data.copyto(ctx)
            self._data[ctx] = one
            self._attach(one)

    def _attach(self, one: NDArray) -> None:
        with init_scope():
            if self._grad_req == "null":
                one.set_edge(None)
            else:
                one.attach_grad(self._grad_req)

    def _check(self, ctx: Context | None) -> None:
        if self._data:
            if ctx is None or ctx in self._data:
                return
            raise MXNetError(
                f"Parameter {self.name!r} was not initialised on {ctx}; it is on "
                f"{', '.join(map(str, self._data))}"
            )
        if self._deferred is not None:
            raise DeferredInitializationError(
                f"Parameter {self.name!r} has no value yet, because its shape is not known; run "
                "some input through the network first"
            )
        raise MXNetError(
            f"Parameter {self.name!r} has not been initialised; call initialize() on it or on the "
            "block (collect_params().initialize() reaches children too)"
        )

    def data(self, ctx: Context | None = None) -> NDArray:
        """Returns the value on a context.

        Args:
            ctx: default the current context where the parameter is on several.

        Raises:
            DeferredInitializationError: its shape is not known yet.
            MXNetError: it is not initialised, or not on this context.
        """
        if ctx is not None:
            found = self._data.get(ctx)
            if found is not None:
                return found
        elif len(self._data) == 1:
            return next(iter(self._data.values()))
        else:
            ctx = current_context()
        self._check(ctx)
        return self._data[ctx]

    def list_data(self) -> list[NDArray]:
        """Returns the value on each of its contexts."""
        self._check(None)
        return list(self._data.values())

    def grad(self, ctx: Context | None = None) -> NDArray:
        """Returns the gradient on a context.

        Raises:
            MXNetError: the parameter has none, because its grad_req is 'null'.
        """
        found = self.data(ctx).grad
        if found is None:
            raise MXNetError(f"Parameter {self.name!r} has no gradient: its grad_req is 'null'")
        return found

    def list_grad(self) -> list[NDArray]:
        """Returns the gradient on each of its contexts."""
        return [self.grad(ctx) for ctx in self.list_ctx()]

    def list_ctx(self) -> list[Context]:
        """Returns the contexts it is, or will be, on."""
        if not self._data and self._deferred is not None:
            return list(self._deferred[1])
        self._check(None)
        return list(self._data)

    def set_data(self, data: Any) -> None:
        """Sets the value on every context.

        Raises:
            ShapeError: the shape is another.
        """
        if not isinstance(data, NDArray):
            data = ndarray.array(data, cpu(), self._dtype)
        self.shape = data.shape
        if self._deferred is not None:
            chosen, contexts, default_init, _ = self._deferred
            self._deferred = (chosen, contexts, default_init, data.astype(self._dtype))
            return
        self._check(None)
        for ctx, one in self._data.items():
            one.assign(data.as_in_context(ctx))

    def zero_grad(self) -> None:
        """Sets the gradient on every context to 0."""
        if self._grad_req != "null":
            for one in self._data.values():
                one.zero_grad()

    def reset_ctx(self, ctx: Context | Sequence[Context]) -> None:
        """Moves the parameter to other contexts."""
        contexts = _contexts(ctx)
        if self._data:
            data = next(iter(self._data.values()))
            self._data = {}
            self._set_all(data.detach(), contexts)
        elif self._deferred is not None:
            chosen, _, default_init, data_ = self._deferred
            self._deferred = (chosen, contexts, default_init, data_)
        else:
            self._check(None)

    def cast(self, dtype: Any) -> None:
        """Changes the element type of the value and the gradient."""
        self._dtype = as_dtype(dtype)
        for ctx, one in list(self._data.items()):
            self._data[ctx] = one.detach().astype(self._dtype)
            self._attach(self._data[ctx])

    def var(self) -> Any:
        """Returns the symbol that stands for this parameter in symbolic networks."""
        if self._var is None:
            self._var = symbol.var(
                self.name,
                shape=self._shape,
                dtype=self._dtype.name,
                lr_mult=self.lr_mult,
                wd_mult=self.wd_mult,
                init=self.init,
            )
        return self._var


class Constant(Parameter):
    """A value that is part of the network and is not learned."""

    def __init__(self, name: str, value: Any) -> None:
        self.value = value if isinstance(value, NDArray) else ndarray.array(value)
        super().__init__(
            name,
            grad_req="null",
            shape=self.value.shape,
            dtype=self.value.dtype,
            init=initializer.Constant(self.value),
            differentiable=False,
        )


class ParameterDict:
    """Parameters by name, which all begin with one prefix.

    Args:
        prefix: of every name made here.
        shared: a dict whose parameters are used where the names agree.
    """

    def __init__(self, prefix: str = "", shared: ParameterDict | None = None) -> None:
        self._prefix = prefix
        self._shared = shared
        self._params: dict[str, Parameter] = {}

    def __repr__(self) -> str:
        lines = "\n".join(f"  {one!r}" for one in self.values())
        return f"{self._prefix or ''}(\n{lines}\n)"

    def __getitem__(self, key: str) -> Parameter:
        return self._params[key]

    def __contains__(self, key: str) -> bool:
        return key in self._params

    def __iter__(self) -> Iterator[str]:
        return iter(self._params)

    def __len__(self) -> int:
        return len(self._params)

    def keys(self) -> Any:
        """Returns the names."""
        return self._params.keys()

    def values(self) -> Any:
        """Returns the parameters."""
        return self._params.values()

    def items(self) -> Any:
        """Returns names with parameters."""
        return self._params.items()

    @property
    def prefix(self) -> str:
        """What every name made here begins with."""
        return self._prefix

    def get(self, name: str, **kwargs: Any) -> Parameter:
        """Returns the parameter ``prefix + name``, made if there is none.

        Args:
            name: without the prefix.
            kwargs: as for `Parameter`; where it exists they must agree.

        Raises:
            ParameterError: it exists with other properties.
        """
        full = self._prefix + name
        found = self._find(full)
        if found is None:
            found = self._params[full] = Parameter(full, **kwargs)
            return found
        for key, value in kwargs.items():
            if key == "shape" and value is not None:
                found.shape = (value,) if isinstance(value, int) else value
            elif key == "dtype" and as_dtype(value).type is not found.dtype:
                raise ParameterError(
                    f"Parameter {full!r} exists with dtype {found.dtype.__name__}, but "
                    f"{value} was asked for"
                )
        return found

    def get_constant(self, name: str, value: Any = None) -> Parameter:
        """Returns the constant ``prefix + name``, made with `value` if there is none."""
        full = self._prefix + name
        found = self._find(full)
        if found is None:
            if value is None:
                raise ParameterError(f"there is no constant {full!r}, and no value was given")
            found = self._params[full] = Constant(full, value)
        return found

    def _find(self, full: str) -> Parameter | None:
        found = self._params.get(full)
        if found is None and self._shared is not None:
            found = self._shared._find(full)
            if found is not None:
                self._params[full] = found
        return found

    def update(self, other: ParameterDict | Mapping[str, Parameter]) -> None:
        """Takes over the parameters of another dict.

        Raises:
            ParameterError: a name is here already for another parameter.
        """
        for name, one in other.items():
            if self._params.setdefault(name, one) is not one:
                raise ParameterError(f"there are two different parameters named {name!r}")

    def initialize(
        self,
        init: Any = _UNIFORM,
        ctx: Context | Sequence[Context] | None = None,
        verbose: bool = False,
        force_reinit: bool = False,
    ) -> None:
        """Initialises every parameter; see `Parameter.initialize`."""
        for one in self.values():
            one.initialize(None, ctx, init, force_reinit)

    def zero_grad(self) -> None:
        """Sets every gradient to 0."""
        for one in self.values():
            one.zero_grad()

    def reset_ctx(self, ctx: Context | Sequence[Context]) -> None:
        """Moves every parameter to other contexts."""
        for one in self.values():
            one.reset_ctx(ctx)

    def list_ctx(self) -> list[Context]:
        """Returns the contexts that some parameter is on."""
        return list(dict.fromkeys(ctx for one in self.values() for ctx in one.list_ctx()))

    def setattr(self, name: str, value: Any) -> None:
        """Sets an attribute (``grad_req``, ``lr_mult``, ...) of every parameter."""
        for one in self.values():
            setattr(one, name, value)

    def save(self, filename: Any, strip_prefix: str = "") -> None:
        """Saves the values by name, in MXNet's format.

        Args:
            filename: the file.
            strip_prefix: taken off every name.

        Raises:
            ParameterError: a name does not begin with it.
        """
        arrays = {}
        for name, one in self.items():
            if not name.startswith(strip_prefix):
                raise ParameterError(f"parameter {name!r} does not begin with {strip_prefix!r}")
            arrays[name[len(strip_prefix) :]] = one.list_data()[0]
        ndarray.save(filename, arrays)

    def load(
        self,
        filename: Any,
        ctx: Context | Sequence[Context] | None = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        restore_prefix: str = "",
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """Loads values by name; see `load_values` for the arguments."""
        loaded = ndarray.load(filename)
        if not isinstance(loaded, dict):
            raise ParameterError(f"{filename}: holds arrays without names, so no parameters")
        named = {
            restore_prefix + name.removeprefix("arg:").removeprefix("aux:"): one
            for name, one in loaded.items()
        }
        load_values(
            self._params,
            named,
            str(filename),
            ctx,
            allow_missing,
            ignore_extra,
            cast_dtype,
            dtype_source,
        )


def load_values(
    params: Mapping[str, Parameter],
    loaded: Mapping[str, NDArray],
    source: str,
    ctx: Context | Sequence[Context] | None = None,
    allow_missing: bool = False,
    ignore_extra: bool = False,
    cast_dtype: bool = False,
    dtype_source: str = "current",
) -> None:
    """Sets parameters from arrays of the same names.

    Args:
        params: what is set.
        loaded: the arrays.
        source: where they come from, for messages.
        ctx: where parameters without a value go.
        allow_missing: whether some parameter may have no array.
        ignore_extra: whether some array may have no parameter.
        cast_dtype: cast where the dtypes differ, instead of raising.
        dtype_source: with `cast_dtype`, 'current' keeps the parameter's dtype, 'saved' takes the
            array's.

    Raises:
        ParameterError: names are missing or left over.
        ShapeError: shapes differ.
    """
    missing = [name for name in params if name not in loaded]
    if missing and not allow_missing:
        raise ParameterError(
            f"{source}: has no {', '.join(missing[:5])}; it has {', '.join(list(loaded)[:10])}. "
            "Pass allow_missing=True to leave them as they are"
        )
    extra = [name for name in loaded if name not in params]
    if extra and not ignore_extra:
        raise ParameterError(
            f"{source}: {', '.join(extra[:5])} is no parameter here; there are "
            f"{', '.join(list(params)[:10])}. Pass ignore_extra=True to leave them out"
        )
    for name, one in params.items():
        array = loaded.get(name)
        if array is None:
            continue
        if array.inferred_dtype != one._dtype:
            if not cast_dtype:
                raise ParameterError(
                    f"{source}: {name} has dtype {array.inferred_dtype.name}, the parameter "
                    f"{one._dtype.name}; pass cast_dtype=True to convert"
                )
            if dtype_source == "saved":
                one.cast(array.dtype)
            else:
                array = array.astype(one._dtype)
        one.shape = array.shape
        if not one._data and one._deferred is None:
            one._deferred = (None, _contexts(ctx), _UNIFORM, array)
            one.finish_deferred_init()
        else:
            one.set_data(array)
            one.finish_deferred_init()
