"""The types that signatures of modules are written in."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any, Protocol, TypeAlias, TypedDict

from hybridnet.base.array_types import DTypeLike
from hybridnet.base.context import Context
from hybridnet.executor import Executor
from hybridnet.io import DataDesc
from hybridnet.kv import KVStoreBase
from hybridnet.metric.composite import MetricLike
from hybridnet.ndarray import NDArray
from hybridnet.optimizer import Optimizer
from hybridnet.symbol import Symbol

__all__ = [
    "Batch",
    "Batches",
    "Callbacks",
    "Description",
    "EpochCallback",
    "Groups",
    "Labels",
    "Logger",
    "MetricLike",
    "ModuleOptions",
    "MonitorLike",
    "NamedModuleOptions",
    "OptimizerLike",
    "Options",
    "Requests",
    "RowsOf",
    "StoreLike",
]


class Batch(Protocol):
    """A batch, computed at once: a `DataBatch`, or another object with arrays `data`."""

    @property
    def data(self) -> Sequence[NDArray]:
        """The array of each input."""


class Batches(Protocol):
    """A source of batches: a `DataIter`, or another object with its methods.

    To train it also has `provide_data` and `provide_label`, as attributes or as properties.
    """

    def reset(self) -> None:
        """Goes back to the beginning."""

    def __iter__(self) -> Iterator[Any]:
        """Returns an iterator over batches, which have `data`, and maybe `label` and `pad`."""


class MonitorLike(Protocol):
    """An observer of arrays while they are computed: a `Monitor`."""

    def install(self, exe: Executor) -> None:
        """Makes it look at what an executor computes."""

    def tic(self) -> None:
        """Begins a batch."""

    def toc_print(self) -> None:
        """Ends a batch, and logs what was seen."""


class ModuleOptions(TypedDict, total=False):
    """The keyword arguments of `Module` and of `BucketingModule`."""

    logger: Logger
    context: Context | Sequence[Context]
    work_load_list: Sequence[float] | None
    fixed_param_names: Sequence[str] | None
    state_names: Sequence[str] | None
    group2ctxs: Groups
    compression_params: Mapping[str, str | float] | None


class NamedModuleOptions(ModuleOptions, total=False):
    """The keyword arguments of `Module`."""

    data_names: Sequence[str] | None
    label_names: Sequence[str] | None


#: A `DataDesc`, or name and shape, maybe with dtype and layout.
Description: TypeAlias = (
    DataDesc
    | tuple[str, Sequence[int]]
    | tuple[str, Sequence[int], DTypeLike]
    | tuple[str, Sequence[int], DTypeLike, str]
)
#: One function that gets a `BatchEndParam`, several, or none.
Callbacks: TypeAlias = "Callable[[Any], object] | Sequence[Callable[[Any], object]] | None"
#: It gets the number of the pass, the network, its parameters and its auxiliary states.
EpochCallback: TypeAlias = Callable[
    [int, Symbol, Mapping[str, NDArray], Mapping[str, NDArray]], object
]
#: Where groups of nodes are: for all devices, or for each.
Groups: TypeAlias = (
    Mapping[str, Context | Sequence[Context]] | Sequence[Mapping[str, Context] | None] | None
)
#: The arrays of labels of a batch, of each device where they are cut already.
Labels: TypeAlias = Sequence[NDArray] | Sequence[Sequence[NDArray]] | None
#: A logger, or the module `logging`, which logs by the root logger.
Logger: TypeAlias = logging.Logger | ModuleType
OptimizerLike: TypeAlias = str | Optimizer
#: Keyword arguments, by name or as pairs.
Options: TypeAlias = Mapping[str, object] | Iterable[tuple[str, object]]
#: 'write', 'add' or 'null': for all, in order, or by name.
Requests: TypeAlias = str | Sequence[str] | Mapping[str, str]
#: Gives for a batch the rows of parameters that it needs, by the parameter's name.
RowsOf: TypeAlias = Callable[[Any], Mapping[str, NDArray]]
#: A store, the name of one, or none.
StoreLike: TypeAlias = KVStoreBase | str | None
