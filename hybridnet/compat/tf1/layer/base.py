"""`Layer`: a function with variables of its own, which its first call makes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from .. import dtypes
from ..dtypes import DType, as_dtype
from ..graph import Graph, GraphKeys, TensorShape, get_default_graph
from ..graph.adding import Operation, Tensor, convert_to_tensor, name_scope
from ..nest import flatten, map_structure
from ..operations.control_flow import cond
from ..variables.initial import ones_initializer, zeros_initializer
from ..variables.partitioned import PartitionedVariable
from ..variables.scope import VariableScope, get_variable, variable_scope

__all__ = ["ONES", "ZEROS", "Layer", "chosen", "either", "known_sizes", "weight_settings"]

#: What sets the variables of layers, unless told otherwise.
ZEROS: Final = zeros_initializer()
ONES: Final = ones_initializer()


class Layer:
    """A function of tensors whose variables are made by its first call, and shared by all.

    Those who derive from it override `build`, which makes variables by `add_weight`, and `call`.

    Args:
        trainable: whether optimizers change its variables unless told otherwise.
        name: of the scope of its variables; made unique. Default the class's name in small letters.
        dtype: of its variables; default that of what it is first called with.
        kwargs: ``activity_regularizer``: what is computed of each result, and collected as a loss;
            ``_scope``: the name of its scope exactly, as functions of `tf.layers` have it;
            ``_reuse``: whether the variables must be there already, as for `tf.variable_scope`.

    Attributes:
        built: whether it has its variables.
        trainable: as given.
        dtype: of its variables; None before it is known.
    """

    def __init__(
        self,
        trainable: bool = True,
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        unknown = kwargs.keys() - {"activity_regularizer", "_scope", "_reuse"}
        if unknown:
            raise TypeError(f"{type(self).__name__}: there is no argument {', '.join(unknown)}")
        self.built = False
        self.trainable = trainable
        self.dtype: DType | None = None if dtype is None else as_dtype(dtype).base_dtype
        self._regularizer = kwargs.get("activity_regularizer")
        self._base = name or _in_words(type(self).__name__)
        self._given: str | None = kwargs.get("_scope")
        self._reuse = kwargs.get("_reuse")
        self._scope: VariableScope | None = None
        self._graph: Graph | None = None
        self._weights: list[Any] = []
        self._found: dict[str, list[Any]] = {"losses": [], "updates": []}

    # -- what it is --------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The last part of its scope's name; before the first call, what that is made of."""
        return self._base if self._scope is None else self._scope.name.rpartition("/")[2]

    @property
    def scope_name(self) -> str:
        """The name of the scope of its variables.

        Raises:
            ValueError: it has not been called yet.
        """
        if self._scope is None:
            raise ValueError(f"layer {self._base} has no scope before it is called")
        return self._scope.name

    @property
    def graph(self) -> Graph:
        """The graph it is in."""
        return self._graph or get_default_graph()

    @property
    def weights(self) -> list[Any]:
        """Its variables: those that are trained, and the others."""
        return [*self.trainable_weights, *self.non_trainable_weights]

    variables = weights

    @property
    def trainable_weights(self) -> list[Any]:
        """The trainable variables of the layer: those that optimizers update."""
        return [one for one in self._weights if one.trainable and self.trainable]

    trainable_variables = trainable_weights

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The variables of the layer that optimizers do not update."""
        return [one for one in self._weights if not (one.trainable and self.trainable)]

    non_trainable_variables = non_trainable_weights

    @property
    def losses(self) -> list[Tensor]:
        """The regularization losses of the layer, and those given to `add_loss`."""
        return list(self._found["losses"])

    @property
    def updates(self) -> list[Operation]:
        """The update Operations, which a training step must run beside those of the optimizer."""
        return list(self._found["updates"])

    def count_params(self) -> int:
        """Returns how many numbers its variables hold."""
        return sum(one.shape.num_elements() for one in self._weights)

    # -- for those who derive from it --------------------------------------------------------

    def build(self, input_shape: Any) -> None:
        """Makes the variables.

        Args:
            input_shape: of what it is called with, as far as it is known.
        """
        self.built = True

    def call(self, inputs: Any, *args: Any, **keywords: Any) -> Any:
        """Returns what it makes of its inputs."""
        return inputs

    def add_weight(
        self,
        name: str,
        shape: Any = None,
        dtype: Any = None,
        initializer: Any = None,
        regularizer: Any = None,
        trainable: bool | None = None,
        constraint: Any = None,
        use_resource: bool | None = None,
        synchronization: Any = None,
        aggregation: Any = None,
        partitioner: Any = None,
    ) -> Any:
        """Makes a variable; `tf.get_variable` says what the arguments mean.

        Returns:
            The variable.
        """
        collection = self.graph.get_collection_ref(GraphKeys.REGULARIZATION_LOSSES)
        before = len(collection)
        made = get_variable(
            name,
            shape,
            dtype=dtype or self.dtype or dtypes.float32,
            initializer=initializer,
            regularizer=regularizer,
            trainable=self.trainable if trainable is None else trainable and self.trainable,
            constraint=constraint,
            partitioner=partitioner,
        )
        self._found["losses"] += collection[before:]
        self._weights += made if isinstance(made, PartitionedVariable) else [made]
        return made

    add_variable = add_weight

    def add_update(self, updates: Any, inputs: Any = None) -> None:
        """Adds what has to run in a training step to the collection UPDATE_OPS.

        Args:
            updates: an Operation, a tensor, or a list of them.
            inputs: without meaning here.
        """
        for one in updates if isinstance(updates, (list, tuple)) else [updates]:
            op = one.op if isinstance(one, Tensor) else one
            self._found["updates"].append(op)
            self.graph.add_to_collection(GraphKeys.UPDATE_OPS, op)

    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        """Adds losses to the collection REGULARIZATION_LOSSES; `inputs` is without meaning here."""
        for one in losses if isinstance(losses, (list, tuple)) else [losses]:
            self._found["losses"].append(one)
            self.graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, one)

    # -- calling -----------------------------------------------------------------------------

    def __call__(self, inputs: Any, *args: Any, scope: Any = None, **keywords: Any) -> Any:
        """Calls it; the first call makes the variables.

        Args:
            inputs: a tensor, or a nest of tensors.
            args: further arguments of `call`.
            scope: the scope of its variables, if this is the first call.
            keywords: further arguments of `call`.
        """
        given = map_structure(convert_to_tensor, inputs)
        leaves = flatten(given)
        if self._scope is None:
            self._open(scope)
        assert self._scope is not None
        if self.dtype is None and leaves:
            self.dtype = leaves[0].dtype.base_dtype
        reuse = True if self.built else self._reuse
        block = variable_scope(self._scope, reuse=reuse, auxiliary_name_scope=False)
        with name_scope(self._scope.original_name_scope or None, values=leaves or [None]), block:
            if not self.built:
                self._graph = leaves[0].graph if leaves else get_default_graph()
                self.build(map_structure(lambda one: one.shape, given))
                self.built = True
            made = self.call(given, *args, **keywords)
            if self._regularizer is not None:
                for one in flatten(made):
                    self.add_loss(self._regularizer(one))
        return made

    apply = __call__

    def _open(self, scope: Any) -> None:
        """Notes the scope of its variables."""
        given = scope if scope is not None else self._given
        if given is None and self._reuse is True:
            given = self._base
        with variable_scope(given, self._base) as self._scope:
            pass


def _in_words(name: str) -> str:
    """Returns the name of a class as that of a scope: 'Conv2DTranspose' as 'conv2d_transpose'."""
    parts = re.sub(r"(?<=.)(?=[A-Z][a-z0-9])|(?<=[a-z])(?=[A-Z])", "_", name.lstrip("_"))
    return parts.lower()


def weight_settings(initializer: Any, regularizer: Any, constraint: Any) -> dict[str, Any]:
    """Returns what layers are told of one of their variables, as `Layer.add_weight` takes it."""
    return {"initializer": initializer, "regularizer": regularizer, "constraint": constraint}


def known_sizes(layer: str, shape: TensorShape, *axes: int) -> list[int]:
    """Returns the sizes of axes, which variables are made of.

    Raises:
        ValueError: one of them is not known.
    """
    if shape.ndims is None:
        raise ValueError(f"{layer}: the number of dimensions of the input must be known")
    found: list[Any] = [shape.as_list()[one] for one in axes]
    if None in found:
        raise ValueError(
            f"{layer}: axis {axes[found.index(None)]} of the input must be known when the layer is "
            f"first called, got shape {shape}"
        )
    return found


def chosen(training: Any) -> bool | Tensor:
    """Returns whether it is training, as a bool where that is known when the graph is built."""
    return training if isinstance(training, Tensor) else bool(training)


def either(training: Any, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
    """Returns what one of two functions returns; makes both where only a run tells which."""
    known = chosen(training)
    if isinstance(known, Tensor):
        return cond(known, yes, no)
    return yes() if known else no()
