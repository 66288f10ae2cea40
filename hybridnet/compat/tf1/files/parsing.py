"""Examples and lines as tensors: ``tf.parse_single_example``, ``tf.decode_csv``."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from hybridnet.base import protobuf

from ..dtypes import DType, as_dtype, float32, int64, string
from ..errors import InvalidArgumentError
from ..graph import Tensor, TensorShape, convert_to_tensor, host_constant, name_scope
from ..operations.scripts import host_call
from ..operations.sparse.tensor import SparseTensor
from ..operations.strings import number_of_text, places_of, strings
from . import messages

__all__ = [
    "FixedLenFeature", "FixedLenSequenceFeature", "VarLenFeature", "decode_csv",
    "parse_example", "parse_single_example",
]  # fmt: skip

Array = np.ndarray[Any, Any]


class FixedLenFeature(NamedTuple):
    """A feature of one size in all examples.

    Attributes:
        shape: of it.
        dtype: float32, int64 or string.
        default_value: what it is in an example without it; None: it must be there.
    """

    shape: Any
    dtype: Any
    default_value: Any = None


class VarLenFeature(NamedTuple):
    """A feature with any number of values: a sparse tensor.

    Attributes:
        dtype: float32, int64 or string.
    """

    dtype: Any


class FixedLenSequenceFeature(NamedTuple):
    """A feature with any number of values of one size each.

    Attributes:
        shape: of each.
        dtype: float32, int64 or string.
        allow_missing: whether an example may be without it; it must be True.
        default_value: what shorter ones are filled with.
    """

    shape: Any
    dtype: Any
    allow_missing: bool = False
    default_value: Any = None


def parse_single_example(
    serialized: Any, features: Mapping[str, Any], name: str | None = None, example_names: Any = None
) -> dict[str, Any]:
    """Returns the features of one Example.

    Args:
        serialized: the message, one string.
        features: what is in it by name: `FixedLenFeature` and its kin.
        example_names: without meaning here.

    Returns:
        A tensor, or a sparse tensor, for each.

    Raises:
        ValueError: there is no feature.
    """
    return _parsed("ParseSingleExample", serialized, features, name, single=True)


def parse_example(
    serialized: Any, features: Mapping[str, Any], name: str | None = None, example_names: Any = None
) -> dict[str, Any]:
    """Returns the features of several Examples, joined along a new first axis.

    Args:
        serialized: the messages, a vector of strings.
        features: as for `parse_single_example`.
        name, example_names: as there.
    """
    return _parsed("ParseExample", serialized, features, name, single=False)


def _parsed(
    kind: str, serialized: Any, features: Mapping[str, Any], name: str | None, single: bool
) -> dict[str, Any]:
    if not features:
        raise ValueError("Missing: features was empty.")
    with name_scope(name, kind, [serialized]) as scope:
        text = strings(kind, serialized, "serialized")
        if text.shape.ndims is None:
            text.set_shape([] if single else [None])
        text.shape.assert_has_rank(0 if single else 1)
        rows = None if single else (text.shape._dims or (None,))[0]
        listed = sorted(features)
        readers = [_reader(key, features[key], rows, single) for key in listed]

        def run(texts: Array) -> list[Array]:
            examples = [_features(one) for one in texts.reshape(-1)]
            return [one for reader in readers for one in reader.read(examples)]

        dtypes = [one for reader in readers for one in reader.dtypes]
        dims = [one for reader in readers for one in reader.dims]
        made = host_call(kind, run, [text], dtypes, dims, name=scope)
        parts = iter(made if isinstance(made, tuple) else (made,))
        return {
            key: SparseTensor(*(next(parts) for _ in range(3)))
            if isinstance(reader, _Sparse)
            else next(parts)
            for key, reader in zip(listed, readers, strict=True)
        }


def _features(message: bytes) -> Any:
    try:
        return messages.Example.FromString(message).features.feature
    except protobuf.message.DecodeError as error:
        raise InvalidArgumentError(f"Could not parse example input: {error}") from None


def _values(features: Any, key: str, dtype: DType) -> Any:
    """Returns the values of a feature, or None if it is not there.

    Raises:
        InvalidArgumentError: they are of another kind.
    """
    if key not in features or features[key].WhichOneof("kind") is None:
        return None
    kind = features[key].WhichOneof("kind")
    wanted = {float32: "float_list", int64: "int64_list", string: "bytes_list"}[dtype]
    if kind != wanted:
        raise InvalidArgumentError(
            f"Key: {key}. Data types don't match. Expected type: {dtype.name}, but the example "
            f"has a {kind}"
        )
    return getattr(features[key], kind).value


def _array(values: Any, dtype: DType) -> Array:
    made = np.empty(len(values), dtype.numpy)
    made[:] = list(values)
    return made


class _Dense:
    """Reads a `FixedLenFeature`, or a `FixedLenSequenceFeature` where `longest` is True."""

    def __init__(self, key: str, feature: Any, rows: Any, single: bool, longest: bool) -> None:
        self._key, self._single, self._longest = key, single, longest
        self._dtype = as_dtype(feature.dtype).base_dtype
        self._shape: Any = tuple(TensorShape(feature.shape).as_list())
        default = feature.default_value
        self._default: Array | None = None
        if default is not None:
            found = host_constant(default, self._dtype)[0]
            self._default = np.broadcast_to(found, self._shape)
        head = () if single else (rows,)
        self.dtypes = [self._dtype]
        self.dims = [(*head, *((None,) if longest else ()), *self._shape)]

    def read(self, examples: Sequence[Any]) -> list[Array]:
        """Returns the values of all examples."""
        found = [self._row(one) for one in examples]
        if self._longest and not self._single:
            most = max((len(one) for one in found), default=0)
            found = [self._filled(one, most) for one in found]
        if self._single:
            return [found[0]]
        shape = (len(found), *(found[0].shape if found else self._shape))
        made = np.empty(shape, self._dtype.numpy)
        for number, one in enumerate(found):
            made[number] = one
        return [made]

    def _row(self, features: Any) -> Array:
        values = _values(features, self._key, self._dtype)
        if self._longest:
            return _array(values or (), self._dtype).reshape(-1, *self._shape)
        if values is None:
            if self._default is None:
                raise InvalidArgumentError(
                    f"Feature: {self._key} (data type: {self._dtype.name}) is required but could "
                    "not be found."
                )
            return self._default
        size = int(np.prod(self._shape))
        if len(values) != size:
            raise InvalidArgumentError(
                f"Key: {self._key}. Can't parse serialized Example: {size} values are needed for "
                f"shape {self._shape}, and there are {len(values)}"
            )
        return _array(values, self._dtype).reshape(self._shape)

    def _filled(self, row: Array, most: int) -> Array:
        empty: Any = b"" if self._dtype is string else 0
        made = np.empty((most, *self._shape), self._dtype.numpy)
        made[...] = empty if self._default is None else self._default
        made[: len(row)] = row
        return made


class _Sparse:
    """Reads a `VarLenFeature`."""

    def __init__(self, key: str, feature: VarLenFeature, single: bool) -> None:
        self._key, self._single = key, single
        self._dtype = as_dtype(feature.dtype).base_dtype
        self.dtypes = [int64, self._dtype, int64]
        rank = 1 if single else 2
        self.dims: list[Any] = [(None, rank), (None,), (rank,)]

    def read(self, examples: Sequence[Any]) -> list[Array]:
        """Returns indices, values and shape."""
        found = [_values(one, self._key, self._dtype) or () for one in examples]
        places, shape = places_of(found)
        values = _array([one for row in found for one in row], self._dtype)
        if self._single:
            return [places[:, 1:], values, shape[1:]]
        return [places, values, shape]


def _reader(key: str, feature: Any, rows: Any, single: bool) -> _Dense | _Sparse:
    if isinstance(feature, VarLenFeature):
        return _Sparse(key, feature, single)
    if isinstance(feature, FixedLenSequenceFeature):
        if not feature.allow_missing:
            raise ValueError(
                f"Unsupported: FixedLenSequenceFeature requires allow_missing to be True: {key}"
            )
        return _Dense(key, feature, rows, single, longest=True)
    if not isinstance(feature, FixedLenFeature):
        raise ValueError(f"Invalid feature {key}:{feature}.")
    return _Dense(key, feature, rows, single, longest=False)


def decode_csv(
    records: Any,
    record_defaults: Sequence[Any],
    field_delim: str = ",",
    use_quote_delim: bool = True,
    name: str | None = None,
    na_value: str = "",
    select_cols: Sequence[int] | None = None,
) -> list[Tensor]:
    """Returns the columns of lines.

    Args:
        records: lines, strings of any shape.
        record_defaults: for each column a list of the value of an empty field, or an empty list or
            tensor of its dtype where there must be one; or its dtype.
        field_delim: what is between fields.
        use_quote_delim: whether ``"`` are around fields that hold it.
        na_value: what stands for an empty field, too.
        select_cols: the columns, by number; default all.

    Returns:
        A tensor of the shape of `records` for each column.

    Raises (in a run):
        InvalidArgumentError: a line has another number of fields, one is missing or no number.
    """
    text = strings("DecodeCSV", records, "records")
    columns = [_default(one) for one in record_defaults]
    wanted = None if select_cols is None else list(select_cols)

    def fields(line: bytes) -> list[str]:
        quoting: Any = csv.QUOTE_MINIMAL if use_quote_delim else csv.QUOTE_NONE
        row = next(csv.reader([line.decode()], delimiter=field_delim, quoting=quoting), [""])
        if wanted is not None:
            row = [one for number, one in enumerate(row) if number in wanted]
        if len(row) != len(columns):
            raise InvalidArgumentError(
                f"Expect {len(columns)} fields but have {len(row)} in record 0"
            )
        return row

    def run(texts: Array, *defaults: Array) -> list[Array]:
        made = [np.empty(texts.shape, kind.numpy) for kind, _ in columns]
        for place, line in np.ndenumerate(texts):
            for number, one in enumerate(fields(line)):
                made[number][place] = _field(number, one, columns[number], na_value)
        return made

    dims = [text.shape._dims] * len(columns)
    made = host_call("DecodeCSV", run, [text], [kind for kind, _ in columns], dims, name=name)
    return list(made) if isinstance(made, tuple) else [made]


def _field(number: int, text: str, column: tuple[DType, Any], na_value: str) -> Any:
    kind, default = column
    if text in ("", na_value):
        if default is None:
            raise InvalidArgumentError(f"Field {number} is required but missing in record 0!")
        return default
    if kind is string:
        return text.encode()
    try:
        return number_of_text(text.encode(), kind)
    except InvalidArgumentError:
        raise InvalidArgumentError(
            f"Field {number} in record 0 is not a valid {kind.name}: {text}"
        ) from None


def _default(given: Any) -> tuple[DType, Any]:
    """Returns the dtype of a column, and what an empty field is, or None."""
    if isinstance(given, (DType, type)):
        return as_dtype(given).base_dtype, None
    if isinstance(given, Tensor):
        found = given.op.get_attr("value") if given.op.type == "Const" else None
        if found is None:
            raise ValueError("decode_csv: record_defaults must be known when the graph is built")
    else:
        found = host_constant(given, None)[0]
    kind = convert_to_tensor(found).dtype.base_dtype
    return kind, found.reshape(-1)[0] if found.size else None
