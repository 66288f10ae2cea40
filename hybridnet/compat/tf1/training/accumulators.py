"""Accumulators of gradients: ``tf.ConditionalAccumulator`` and the one of sparse gradients."""

from __future__ import annotations

from typing import Any, NamedTuple, final

from ..dtypes import as_dtype, int32, int64
from ..graph import Operation, Tensor, TensorShape, convert_to_tensor
from ..operations.shared import SharedRef
from ..operations.sparse.tensor import IndexedSlices

__all__ = ["ConditionalAccumulator", "ConditionalAccumulatorBase", "SparseConditionalAccumulator"]


class SparseAccumulatorTakeGradient(NamedTuple):
    """Rows of a gradient.

    Attributes:
        indices: (n,) int64, which they are.
        values: (n, ...) the rows.
        shape: int64, that of the whole; -1 where it is not known.
    """

    indices: Tensor
    values: Tensor
    shape: Tensor


class ConditionalAccumulatorBase:
    """Gradients that are summed up until enough of them have come.

    It counts steps: taking the sum begins the next one, and gradients of earlier steps are dropped.
    As a queue it is on the task of a cluster that its device says, for all who use its name.

    Args:
        kind: the type of its Operation.
        rows: whether gradients are rows; the rest as for `ConditionalAccumulator`.

    Attributes:
        dtype: of the gradients.
        accumulator_ref: its Operation.
        name: that of the Operation.

    Raises:
        ValueError: the reduction is another.
    """

    def __init__(
        self,
        kind: str,
        rows: bool,
        dtype: Any,
        shape: Any,
        shared_name: str | None,
        name: str,
        reduction_type: str,
    ) -> None:
        if reduction_type not in ("MEAN", "SUM"):
            raise ValueError(f"reduction_type must be 'MEAN' or 'SUM', got {reduction_type!r}")
        self.dtype = as_dtype(dtype).base_dtype
        self._shape = TensorShape(shape)
        dims = self._shape._dims
        about = {
            "kind": "rows" if rows else "dense",
            "dtype": self.dtype.name,
            "shape": None if dims is None else list(dims),
            "mean": reduction_type == "MEAN",
        }
        self._ref = SharedRef(kind, about, shared_name, name)
        self.accumulator_ref, self.name = self._ref.op, self._ref.name

    def num_accumulated(self, name: str | None = None) -> Tensor:
        """Returns how many gradients have come since the last were taken."""
        name = name or f"{self.name}_NumAccumulated"
        kind = "ResourceAccumulatorNumAccumulated"
        made: Tensor = self._ref.ask(kind, "count", (), [int32], [()], name=name)
        return made

    def set_global_step(self, new_global_step: Any, name: str | None = None) -> Operation:
        """Returns the Operation that has it be at a step."""
        name = name or f"{self.name}_SetGlobalStep"
        words = {"step": new_global_step}
        return self._ref.tell("ResourceAccumulatorSetGlobalStep", "step", (), words, name)

    def _grad(self, grad: Any, shape: TensorShape) -> Tensor:
        made = convert_to_tensor(grad, self.dtype)
        made.shape.assert_is_compatible_with(shape)
        return made


@final
class ConditionalAccumulator(ConditionalAccumulatorBase):
    """Sums gradients up; see `ConditionalAccumulatorBase`.

        total = tf.ConditionalAccumulator(tf.float32, shape=[2], shared_name="total")
        add = total.apply_grad(grad, local_step)     # on each worker
        mean = total.take_grad(5)                    # waits until 5 have come

    Args:
        dtype: of the gradients.
        shape: of them; None where it is not known.
        shared_name: by which other graphs know it; default its name.
        name: of it.
        reduction_type: 'MEAN' or 'SUM': what is taken.
    """

    def __init__(
        self,
        dtype: Any,
        shape: Any = None,
        shared_name: str | None = None,
        name: str = "conditional_accumulator",
        reduction_type: str = "MEAN",
    ) -> None:
        kind = "ResourceConditionalAccumulator"
        super().__init__(kind, False, dtype, shape, shared_name, name, reduction_type)

    def apply_grad(self, grad: Any, local_step: Any = 0, name: str | None = None) -> Operation:
        """Returns the Operation that adds a gradient, unless its step is over.

        Args:
            grad: the gradient.
            local_step: the step that it is of.

        Raises:
            ValueError: its shape is another.
        """
        given, words = [self._grad(grad, self._shape)], {"step": local_step}
        return self._ref.tell("ResourceAccumulatorApplyGradient", "apply", given, words, name)

    def take_grad(self, num_required: Any, name: str | None = None) -> Tensor:
        """Returns the mean (or sum) of the gradients, when enough have come; the next step begins.

        Args:
            num_required: how many.

        Raises (in a run):
            InvalidArgumentError: `num_required` is below 1.
        """
        kind = "ResourceAccumulatorTakeGradient"
        words, dims = {"count": num_required}, [self._shape._dims]
        made: Tensor = self._ref.ask(kind, "take", (), [self.dtype], dims, words, name)
        return made


@final
class SparseConditionalAccumulator(ConditionalAccumulatorBase):
    """Sums rows of gradients up; a mean is that of the gradients that have the row.

    Arguments are those of `ConditionalAccumulator`; the shape is that of the whole.
    """

    def __init__(
        self,
        dtype: Any,
        shape: Any = None,
        shared_name: str | None = None,
        name: str = "sparse_conditional_accumulator",
        reduction_type: str = "MEAN",
    ) -> None:
        kind = "SparseConditionalAccumulator"
        super().__init__(kind, True, dtype, shape, shared_name, name, reduction_type)

    def apply_indexed_slices_grad(
        self, grad: IndexedSlices, local_step: Any = 0, name: str | None = None
    ) -> Operation:
        """As `apply_grad`, with an `IndexedSlices`."""
        return self.apply_grad(grad.indices, grad.values, grad.dense_shape, local_step, name)

    def apply_grad(
        self,
        grad_indices: Any,
        grad_values: Any,
        grad_shape: Any = None,
        local_step: Any = 0,
        name: str | None = None,
    ) -> Operation:
        """Returns the Operation that adds a sparse gradient, unless it comes too late.

        Args:
            grad_indices: (n,) the numbers of the rows that are given.
            grad_values: (n, ...) the rows.
            grad_shape: the shape of the whole gradient; None if it is not known.
            local_step: the step for which the gradient was computed. A gradient of an earlier step
                than the accumulator's is dropped.

        Raises:
            ValueError: the rows do not fit the accumulator's shape.
        """
        dims = self._shape._dims
        rows = TensorShape(None) if dims is None else TensorShape([None, *dims[1:]])
        given = [convert_to_tensor(grad_indices, int64), self._grad(grad_values, rows)]
        if grad_shape is not None:
            given.append(convert_to_tensor(grad_shape, int64))
        words = {"step": local_step}
        return self._ref.tell("SparseAccumulatorApplyGradient", "apply", given, words, name)

    def take_grad(
        self, num_required: Any, name: str | None = None
    ) -> SparseAccumulatorTakeGradient:
        """Returns the rows, in their order; see `ConditionalAccumulator.take_grad`."""
        dims = self._shape._dims
        rows = None if dims is None else (None, *dims[1:])
        shapes = [(None,), rows, (None if dims is None else len(dims),)]
        kind, words = "SparseAccumulatorTakeGradient", {"count": num_required}
        dtypes = [int64, self.dtype, int64]
        made = self._ref.ask(kind, "take", (), dtypes, shapes, words, name)
        return SparseAccumulatorTakeGradient(*made)

    def take_indexed_slices_grad(self, num_required: Any, name: str | None = None) -> IndexedSlices:
        """As `take_grad`, as an `IndexedSlices`."""
        taken = self.take_grad(num_required, name)
        return IndexedSlices(values=taken.values, indices=taken.indices, dense_shape=taken.shape)
