"""Checks of modules' arguments: names of inputs, descriptions of data, stages of life."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any, Final

from hybridnet import metric
from hybridnet.base.context import Context
from hybridnet.base.errors import ParameterError, RefusedError, ShapeError
from hybridnet.io import DataDesc
from hybridnet.symbol import Symbol

from .types import Description, Groups, MetricLike

__all__ = [
    "as_groups",
    "as_list",
    "as_metric",
    "batch_shapes",
    "check_names",
    "described_as",
    "descriptions",
    "matched_descriptions",
    "require",
    "split_rows",
]

# How names of parameters end: they are no candidates for names of inputs.
_PARAMETERS: Final = ("_weight", "_bias", "_gamma", "_beta")


def require(condition: object, what: str, needed: str) -> None:
    """Raises a RefusedError unless a module has come to the stage that a method needs.

    Args:
        condition: whether it has.
        what: the method.
        needed: what must be done before.
    """
    if not condition:
        raise RefusedError(f"{what}: the module must be ready for it; {needed} first")


def as_list(given: Any) -> list[Any]:
    """Returns callbacks as a list: of one, of several, or of none."""
    if given is None:
        return []
    return list(given) if isinstance(given, (list, tuple)) else [given]


def as_metric(given: MetricLike) -> metric.EvalMetric:
    """Returns a metric: itself, or one of a name."""
    return given if isinstance(given, metric.EvalMetric) else metric.create(given)


def check_names(symbol: Symbol, names: Sequence[str], kind: str, must: bool) -> None:
    """Sees that a symbol has arguments of some names.

    Args:
        symbol: the network.
        names: the names.
        kind: what they are, as in the argument ``data_names``.
        must: whether one that is missing is an error, and not a warning.

    Raises:
        ParameterError: one is missing.
    """
    arguments = symbol.list_arguments()
    for name in names:
        if name in arguments:
            continue
        others = ", ".join(arg for arg in arguments if not arg.endswith(_PARAMETERS))
        message = (
            f"Module: {kind}_names={list(names)} names {name!r}, which the symbol does not have; "
            f"its inputs may be {others or 'none'}"
        )
        if must:
            raise ParameterError(message)
        warnings.warn(message, stacklevel=4)


def descriptions(what: str, shapes: Iterable[Description]) -> list[DataDesc]:
    """Returns descriptions of inputs, from such or from tuples of a name, a shape and so on.

    Raises:
        ParameterError: a shape is none.
    """
    made = [item if isinstance(item, DataDesc) else DataDesc(*item) for item in shapes]
    for desc in made:
        good = isinstance(desc.shape, (tuple, list)) and all(
            isinstance(size, Integral) and int(size) >= 0 for size in desc.shape
        )
        if not good:
            raise ParameterError(
                f"{what}: the shape of {desc.name!r} must be a tuple of whole numbers, got "
                f"{desc.shape!r}"
            )
    return made


def matched_descriptions(
    data_names: Sequence[str],
    label_names: Sequence[str],
    data_shapes: Iterable[Description],
    label_shapes: Iterable[Description] | None,
) -> tuple[list[DataDesc], list[DataDesc] | None]:
    """Returns descriptions of data and labels, the names of which must be those of the module.

    Raises:
        ParameterError: those of data are not; with labels it is a warning.
    """
    data = descriptions("data_shapes", data_shapes)
    labels = None if label_shapes is None else descriptions("label_shapes", label_shapes)
    if sorted(data_names) != sorted(desc.name for desc in data):
        raise ParameterError(
            f"bind: data_shapes must be of the module's data_names {list(data_names)}, got {data}"
        )
    if sorted(label_names) != sorted(desc.name for desc in labels or ()):
        warnings.warn(
            f"bind: label_shapes should be of the module's label_names {list(label_names)}, got "
            f"{labels}",
            stacklevel=4,
        )
    return data, labels


def split_rows(batch_size: int, work_load_list: Sequence[float]) -> list[slice]:
    """Returns which rows of a batch each device takes, by the devices' shares of the work.

    Raises:
        ParameterError: a device would have no rows.
    """
    total = sum(work_load_list)
    counts = [round(share * batch_size / total) for share in work_load_list]
    counts[-1] += max(batch_size - sum(counts), 0)
    slices, end = [], 0
    for count in counts:
        start, end = min(end, batch_size), min(end + count, batch_size)
        if start >= end:
            raise ParameterError(
                f"a batch must have rows for each of the {len(counts)} devices, got {batch_size} "
                f"for work_load_list={list(work_load_list)}"
            )
        slices.append(slice(start, end))
    return slices


def as_groups(group2ctxs: Groups, count: int) -> list[Mapping[str, Context] | None]:
    """Returns for each of several devices where its groups of nodes are.

    Args:
        group2ctxs: a list of such dicts; one for all; or a dict whose values are lists of one
            context, or of one for each device.
        count: how many devices.

    Raises:
        ParameterError: it is none of these.
    """
    if group2ctxs is None:
        return [None] * count
    if isinstance(group2ctxs, list) and len(group2ctxs) == count:
        return group2ctxs
    if not isinstance(group2ctxs, Mapping):
        raise ParameterError(
            f"group2ctxs must be a dict, or a list of {count} dicts, from ctx_group to contexts, "
            f"got {group2ctxs!r}"
        )
    groups: list[dict[str, Context]] = [{} for _ in range(count)]
    for name, given in group2ctxs.items():
        places = [given] if isinstance(given, Context) else list(given)
        if len(places) == 1:
            places *= count
        if len(places) != count:
            raise ParameterError(
                f"group2ctxs[{name!r}] must be one context or {count}, got {len(places)}"
            )
        for group, place in zip(groups, places, strict=True):
            group[name] = place
    return list(groups)


def batch_shapes(batch: Any) -> list[tuple[int, ...]]:
    """Returns the shapes of a batch's data. A list of batches counts as one batch of all rows.

    Raises:
        ShapeError: the batches of a list have different shapes.
    """
    if not isinstance(batch, list):
        return [tuple(x.shape) for x in batch.data]
    each = [[tuple(x.shape) for x in part.data] for part in batch]
    if not each or any(shapes != each[0] for shapes in each):
        raise ShapeError(f"forward: batches of a list must have one shape, got {each}")
    return [(len(batch) * first, *rest) for first, *rest in each[0]]


def described_as(
    batch: Any,
    shapes: Sequence[tuple[int, ...]],
    data: Sequence[DataDesc],
    labels: Sequence[DataDesc] | None,
) -> tuple[list[DataDesc], list[DataDesc] | None]:
    """Returns the descriptions of data and labels with which a batch can be computed.

    A batch may bring its own (`provide_data`, `provide_label`); else they are those that a module
    is bound for, in the batch's shapes.

    Args:
        batch: the batch.
        shapes: the shapes of its data.
        data: the descriptions of the data that the module is bound for.
        labels: those of the labels, or None.
    """
    found = getattr(batch, "provide_data", None) or [
        DataDesc(desc.name, shape, desc.dtype, desc.layout)
        for desc, shape in zip(data, shapes, strict=True)
    ]
    given = getattr(batch, "label", None)
    of_labels = getattr(batch, "provide_label", None) or None
    if of_labels is None and given and labels:
        of_labels = [
            DataDesc(desc.name, label.shape, desc.dtype, desc.layout)
            for desc, label in zip(labels, given, strict=True)
        ]
    elif of_labels is None and labels:
        # A batch to predict has no labels, but the labels' arrays need as many rows as the data.
        of_labels = [_with_rows(desc, data[0], shapes[0]) for desc in labels]
    return found, of_labels


def _with_rows(desc: DataDesc, data: DataDesc, shape: Sequence[int]) -> DataDesc:
    """Returns the description of a label for as many rows as data of a shape have."""
    axis, rows = DataDesc.get_batch_axis(desc.layout), DataDesc.get_batch_axis(data.layout)
    sizes = list(desc.shape)
    if axis >= 0 and rows >= 0:
        sizes[axis] = shape[rows]
    return DataDesc(desc.name, tuple(sizes), desc.dtype, desc.layout)
