"""`EvalMetric`: what metrics share; `Tally`: a running sum that nobody waits for before `get`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, final

from hybridnet import registry
from hybridnet.base.array_types import NumpyArray
from hybridnet.base.context import Context
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.ndarray import NDArray, array, zeros
from hybridnet.runtime.recording import recorder
from hybridnet.runtime.traces import init_scope

__all__ = [
    "Arrays",
    "EvalMetric",
    "TalliedMetric",
    "Tally",
    "alias",
    "check_label_shapes",
    "check_rows",
    "create_registered",
    "operands",
    "pairs",
    "register",
]

#: The labels or the predictions of a batch.
Arrays: TypeAlias = NDArray | NumpyArray | Sequence[NDArray | NumpyArray]


@final
class Tally:
    """A running sum of Python numbers and of arrays of one element.

    Numbers are added here. Arrays are added on their device to an array of float64, so that
    reading is the only thing that waits. Inside a traced function numbers go there too, since the
    trace must add them at each call. The device's array stays the same one for good, because a
    traced function goes on writing to the one it found.
    """

    __slots__ = ("_cells", "_host")

    def __init__(self) -> None:
        self._host: float = 0
        self._cells: dict[Context, NDArray] = {}

    def add(self, term: NDArray | float, ctx: Context) -> None:
        """Adds a number, or an array of shape (1,).

        Args:
            term: what to add.
            ctx: where the work is done.
        """
        if not isinstance(term, NDArray) and recorder.current_trace() is None:
            self._host += term
            return
        cell = self._cells.get(ctx)
        if cell is None:
            with init_scope():
                cell = self._cells[ctx] = zeros((1,), ctx, "float64")
        cell.assign(cell + (term.astype("float64") if isinstance(term, NDArray) else float(term)))

    def read(self) -> float:
        """Returns the sum; waits for it."""
        return sum((cell.asscalar().item() for cell in self._cells.values()), self._host)

    def set(self, value: float) -> None:
        """Makes the sum this number; waits for nothing."""
        self._host = value
        for cell in self._cells.values():
            cell[:] = 0.0


def _number(tally: str, doc: str) -> property:
    """Returns a property that is the sum in the tally of this name."""

    def write(metric: EvalMetric, value: float) -> None:
        getattr(metric, tally).set(value)

    return property(lambda metric: getattr(metric, tally).read(), write, doc=doc)


class EvalMetric:
    """The base of metrics: the mean of something over all that was seen since the last `reset`.

    A subclass defines `update`, which adds to `sum_metric` and `num_inst`. The metrics here do so
    without waiting for the values: their sums stay on the device until `get`.

    Args:
        name: what it is called in reports.
        output_names: which predictions `update_dict` hands on; default all.
        label_names: which labels; default all.
        kwargs: what the subclass was made with, for `get_config`.
    """

    def __init__(
        self,
        name: str,
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        **kwargs: object,
    ) -> None:
        self.name = str(name)
        self.output_names = output_names
        self.label_names = label_names
        self._has_global_stats = kwargs.pop("has_global_stats", False)
        self._kwargs = kwargs
        self._sum, self._count = Tally(), Tally()
        self._global_sum, self._global_count = Tally(), Tally()
        self.reset()

    sum_metric = _number("_sum", "The sum since `reset` or `reset_local`; reading it waits.")
    num_inst = _number("_count", "The divisor of the sum.")
    global_sum_metric = _number("_global_sum", "The sum since `reset`; reading it waits.")
    global_num_inst = _number("_global_count", "The divisor of the global sum.")

    def _add(self, term: NDArray | float, count: NDArray | float, ctx: Context) -> None:
        """Adds to the sums, which waits for nothing."""
        self._sum.add(term, ctx)
        self._count.add(count, ctx)
        self._global_sum.add(term, ctx)
        self._global_count.add(count, ctx)

    def reset(self) -> None:
        """Resets the statistics."""
        self.reset_local()
        self.global_sum_metric = 0.0
        self.global_num_inst = 0

    def reset_local(self) -> None:
        """Resets the local sums; `get_global` goes on."""
        self.sum_metric = 0.0
        self.num_inst = 0

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Takes in a batch.

        Args:
            labels: the labels, an array or a list of arrays.
            preds: the predictions, an array for each array of labels.
        """
        raise NotImplementedError(f"{type(self).__name__} must define update(labels, preds)")

    def update_dict(self, label: Mapping[str, NDArray], pred: Mapping[str, NDArray]) -> None:
        """Takes in a batch of named arrays; see `output_names` and `label_names`."""
        self.update(_chosen(label, self.label_names), _chosen(pred, self.output_names))

    def _value(self, total: float, count: float) -> float:
        """Returns the metric's value from its sums; `count` is not 0."""
        return total / count

    def get(self) -> tuple[Any, Any]:
        """Returns the name and the value, nan before the first update; waits for it."""
        count = self.num_inst
        return self.name, self._value(self.sum_metric, count) if count else float("nan")

    def get_global(self) -> tuple[Any, Any]:
        """Returns the name and the value since `reset`, whatever `reset_local` did."""
        if not self._has_global_stats:
            return self.get()
        count = self.global_num_inst
        return self.name, self._value(self.global_sum_metric, count) if count else float("nan")

    def get_name_value(self) -> list[tuple[str, float]]:
        """Returns pairs of name and value."""
        return _listed(self.get())

    def get_global_name_value(self) -> list[tuple[str, float]]:
        """Returns pairs of name and global value."""
        return _listed(self.get_global())

    def get_config(self) -> dict[str, Any]:
        """Returns the configuration as JSON, of which `create` makes an equal metric."""
        return {
            **self._kwargs,
            "metric": type(self).__name__,
            "name": self.name,
            "output_names": self.output_names,
            "label_names": self.label_names,
        }

    def __str__(self) -> str:
        return f"EvalMetric: {dict(self.get_name_value())}"


class TalliedMetric(EvalMetric):
    """The base of metrics that are 'macro', the mean of each update's value, or 'micro'.

    The latter is one value, computed from sums over all that was seen.

    Args:
        name, output_names, label_names: see `EvalMetric`.
        average: 'macro' or 'micro'.

    Raises:
        ParameterError: `average` is something else.
    """

    _num_tallies: int  # how many sums there are

    def __init__(
        self,
        name: str = "tallied",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        average: str = "macro",
    ) -> None:
        if average not in ("macro", "micro"):
            raise ParameterError(f"{name}: average must be 'macro' or 'micro', got {average!r}")
        self._tallies = tuple(Tally() for _ in range(self._num_tallies))
        self._global_tallies = tuple(Tally() for _ in range(self._num_tallies))
        super().__init__(name, output_names, label_names, average=average, has_global_stats=True)
        self.average = average

    def _tally(self, terms: Sequence[NDArray]) -> None:
        """Adds to the sums, local and global."""
        for tallies in (self._tallies, self._global_tallies):
            for tally, term in zip(tallies, terms, strict=True):
                tally.add(term, term.context)

    def reset(self) -> None:
        """Resets the statistics."""
        super().reset()
        for tally in self._global_tallies:
            tally.set(0)

    def reset_local(self) -> None:
        """Resets the local sums; `get_global` goes on."""
        super().reset_local()
        for tally in self._tallies:
            tally.set(0)

    def get(self) -> tuple[Any, Any]:
        """Returns the name and the value, nan before the first update; waits for it."""
        if self.average == "macro":
            return super().get()
        return self.name, self._total(self._tallies, self.num_inst)

    def get_global(self) -> tuple[Any, Any]:
        """Returns the name and the value since `reset`, whatever `reset_local` did."""
        if self.average == "macro":
            return super().get_global()
        return self.name, self._total(self._global_tallies, self.global_num_inst)

    def _total(self, tallies: Sequence[Tally], count: float) -> float:
        return self._of_sums([tally.read() for tally in tallies], count) if count else math.nan

    def _of_sums(self, sums: Sequence[float], count: float) -> float:
        """Returns the value from the sums; `count` is not 0."""
        raise NotImplementedError


register = registry.get_register_func(EvalMetric, "metric")
alias = registry.get_alias_func(EvalMetric, "metric")
create_registered = registry.get_create_func(EvalMetric, "metric")


def check_label_shapes(
    labels: Any, preds: Any, wrap: bool = False, shape: bool = False
) -> tuple[Any, Any]:
    """Checks that labels and predictions are equally many.

    Args:
        labels: an array, or a list of arrays.
        preds: likewise.
        wrap: make lists of single arrays.
        shape: compare shapes, not lengths.

    Returns:
        Labels and predictions.

    Raises:
        ShapeError: they are not.
    """
    got = (labels.shape, preds.shape) if shape else (len(labels), len(preds))
    if got[0] != got[1]:
        what = "shapes" if shape else "lengths"
        raise ShapeError(
            f"metric: the {what} of labels and predictions must be equal, got {got[0]} and {got[1]}"
        )
    if wrap:
        labels = [labels] if isinstance(labels, NDArray) else labels
        preds = [preds] if isinstance(preds, NDArray) else preds
    return labels, preds


def operands(arrays: Arrays) -> list[NDArray]:
    """Returns one array, or several, as a list of NDArrays without a history."""
    several = arrays if isinstance(arrays, (list, tuple)) else [arrays]
    return [value.detach() if isinstance(value, NDArray) else array(value) for value in several]


def pairs(labels: Arrays, preds: Arrays) -> list[tuple[NDArray, NDArray]]:
    """Returns labels and predictions pairwise, without history, each pair on one device.

    Raises:
        ShapeError: they are not equally many.
    """
    labels, preds = operands(labels), operands(preds)
    check_label_shapes(labels, preds)
    return [
        (label.as_in_context(pred.context), pred) for label, pred in zip(labels, preds, strict=True)
    ]


def check_rows(name: str, label: NDArray, pred: NDArray, classes: str = "classes") -> None:
    """Raises a ShapeError unless predictions are (batch, classes) and there are as many labels."""
    if pred.ndim != 2 or label.size != pred.shape[0]:
        raise ShapeError(
            f"{name}: requires predictions of shape (batch, {classes}) and as many labels, got "
            f"{pred.shape} and {label.shape}"
        )


def _chosen(arrays: Mapping[str, NDArray], names: Sequence[str] | None) -> list[NDArray]:
    if names is None:
        return list(arrays.values())
    missing = [name for name in names if name not in arrays]
    if missing:
        raise ParameterError(
            f"update_dict: the arrays must include {', '.join(names)}, got {', '.join(arrays)}"
        )
    return [arrays[name] for name in names]


def _listed(got: tuple[Any, Any]) -> list[tuple[str, float]]:
    names, values = (name if isinstance(name, list) else [name] for name in got)
    return list(zip(names, values, strict=True))
