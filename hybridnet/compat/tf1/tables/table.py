"""Tables: ``tf.lookup.StaticHashTable``, and one that has numbers for unknown words, too.

A table is a dict on the host, which an Operation fills and others look into; each of these is
Python, and cuts the program. It is the graph's, for all sessions of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Final, NamedTuple, final

import numpy as np

from hybridnet.base import farmhash

from ..dtypes import DType, as_dtype, int64, string
from ..errors import FailedPreconditionError
from ..graph import GraphKeys, Operation, Tensor, convert_to_tensor, get_default_graph, no_op
from ..graph.arguments import static_value
from ..graph.control import add_to_collection, get_collection, group, name_scope
from ..operations.scripts import host_tensor
from ..operations.sparse.tensor import SparseTensor
from .initializers import Mapped, TableInitializerBase

__all__ = [
    "FastHashSpec", "HasherSpec", "IdTableWithHashBuckets", "LookupInterface", "StaticHashTable",
    "tables_initializer",
]  # fmt: skip

Array = np.ndarray[Any, Any]


def tables_initializer(name: str = "init_all_tables") -> Operation:
    """Returns the Operation that fills all tables of the graph."""
    made = get_collection(GraphKeys.TABLE_INITIALIZERS)
    return group(*made, name=name) if made else no_op(name)


class LookupInterface(Mapped, ABC):
    """The base class of lookup tables.

    Attributes:
        key_dtype: the dtype of the keys.
        value_dtype: the dtype of the values.
        name: the name of the table.
    """

    def __init__(self, key_dtype: DType, value_dtype: DType, name: str) -> None:
        super().__init__(key_dtype, value_dtype)
        self.name = name

    @property
    @abstractmethod
    def initializer(self) -> Operation:
        """The Operation that fills the table."""

    @property
    def init(self) -> Operation:
        """The older name of `initializer`."""
        return self.initializer

    @abstractmethod
    def size(self, name: str | None = None) -> Tensor:
        """Returns how many values it has, int64; of a table that has not been filled 0."""

    @abstractmethod
    def _found(self, keys: Tensor, name: str | None) -> Tensor:
        """Returns the values of keys."""

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """Returns the value of each key.

        Args:
            keys: a tensor, or a `SparseTensor`.

        Raises:
            TypeError: they have another dtype than the table's.

        Raises (in a run):
            FailedPreconditionError: the table has not been filled.
        """
        sparse = isinstance(keys, SparseTensor)
        texts = keys.values if sparse else convert_to_tensor(keys)
        if texts.dtype.base_dtype is not self.key_dtype:
            raise TypeError(
                f"Dtype of argument `keys` must be {self.key_dtype}, received: {texts.dtype}"
            )
        found = self._found(texts, name)
        return SparseTensor(keys.indices, found, keys.dense_shape) if sparse else found

    def __getitem__(self, keys: Any) -> Any:
        return self.lookup(keys)

    def _sized(
        self, kind: str, own: str | None, count: Callable[[], int], name: str | None
    ) -> Tensor:
        with name_scope(name, f"{self.name}_Size"):
            return host_tensor(kind, lambda: np.int64(count()), [], int64, (), name=own)

    def _looked_up(
        self, kind: str, function: Callable[[Array], Array], keys: Tensor, name: str | None
    ) -> Tensor:
        with name_scope(name, f"{self.name}_Lookup"):
            return host_tensor(kind, function, [keys], self.value_dtype, keys.shape._dims)


class StaticHashTable(LookupInterface):
    """A table whose rows stay as they are.

    Attributes:
        default: the default value, of Python's.
        default_value: it, as a tensor.

    Args:
        initializer: gives the rows.
        default_value: the value of a key that is not there; known when the graph is built.
        name: of the table.

    Raises:
        ValueError: `default_value` is not known.
    """

    def __init__(
        self, initializer: TableInitializerBase, default_value: Any, name: str | None = None
    ) -> None:
        full = get_default_graph().unique_name(name or "hash_table")
        super().__init__(initializer.key_dtype, initializer.value_dtype, full.split("/")[-1])
        self._rows: dict[Any, Any] | None = None
        self.default_value = convert_to_tensor(default_value, self.value_dtype)
        known = static_value(self.default_value)
        if known is None or known.ndim:
            raise ValueError(
                "default_value must be one value that is known when the graph is built, got "
                f"{default_value!r}"
            )
        self.default = known.item()
        self._init = initializer.filling(self._fill)
        add_to_collection(GraphKeys.TABLE_INITIALIZERS, self._init)

    def _fill(self, rows: dict[Any, Any]) -> None:
        self._rows = rows

    @property
    def initializer(self) -> Operation:
        """The Operation that fills the table."""
        return self._init

    def rows(self) -> dict[Any, Any]:
        """Returns its values by key.

        Raises:
            FailedPreconditionError: it has not been filled.
        """
        if self._rows is None:
            raise FailedPreconditionError(
                f"Table not initialized: run tf.tables_initializer() before {self.name!r} is used"
            )
        return self._rows

    def count(self) -> int:
        """Returns how many values it has; 0 where it has not been filled."""
        return len(self._rows or ())

    def values_of(self, keys: Array) -> Array:
        """Returns the value of each key in an array; the default value where there is none."""
        rows, default = self.rows(), self.default
        made = np.empty(keys.size, self.value_dtype.numpy)
        made[:] = [rows.get(one, default) for one in keys.reshape(-1).tolist()]
        return made.reshape(keys.shape)

    def size(self, name: str | None = None) -> Tensor:
        """Returns how many values it has, int64; of a table that has not been filled 0."""
        return self._sized("LookupTableSizeV2", None, self.count, name)

    def _found(self, keys: Tensor, name: str | None) -> Tensor:
        return self._looked_up("LookupTableFindV2", self.values_of, keys, name)


@final
class HasherSpec(NamedTuple):
    """The spec of the hash function that assigns keys to buckets.

    Attributes:
        hasher: the name of the function: 'fasthash', the only one here.
        key: the key of the function; 'fasthash' has none.
    """

    hasher: str
    key: Any


FastHashSpec: Final = HasherSpec("fasthash", None)


@final
class IdTableWithHashBuckets(LookupInterface):
    """A table that gives keys which it has not one of several numbers behind its own.

    Which one is told by TensorFlow's hash, FarmHash's Fingerprint64, for which the package
    pyfarmhash is needed (``pip install 'hybridnet[lookup]'``) where there are several.

    Args:
        table: gives int64 numbers, from 0 on; None: there are only the buckets.
        num_oov_buckets: how many numbers there are for keys that it has not.
        hasher_spec: `FastHashSpec`.
        name: of the table.
        key_dtype: the dtype of the keys: strings or whole numbers; default that of the table's.

    Raises:
        ValueError: there is neither a table nor a bucket, or the hash is another.
        TypeError: the keys or values of the table are of another kind.
        ModuleNotFoundError: there are several buckets, and the package is not installed.
    """

    def __init__(
        self,
        table: StaticHashTable | None,
        num_oov_buckets: int,
        hasher_spec: HasherSpec = FastHashSpec,
        name: str | None = None,
        key_dtype: Any = None,
    ) -> None:
        if table is None and num_oov_buckets <= 0:
            raise ValueError("`oov_buckets` must be > 0 if no `table` is supplied.")
        kind = as_dtype(key_dtype or (string if table is None else table.key_dtype)).base_dtype
        if table is not None and table.key_dtype.is_integer != kind.is_integer:
            raise TypeError(f"key_dtype must fit the table's {table.key_dtype}, got {kind}")
        if table is not None and table.value_dtype is not int64:
            raise TypeError(f"the values of the table must be int64, got {table.value_dtype}")
        own = "hash_bucket" if table is None else table.name
        super().__init__(kind, int64, (name or own).rstrip("/").split("/")[-1])
        self._table = table
        self._count = num_oov_buckets
        self._bucket = _bucket_of(num_oov_buckets, hasher_spec)

    @property
    def initializer(self) -> Operation:
        """The Operation that fills the table."""
        return no_op() if self._table is None else self._table.initializer

    def size(self, name: str | None = None) -> Tensor:
        """Returns how many values it has, int64; of a table that has not been filled 0."""
        table = self._table

        def count() -> int:
            return self._count + (0 if table is None else table.count())

        return self._sized("AddV2", "add", count, name)

    def _found(self, keys: Tensor, name: str | None) -> Tensor:
        return self._looked_up("SelectV2", self._numbers, keys, name)

    def _numbers(self, keys: Array) -> Array:
        table = self._table
        if table is None:
            made, first, missing = np.zeros(keys.shape, np.int64), 0, np.ones(keys.shape, bool)
        else:
            made, first = table.values_of(keys), table.count()
            missing = made == table.default
        if self._count:
            made[missing] = [first + self._bucket(one) for one in keys[missing].tolist()]
        return made


def _bucket_of(count: int, spec: HasherSpec) -> Callable[[Any], int]:
    """Returns the function from a key to its bucket."""
    if not isinstance(spec, HasherSpec):
        raise TypeError(f"hasher_spec must be a HasherSpec, got {type(spec)}")
    if spec.hasher != "fasthash":
        raise ValueError(f"the hash must be that of FastHashSpec, got {spec.hasher!r}")
    if count <= 1:
        return lambda key: 0
    fingerprint = farmhash.fingerprint64

    def bucket(key: Any) -> int:
        made: int = fingerprint(key if isinstance(key, bytes) else b"%d" % key) % count
        return made

    return bucket
