"""Symbols from nothing: variables, files, constants."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from hybridnet import engine
from hybridnet.base.array_types import Dims, DTypeLike
from hybridnet.base.dtype import CODE_OF, FLOAT32, as_dtype
from hybridnet.base.errors import FormatError, ParameterError
from hybridnet.base.remote import read_file
from hybridnet.base.shape_arguments import listed_sizes
from hybridnet.graph import Edge, json, stored_name, variable
from hybridnet.ops.core import registry

from ._storage import CODE_OF_STYPE
from .composition import scope_attributes
from .symbol import Symbol

__all__ = [
    "Variable",
    "arange",
    "eye",
    "full",
    "linspace",
    "load",
    "load_json",
    "ones",
    "var",
    "zeros",
]


def var(
    name: str,
    attr: Mapping[str, str] | None = None,
    shape: Dims | None = None,
    lr_mult: float | None = None,
    wd_mult: float | None = None,
    dtype: DTypeLike = None,
    init: Any = None,
    stype: str | None = None,
    **kwargs: Any,
) -> Symbol:
    """Returns a variable: a value that is given when the symbol is bound.

    Args:
        name: its name.
        attr: attributes, strings by name.
        shape: its shape where that is known, 0 for an unknown dimension.
        lr_mult: the learning rate of this parameter, relative to the optimizer's.
        wd_mult: likewise its weight decay.
        dtype: its dtype where that is known.
        init: the initializer of this parameter, or its name or text.
        stype: how `simple_bind` stores its array: 'csr', 'row_sparse', or 'default' (dense).
        kwargs: further attributes ``__name__``, or ``ctx_group`` and MXNet's other ones.

    Raises:
        ParameterError: an attribute is no string, or not in double underscores.
    """
    if not isinstance(name, str):
        raise ParameterError(f"var: name must be a string, got {name!r}")
    if stype is not None and stype not in CODE_OF_STYPE:
        raise ParameterError(
            f"var {name!r}: stype must be one of {', '.join(CODE_OF_STYPE)}, got {stype!r}"
        )
    attrs: dict[str, str] = {}
    for key, value in scope_attributes(attr or {}).items():
        if not isinstance(value, str):
            raise ParameterError(f"var {name!r}: attributes must be strings, got {key}={value!r}")
        attrs[stored_name(key)] = value
    for key, multiplier in (("lr_mult", lr_mult), ("wd_mult", wd_mult)):
        if multiplier is not None:
            attrs[stored_name(key)] = str(multiplier)
    if shape is not None:
        attrs["__shape__"] = str(listed_sizes(f"var {name!r}", shape))
    if dtype is not None:
        attrs["__dtype__"] = str(CODE_OF[as_dtype(dtype)])
    if stype is not None:
        attrs["__storage_type__"] = CODE_OF_STYPE[stype]
    if init is not None:
        attrs["__init__"] = init if isinstance(init, str) else init.dumps()
    for key, value in kwargs.items():
        stored = stored_name(key)
        if not (stored.startswith("__") and stored.endswith("__")):
            raise ParameterError(
                f"var {name!r}: further attributes must begin and end with two underscores, got "
                f"{key}"
            )
        attrs[stored] = str(value)
    return Symbol([Edge(variable(name, attrs, engine.caller_origin(1)), 0)])


Variable = var


def load_json(json_str: str | bytes) -> Symbol:
    """Reads a symbol from MXNet's JSON, of any version.

    Raises:
        FormatError: the text is no symbol, or names an operator that does not exist.
    """
    return Symbol(json.loads(json_str))


def load(fname: str | os.PathLike[str]) -> Symbol:
    """Reads a symbol from a file that `Symbol.save`, or MXNet, has written.

    Raises:
        FormatError: the file is no symbol; the message names it.
        OSError: it cannot be read.
    """
    try:
        return load_json(read_file(fname))
    except FormatError as error:
        raise FormatError(f"{os.fspath(fname)}: {error}") from error


def _made(operator: str, params: dict[str, Any], kwargs: Mapping[str, Any]) -> Symbol:
    options = dict(kwargs)
    name, attr = options.pop("name", None), options.pop("attr", None)
    dtype = params.pop("dtype")
    params["dtype"] = as_dtype(FLOAT32 if dtype is None else dtype).name
    op = registry.get(operator)
    return Symbol.apply_operator(op, (), {**options, **params}, name=name, attr=attr)


def zeros(shape: Dims, dtype: DTypeLike = None, **kwargs: object) -> Symbol:
    """Returns a symbol of zeros.

    Args:
        shape: the dimensions.
        dtype: float32 by default.
        kwargs: ``name`` and ``attr``.
    """
    return _made("_zeros", {"shape": shape, "dtype": dtype}, kwargs)


def ones(shape: Dims, dtype: DTypeLike = None, **kwargs: object) -> Symbol:
    """Returns a symbol of ones; the arguments are those of `zeros`."""
    return _made("_ones", {"shape": shape, "dtype": dtype}, kwargs)


def full(shape: Dims, val: float, dtype: DTypeLike = None, **kwargs: object) -> Symbol:
    """Returns a symbol filled with `val`; the other arguments are those of `zeros`."""
    return _made("_full", {"shape": shape, "value": float(val), "dtype": dtype}, kwargs)


def arange(
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    infer_range: bool = False,
    name: str | None = None,
    dtype: DTypeLike = None,
) -> Symbol:
    """Returns numbers from `start` up to, not including, `stop`.

    Args:
        start: the first number; where `stop` is None, the end, and the first number is 0.
        stop: the end.
        step: the distance between two.
        repeat: how often each comes, in a row.
        infer_range: must be False.
        name: of the node.
        dtype: float32 by default.
    """
    params = {"start": start, "stop": stop, "step": step, "repeat": repeat, "dtype": dtype}
    return _made("_arange", {**params, "infer_range": infer_range}, {"name": name})


def linspace(
    start: float,
    stop: float,
    num: int,
    endpoint: bool = True,
    name: str | None = None,
    dtype: DTypeLike = None,
) -> Symbol:
    """Returns `num` evenly spaced numbers from `start` to `stop`.

    Args:
        start: the first number.
        stop: the last one, or with endpoint=False the one after it.
        num: how many.
        endpoint: whether `stop` is among them.
        name: of the node.
        dtype: float32 by default.
    """
    params = {"start": start, "stop": stop, "num": num, "endpoint": endpoint, "dtype": dtype}
    return _made("_linspace", params, {"name": name})


def eye(N: int, M: int = 0, k: int = 0, dtype: DTypeLike = None, **kwargs: object) -> Symbol:
    """Returns a matrix with ones on a diagonal.

    Args:
        N: rows.
        M: columns; 0 for as many as rows.
        k: which diagonal: above (positive) or below (negative) the main one.
        dtype: float32 by default.
        kwargs: ``name`` and ``attr``.
    """
    return _made("_eye", {"N": N, "M": M, "k": k, "dtype": dtype}, kwargs)
