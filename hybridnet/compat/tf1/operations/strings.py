"""Strings: ``tf.string_join``, ``tf.string_split``, ``tf.as_string``, ``tf.decode_raw``.

They are arrays of bytes on the host: each of these is Python, and cuts the program
(`hybridnet.compat.tf1.operations.scripts`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..dtypes import DType, as_dtype, float32, int32, string, uint8
from ..dtypes import bool as bool_
from ..errors import InvalidArgumentError
from ..graph import Tensor, convert_to_tensor, name_scope, renamed
from ..graph.host_call import Dims
from .scripts import host_tensor

__all__ = [
    "as_string", "decode_raw", "reduce_join", "regex_full_match", "regex_replace",
    "string_join", "string_length", "string_lower", "string_strip", "string_to_number",
    "string_upper", "substr",
]  # fmt: skip

Array = np.ndarray[Any, Any]


def _by_element(function: Callable[..., Any], dtype: DType, *arrays: Any) -> Array:
    """Returns what a function makes of the elements at one place, by broadcasting."""
    made = np.empty(np.broadcast_shapes(*(one.shape for one in arrays)), dtype.numpy)
    rows = [np.broadcast_to(one, made.shape) for one in arrays]
    for place in np.ndindex(made.shape):
        made[place] = function(*(one[place] for one in rows))
    return made


def each(
    kind: str,
    function: Callable[[Any], Any],
    value: Any,
    dtype: DType = string,
    name: str | None = None,
) -> Tensor:
    """Adds an Operation that makes something of each string by itself.

    Args:
        kind: its type.
        function: from bytes to a value of the dtype.
        value: a tensor of strings.
        dtype: of the result.
    """
    text = strings(kind, value)
    return host_tensor(
        kind, partial(_by_element, function, dtype), [text], dtype, text.shape._dims,
        name=name,
    )  # fmt: skip


def strings(kind: str, value: Any, name: str = "input") -> Tensor:
    """Returns a value as a tensor of strings.

    Raises:
        TypeError: it is something else.
    """
    made = convert_to_tensor(value, name=name)
    if made.dtype.base_dtype is not string:
        raise TypeError(
            f"{kind}: Value passed to parameter '{name}' has DataType {made.dtype.name}, and must "
            "be strings; tf.as_string makes them of numbers"
        )
    return made


def string_join(inputs: Any, separator: str = "", name: str | None = None) -> Tensor:
    """Returns strings joined element by element.

    Args:
        inputs: tensors of one shape, or single strings.
        separator: what is between.

    Raises:
        ValueError: the shapes differ.
    """
    parts = [strings("StringJoin", one, "inputs") for one in inputs]
    dims: Dims = ()
    for one in parts:
        if one.shape._dims != ():
            if dims not in ((), None):
                one.shape.assert_is_compatible_with(dims)
            dims = one.shape._dims
    between = separator.encode()
    run = partial(_by_element, lambda *row: between.join(row), string)
    return host_tensor("StringJoin", run, parts, string, dims, name=name)


def as_string(
    input: Any,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
    name: str | None = None,
) -> Tensor:
    """Returns numbers as strings.

    Args:
        input: numbers or truth values.
        precision: digits after the point; below 0: 6 of them.
        scientific: whether with an exponent.
        shortest: whether with an exponent where that is shorter.
        width: the least number of characters.
        fill: what fills these up: '', ' ' or '0'.

    Raises:
        ValueError: both `scientific` and `shortest` are given.
    """
    if scientific and shortest:
        raise ValueError("as_string: cannot select both scientific and shortest notation")
    x = convert_to_tensor(input, name="input")
    letter = "e" if scientific else "g" if shortest else "f"
    size = f"{fill}{width}" if width >= 0 else ""
    if x.dtype.is_floating:
        form = f"%{size}.{precision}{letter}" if precision >= 0 else f"%{size}{letter}"
    else:
        form = f"%{size}s" if x.dtype.is_bool else f"%{size}d"

    def written(one: Any) -> bytes:
        number = one.item()
        return (form % (str(number).lower() if x.dtype.is_bool else number)).encode()

    return host_tensor(
        "AsString", partial(_by_element, written, string), [x], string, x.shape._dims,
        name=name,
    )  # fmt: skip


def string_to_number(
    string_tensor: Any = None, out_type: Any = float32, name: str | None = None, input: Any = None
) -> Tensor:
    """Returns the numbers that strings stand for.

    Args:
        string_tensor: strings.
        out_type: the dtype of the numbers.
        input: another name of `string_tensor`.

    Raises (in a run):
        InvalidArgumentError: one is no number.
    """
    kind = as_dtype(out_type).base_dtype
    text = renamed("string_tensor", string_tensor, "input", input)
    return each("StringToNumber", lambda one: number_of_text(one, kind), text, kind, name)


def number_of_text(text: bytes, kind: DType) -> Any:
    """Returns the number that a string stands for.

    Raises:
        InvalidArgumentError: it is none.
    """
    try:
        return int(text) if kind.is_integer else float(text)
    except ValueError:
        shown = text.decode(errors="replace")
        raise InvalidArgumentError(
            f"StringToNumberOp could not correctly convert string: {shown}"
        ) from None


def substr(input: Any, pos: Any, len: Any, name: str | None = None, unit: str = "BYTE") -> Tensor:
    """Returns a part of each string.

    Args:
        input: strings.
        pos: where it begins, one number or of the shape of `input`; below 0 from the end.
        len: how long it is at most, likewise.
        unit: 'BYTE' or 'UTF8_CHAR': what is counted.

    Raises (in a run):
        InvalidArgumentError: it would begin behind the end.
    """
    text = strings("Substr", input)
    places = [convert_to_tensor(one, int32) if isinstance(one, int) else convert_to_tensor(one)
              for one in (pos, len)]  # fmt: skip
    whole = unit == "BYTE"
    sizes = [one.shape for one in (text, *places)]
    dims: Dims = None
    if all(one.is_fully_defined() for one in sizes):
        known: Any = [tuple(one.as_list()) for one in sizes]
        dims = np.broadcast_shapes(*known)
    elif all(one.shape._dims == () for one in places):
        dims = text.shape._dims

    def cut(one: bytes, at: int, count: int) -> bytes:
        parts: Any = one if whole else one.decode()
        size = parts.__len__()
        if not -size <= at <= size:
            shown = one.decode(errors="replace")
            raise InvalidArgumentError(f"pos {at} out of range for string {shown!r}")
        begin = at % size if at < 0 else at
        found: Any = parts[begin : begin + count]
        made: bytes = found if whole else found.encode()
        return made

    run = partial(_by_element, cut, string)
    return host_tensor("Substr", run, [text, *places], string, dims, name=name)


def string_length(input: Any, name: str | None = None, unit: str = "BYTE") -> Tensor:
    """Returns the length of each string, int32, in bytes or ('UTF8_CHAR') characters."""

    def length(one: bytes) -> int:
        return len(one) if unit == "BYTE" else len(one.decode())

    return each("StringLength", length, input, int32, name)


def string_lower(input: Any, encoding: str = "", name: str | None = None) -> Tensor:
    """Returns strings in small letters; of `encoding` '' only those of ASCII change."""
    return each("StringLower", _cased(bytes.lower, str.lower, encoding), input, string, name)


def string_upper(input: Any, encoding: str = "", name: str | None = None) -> Tensor:
    """Returns strings in capitals; of `encoding` '' only those of ASCII change."""
    return each("StringUpper", _cased(bytes.upper, str.upper, encoding), input, string, name)


def _cased(
    plain: Callable[[bytes], bytes], wide: Callable[[str], str], encoding: str
) -> Callable[[bytes], bytes]:
    return plain if not encoding else lambda one: wide(one.decode(encoding)).encode(encoding)


def string_strip(input: Any, name: str | None = None) -> Tensor:
    """Returns strings without blanks at their ends."""
    return each("StringStrip", bytes.strip, input, string, name)


def regex_replace(
    input: Any, pattern: Any, rewrite: Any, replace_global: bool = True, name: str | None = None
) -> Tensor:
    """Returns strings in which what fits a pattern is replaced.

    Args:
        input: strings.
        pattern: a regular expression.
        rewrite: what takes the place; ``\\1`` is the first group.
        replace_global: whether all of it is replaced, or the first only.
    """
    found, new = re.compile(_bytes_of(pattern)), _bytes_of(rewrite).replace(b"\\0", b"\\g<0>")
    count = 0 if replace_global else 1
    return each("StaticRegexReplace", lambda one: found.sub(new, one, count), input, string, name)


def regex_full_match(input: Any, pattern: Any, name: str | None = None) -> Tensor:
    """Returns whether a regular expression fits each string as a whole."""
    found = re.compile(_bytes_of(pattern))
    return each("StaticRegexFullMatch", lambda one: bool(found.fullmatch(one)), input, bool_, name)


def _bytes_of(text: Any) -> bytes:
    return text if isinstance(text, bytes) else str(text).encode()


def reduce_join(
    inputs: Any,
    axis: Any = None,
    keep_dims: bool | None = None,
    separator: str = "",
    name: str | None = None,
    reduction_indices: Any = None,
    keepdims: bool | None = None,
) -> Tensor:
    """Returns strings joined along axes.

    Args:
        inputs: strings.
        axis: one, or several in the order in which they are joined; None: all, the first last.
        keep_dims: the older name of `keepdims`.
        separator: what is between.
        reduction_indices: the older name of `axis`.
        keepdims: whether these axes stay, with one element.

    Raises:
        ValueError: the number of dimensions is not known.
    """
    text = strings("ReduceJoin", inputs, "inputs")
    given = renamed("axis", axis, "reduction_indices", reduction_indices)
    keep = bool(renamed("keepdims", keepdims, "keep_dims", keep_dims))
    rank, dims = text.shape.ndims, text.shape._dims
    if rank is None or dims is None:
        raise ValueError("reduce_join: the number of dimensions must be known")
    listed = [given] if isinstance(given, int) else range(rank - 1, -1, -1)
    axes = [one % rank for one in (listed if given is None or isinstance(given, int) else given)]
    between = separator.encode()
    left = [1 if n in axes else size for n, size in enumerate(dims) if keep or n not in axes]

    def run(texts: Array) -> Array:
        for one in axes:
            rows = np.moveaxis(texts, one, -1)
            made = np.empty(rows.shape[:-1], object)
            for place in np.ndindex(made.shape):
                made[place] = between.join(rows[place])
            texts = np.expand_dims(made, one)
        return texts if keep else np.asarray(np.squeeze(texts, tuple(axes)), object)

    with name_scope(name, "ReduceJoin", [text]):
        return host_tensor("ReduceJoin", run, [text], string, tuple(left))


def decode_raw(
    input_bytes: Any = None,
    out_type: Any = None,
    little_endian: bool = True,
    name: str | None = None,
    bytes: Any = None,
) -> Tensor:
    """Returns the numbers whose bytes strings are.

    Args:
        input_bytes: strings of one length.
        out_type: the dtype of the numbers.
        little_endian: whether the byte that counts least comes first.
        bytes: the older name of `input_bytes`.

    Returns:
        The numbers of each string along a new last axis.

    Raises (in a run):
        InvalidArgumentError: the lengths differ, or are not those of whole numbers.
    """
    text = strings("DecodeRaw", renamed("input_bytes", input_bytes, "bytes", bytes), "bytes")
    kind = as_dtype(uint8 if out_type is None else out_type).base_dtype
    source = kind.numpy.newbyteorder("<" if little_endian else ">")

    def run(texts: Array) -> Array:
        lengths = {len(one) for one in texts.reshape(-1)}
        if len(lengths) > 1:
            raise InvalidArgumentError(
                f"DecodeRaw requires input strings to all be the same size, {lengths}"
            )
        size = lengths.pop() if lengths else 0
        if size % source.itemsize:
            raise InvalidArgumentError(
                f"Input to DecodeRaw has length {size} that is not a multiple of "
                f"{source.itemsize}, the size of {kind.name}"
            )
        data = b"".join(texts.reshape(-1))
        made = np.frombuffer(data, source).astype(kind.numpy)
        return made.reshape(*texts.shape, size // source.itemsize)

    dims = text.shape.concatenate([None])._dims
    return host_tensor("DecodeRaw", run, [text], kind, dims, name=name)


def places_of(rows: Sequence[Sequence[Any]]) -> tuple[Array, Array]:
    """Returns where the elements of rows are, (n, 2) int64, and the shape of all, as (2,)."""
    places = [(i, j) for i, row in enumerate(rows) for j in range(len(row))]
    longest = max((len(row) for row in rows), default=0)
    return np.array(places, np.int64).reshape(-1, 2), np.array([len(rows), longest], np.int64)
