"""`ParameterDict`: parameters by name; and setting parameters from what a file holds."""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, Sequence, ValuesView
from typing import Any, Unpack

import numpy as np

from hybridnet import initializer, ndarray
from hybridnet.base.array_types import ArrayLike
from hybridnet.base.context import Context
from hybridnet.base.dtype import as_dtype
from hybridnet.base.errors import ParameterError, RefusedError
from hybridnet.base.remote import PathLike
from hybridnet.initializer.base import InitLike
from hybridnet.ndarray import NDArray

from ._constant import Constant
from ._parameter import UNIFORM, Parameter, ParameterOptions


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
        lines = "\n".join(f"  {param!r}" for param in self.values())
        name = self._prefix + " " if self._prefix else ""
        return f"{name}(\n{lines}\n)"

    def __getitem__(self, key: str) -> Parameter:
        return self._params[key]

    def __contains__(self, key: object) -> bool:
        return key in self._params

    def __iter__(self) -> Iterator[str]:
        return iter(self._params)

    def __len__(self) -> int:
        return len(self._params)

    def keys(self) -> KeysView[str]:
        """Returns the names."""
        return self._params.keys()

    def values(self) -> ValuesView[Parameter]:
        """Returns the parameters."""
        return self._params.values()

    def items(self) -> ItemsView[str, Parameter]:
        """Returns names with parameters."""
        return self._params.items()

    @property
    def prefix(self) -> str:
        """The prefix of every name made here."""
        return self._prefix

    def get(self, name: str, **kwargs: Unpack[ParameterOptions]) -> Parameter:
        """Returns the parameter ``prefix + name``, made if there is none.

        Args:
            name: without the prefix.
            kwargs: as for `Parameter`. Where the parameter exists they must agree with what it has,
                except that a shape may fill in its unknown dimensions, or leave known ones open.

        Raises:
            ParameterError, ShapeError: it exists with other properties.
        """
        full = self._prefix + name
        found = self._find(full)
        if found is None:
            found = self._params[full] = Parameter(full, **kwargs)
            return found
        for key, value in kwargs.items():
            _agree(found, key, value)
        return found

    def get_constant(self, name: str, value: ArrayLike | NDArray | None = None) -> Constant:
        """Returns the constant ``prefix + name``, made with `value` if there is none.

        Raises:
            ParameterError: it exists with another value, or is no constant; or there is none, and
                no value for it.
        """
        full = self._prefix + name
        found = self._find(full)
        if found is None:
            if value is None:
                raise ParameterError(f"there is no constant {full!r}, and no value was given")
            made = Constant(full, value)
            self._params[full] = made
            return made
        if not isinstance(found, Constant):
            raise ParameterError(f"{full!r} is a Parameter, and no constant")
        if value is not None:
            given = value.asnumpy() if isinstance(value, NDArray) else np.asarray(value)
            if not np.array_equal(given, found.value.asnumpy()):
                raise ParameterError(f"Constant {full!r} exists with another value")
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
        for name, param in other.items():
            if self._params.setdefault(name, param) is not param:
                raise ParameterError(
                    f"there are two different parameters named {name!r}; give one of the blocks "
                    "another prefix, or make it inside name_scope()"
                )

    # -- all of them -------------------------------------------------------------------------

    def initialize(
        self,
        init: InitLike | None = UNIFORM,
        ctx: Context | Sequence[Context] | None = None,
        verbose: bool = False,
        force_reinit: bool = False,
    ) -> None:
        """Initializes every parameter; see `Parameter.initialize`.

        Args:
            init: for parameters without an initializer of their own.
            ctx: one context or several; default the current one.
            verbose: have the initializer log what it does.
            force_reinit: initialize again those that have a value.
        """
        if verbose and isinstance(init, initializer.Initializer):
            init.set_verbosity(verbose)
        for param in self.values():
            param.initialize(None, ctx, init, force_reinit)

    def zero_grad(self) -> None:
        """Sets every gradient to 0."""
        for param in self.values():
            param.zero_grad()

    def reset_ctx(self, ctx: Context | Sequence[Context]) -> None:
        """Moves every parameter to other contexts."""
        for param in self.values():
            param.reset_ctx(ctx)

    def list_ctx(self) -> list[Context]:
        """Returns the contexts that some parameter is on."""
        return list(dict.fromkeys(ctx for param in self.values() for ctx in param.list_ctx()))

    def setattr(self, name: str, value: Any) -> None:
        """Sets an attribute (``grad_req``, ``lr_mult``, ...) of every parameter."""
        for param in self.values():
            setattr(param, name, value)

    # -- files -------------------------------------------------------------------------------

    def save(self, filename: PathLike, strip_prefix: str = "") -> None:
        """Saves the values by name, in MXNet's format; means over several contexts.

        Args:
            filename: the file; it appears whole or not at all.
            strip_prefix: taken off every name.

        Raises:
            ParameterError: a name does not begin with it.
        """
        arrays = {}
        for name, param in self.items():
            if not name.startswith(strip_prefix):
                raise ParameterError(
                    f"{filename}: cannot take {strip_prefix!r} off the name {name!r}, which does "
                    "not begin with it"
                )
            arrays[name[len(strip_prefix) :]] = param.reduced()
        ndarray.save(filename, arrays)

    def load(
        self,
        filename: PathLike,
        ctx: Context | Sequence[Context] | None = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        restore_prefix: str = "",
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """Loads values by name, from a file of `save`, `Block.export` or MXNet's.

        Args:
            filename: the file.
            ctx: where parameters that are not initialized go; default the current context.
            allow_missing, ignore_extra, cast_dtype, dtype_source: see `load_values`.
            restore_prefix: put before every name in the file.

        Raises:
            FormatError: the file is damaged.
            ParameterError, ShapeError: it does not fit.
            OSError: it cannot be read.
        """
        self.load_dict(
            read_arrays(filename),
            ctx,
            allow_missing,
            ignore_extra,
            restore_prefix,
            filename,
            cast_dtype,
            dtype_source,
        )

    def load_dict(
        self,
        param_dict: Mapping[str, NDArray],
        ctx: Context | Sequence[Context] | None = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        restore_prefix: str = "",
        filename: PathLike | None = None,
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """Sets the values from arrays by name, as `load` does from a file.

        Args:
            param_dict: the arrays; ``arg:`` and ``aux:`` before a name count for nothing.
            ctx, allow_missing, ignore_extra, restore_prefix, cast_dtype, dtype_source: see `load`.
            filename: where the arrays come from, for messages.

        Raises:
            ParameterError, ShapeError: they do not fit.
        """
        arrays = {
            restore_prefix + name.removeprefix("arg:").removeprefix("aux:"): array
            for name, array in param_dict.items()
        }
        load_values(
            self._params,
            arrays,
            "param_dict" if filename is None else filename,
            ctx,
            allow_missing,
            ignore_extra,
            cast_dtype,
            dtype_source,
        )


def _agree(found: Parameter, key: str, value: Any) -> None:
    """Takes over what `ParameterDict.get` was given for a parameter that exists, or refuses it."""
    existing = getattr(found, key, None)
    if existing is None:
        setattr(found, key, value)
    elif value is None:
        return
    elif key == "shape":
        shape = (value,) if isinstance(value, int) else tuple(value)
        if len(shape) == len(existing):
            shape = tuple(new if new > 0 else old for new, old in zip(shape, existing, strict=True))
        found.shape = shape
    elif value != existing and not (key == "dtype" and as_dtype(value) == as_dtype(existing)):
        raise ParameterError(
            f"Parameter {found.name!r} exists with {key}={existing!r}, but {value!r} was asked for"
        )


def read_arrays(filename: PathLike) -> dict[str, NDArray]:
    """Returns the arrays of a parameter file by name, without ``arg:`` and ``aux:``.

    Raises:
        FormatError: the file is damaged.
        ParameterError: the arrays in it have no names.
        OSError: it cannot be read.
    """
    loaded = ndarray.load(filename)
    if not isinstance(loaded, dict):
        if not loaded:
            return {}
        raise ParameterError(f"{filename}: must hold arrays by name, got arrays without names")
    return {name.removeprefix("arg:").removeprefix("aux:"): array for name, array in loaded.items()}


def load_values(
    params: Mapping[str, Parameter],
    loaded: Mapping[str, NDArray],
    source: PathLike,
    ctx: Context | Sequence[Context] | None = None,
    allow_missing: bool = False,
    ignore_extra: bool = False,
    cast_dtype: bool = False,
    dtype_source: str = "current",
) -> None:
    """Sets parameters from arrays of the same names: all of them, or none if something is wrong.

    Args:
        params: what is set. A parameter under several names needs an array for one of them.
        loaded: the arrays.
        source: where they come from, for messages.
        ctx: where parameters that are not initialized go; None for the current context. Those that
            are stay where they are, and `ctx`, if given, must say so.
        allow_missing: whether some parameter may have no array.
        ignore_extra: whether some array may have no parameter.
        cast_dtype: cast where the dtypes differ, instead of raising.
        dtype_source: with `cast_dtype`, 'current' keeps the parameter's dtype, 'saved' takes the
            array's.

    Raises:
        RefusedError: names are missing or left over.
        ParameterError: dtypes differ.
        ShapeError: shapes differ.
    """
    if dtype_source not in ("current", "saved"):
        raise ParameterError(f"dtype_source must be 'current' or 'saved', got {dtype_source!r}")
    _check_names(params, loaded, source, allow_missing, ignore_extra)
    pairs = [(name, param, loaded[name]) for name, param in params.items() if name in loaded]
    for name, param, array in pairs:
        param.check_loaded(array, f"{source}: {name}", ctx, cast_dtype)
    for _, param, array in pairs:
        param.take_loaded(array, ctx, dtype_source)


def _check_names(
    params: Mapping[str, Parameter],
    loaded: Mapping[str, NDArray],
    source: PathLike,
    allow_missing: bool,
    ignore_extra: bool,
) -> None:
    found = {id(param) for name, param in params.items() if name in loaded}
    missing = [name for name, param in params.items() if id(param) not in found]
    if missing and not allow_missing:
        raise RefusedError(
            f"{source}: has no {_first(missing, 5)}; it has {_first(loaded, 10)}. Pass "
            "allow_missing=True to leave parameters without a value in the file as they are"
        )
    extra = [name for name in loaded if name not in params]
    if extra and not ignore_extra:
        raise RefusedError(
            f"{source}: {_first(extra, 5)} is no parameter here; there are {_first(params, 10)}. "
            "Pass ignore_extra=True to leave such arrays out"
        )


def _first(names: Iterable[str], count: int) -> str:
    listed = list(names)
    return (", ".join(listed[:count]) or "nothing") + (", ..." if len(listed) > count else "")
