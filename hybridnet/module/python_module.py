"""`PythonModule`: modules whose computation is Python code, such as a loss."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from hybridnet import ndarray as nd
from hybridnet.base.errors import ParameterError
from hybridnet.initializer.base import Filler
from hybridnet.metric import EvalMetric
from hybridnet.ndarray import NDArray

from .arguments import require
from .base_module import UNIFORM, BaseModule
from .types import (
    Description,
    Logger,
    OptimizerLike,
    Options,
    Requests,
    StoreLike,
)

__all__ = ["PythonLossModule", "PythonModule"]


class PythonModule(BaseModule):
    """The base of modules without parameters; a subclass computes, and says what shapes come out.

    Args:
        data_names: the names of its data.
        label_names: the names of its labels, or None.
        output_names: the names of its outputs.
        logger: where the loops write; default the root logger.
    """

    def __init__(
        self,
        data_names: Sequence[str],
        label_names: Sequence[str] | None,
        output_names: Sequence[str],
        logger: Logger = logging,
    ) -> None:
        super().__init__(logger)
        self._data_names = list(data_names)
        self._label_names = list(label_names or ())
        self._output_names = list(output_names)
        self._data_shapes: Any = None
        self._label_shapes: Any = None
        self._output_shapes: Any = None

    @property
    def data_names(self) -> list[str]:
        """The names of its data."""
        return self._data_names

    @property
    def output_names(self) -> list[str]:
        """The names of its outputs."""
        return self._output_names

    @property
    def data_shapes(self) -> Any:
        """Names and shapes of its data."""
        return self._data_shapes

    @property
    def label_shapes(self) -> Any:
        """Names and shapes of its labels, or None."""
        return self._label_shapes

    @property
    def output_shapes(self) -> Any:
        """Names and shapes of its outputs."""
        return self._output_shapes

    def get_params(self) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
        """Returns two empty dicts: there are no parameters."""
        return {}, {}

    def init_params(
        self,
        initializer: Filler | None = UNIFORM,
        arg_params: Mapping[str, NDArray] | None = None,
        aux_params: Mapping[str, NDArray] | None = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """Marks the parameters as initialized; there are none."""
        self.params_initialized = True

    def init_optimizer(
        self,
        kvstore: StoreLike = "local",
        optimizer: OptimizerLike = "sgd",
        optimizer_params: Options = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> None:
        """Marks the optimizer as initialized; there is nothing to optimize."""
        self.optimizer_initialized = True

    def update(self) -> None:
        """Does nothing: there are no parameters to update."""

    def update_metric(self, eval_metric: EvalMetric, labels: Any, pre_sliced: bool = False) -> None:
        """Adds the outputs to a metric, if the module was bound for labels.

        Raises:
            ParameterError: the labels are lists of each device's.
        """
        if self._label_shapes is None:
            return
        if pre_sliced:
            raise ParameterError("update_metric: a PythonModule takes whole batches of labels")
        eval_metric.update(labels, self.get_outputs())

    def bind(
        self,
        data_shapes: Sequence[Description],
        label_shapes: Sequence[Description] | None = None,
        for_training: bool = True,
        inputs_need_grad: bool = False,
        force_rebind: bool = False,
        shared_module: Any = None,
        grad_req: Requests = "write",
    ) -> None:
        """See `BaseModule.bind`.

        Raises:
            ParameterError: the shapes are not of its data and labels, or `grad_req` is not 'write'.
        """
        if self.binded and not force_rebind:
            self.logger.warning("Already bound, ignoring bind()")
            return
        if grad_req != "write":
            raise ParameterError(f"bind: grad_req must be 'write' here, got {grad_req!r}")
        for what, names, shapes in (
            ("data_shapes", self._data_names, data_shapes),
            ("label_shapes", self._label_names, label_shapes),
        ):
            if shapes is not None and [given[0] for given in shapes] != names:
                raise ParameterError(f"bind: {what} must be of {', '.join(names)}, got {shapes}")
        self.for_training, self.inputs_need_grad = for_training, inputs_need_grad
        self._data_shapes, self._label_shapes = data_shapes, label_shapes
        self._output_shapes = self._compute_output_shapes()
        self.binded = True

    def _compute_output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """Returns names and shapes of the outputs; `_data_shapes` and `_label_shapes` are set."""
        raise self._abstract("_compute_output_shapes")


class PythonLossModule(PythonModule):
    """A loss: its outputs are its data, the scores, and it knows their gradient.

    Args:
        name: with ``_output`` after it, the name of the output.
        data_names: the name of the scores.
        label_names: the name of the labels.
        logger: where the loops write; default the root logger.
        grad_func: gets scores and labels and returns the gradient of the scores, an NDArray or a
            NumPy array; or override `_backward_impl`, which sets `_scores_grad`.

    Raises:
        ParameterError: there is not just one name of each kind.
    """

    def __init__(
        self,
        name: str = "pyloss",
        data_names: Sequence[str] = ("data",),
        label_names: Sequence[str] = ("softmax_label",),
        logger: Logger = logging,
        grad_func: Callable[[NDArray, NDArray], NDArray | np.ndarray] | None = None,
    ) -> None:
        super().__init__(data_names, label_names, [f"{name}_output"], logger)
        if len(self._data_names) != 1 or len(self._label_names) != 1:
            raise ParameterError(
                f"PythonLossModule: needs one name of data and one of labels, got {data_names} "
                f"and {label_names}"
            )
        self._name = name
        self._grad_func = grad_func
        self._scores: Any = None
        self._labels: Any = None
        self._scores_grad: Any = None

    def _compute_output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        return [(self._output_names[0], self._data_shapes[0][1])]

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Takes in scores and, in training, labels."""
        self._scores = data_batch.data[0]
        if self.for_training if is_train is None else is_train:
            self._labels = data_batch.label[0]

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """Returns the scores; they are of whole batches."""
        self._refuse_parts("get_outputs", merge_multi_context)
        return [self._scores]

    def backward(self, out_grads: NDArray | Sequence[NDArray] | None = None) -> None:
        """Computes the gradient of the scores.

        Raises:
            ParameterError: gradients of the outputs are given: nothing comes after a loss.
            MXNetError: the module is not for training.
        """
        if out_grads is not None:
            raise ParameterError("backward: out_grads must be None for a loss")
        require(self.for_training, "backward", "bind it with for_training=True")
        self._backward_impl()

    def _backward_impl(self) -> None:
        """Sets `_scores_grad`, the gradient of `_scores` with the labels `_labels`."""
        if self._grad_func is None:
            raise self._abstract("_backward_impl (or be given a grad_func)")
        grad = self._grad_func(self._scores, self._labels)
        self._scores_grad = grad if isinstance(grad, NDArray) else nd.array(grad)

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """Returns the gradient of the scores."""
        self._refuse_parts("get_input_grads", merge_multi_context)
        return [self._scores_grad]

    @staticmethod
    def _refuse_parts(what: str, merge_multi_context: bool) -> None:
        if not merge_multi_context:
            raise ParameterError(f"{what}: a PythonLossModule takes whole batches")
