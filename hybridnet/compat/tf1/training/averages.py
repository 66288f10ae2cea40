"""`ExponentialMovingAverage`: slow copies of variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hybridnet.graph import EdgeHandle

from ..graph import GraphKeys, Operation, Tensor, convert_to_tensor, get_default_graph
from ..graph.control import group, name_scope
from ..operations import cast, minimum, zeros
from ..variables.lists import moving_average_variables, trainable_variables
from ..variables.partitioned import slice_like
from ..variables.scope import slot_name
from ..variables.variable import Variable, changed

__all__ = ["ExponentialMovingAverage"]


class ExponentialMovingAverage:
    """Keeps means of variables: ``mean -= (1 - decay) * (mean - variable)``.

    Args:
        decay: how much of the mean is kept.
        num_updates: a number of steps n; if given, at most ``(1 + n) / (10 + n)`` is kept.
        zero_debias: must be False.
        name: of the means.

    Raises:
        ValueError: `zero_debias` is True.
    """

    def __init__(
        self,
        decay: Any,
        num_updates: Any = None,
        zero_debias: bool = False,
        name: str = "ExponentialMovingAverage",
    ) -> None:
        if zero_debias:
            raise ValueError("ExponentialMovingAverage: zero_debias must be False")
        self._decay = decay
        self._num_updates = num_updates
        self.name = name
        self._averages: dict[Any, Variable] = {}

    def apply(self, var_list: Sequence[Any] | None = None) -> Operation:
        """Returns the Operation that moves the means; makes those that are not there yet.

        Args:
            var_list: variables and tensors of floating point; default the trainable variables.

        Raises:
            TypeError: one is not floating point.
        """
        found = trainable_variables() if var_list is None else list(var_list)
        graph = get_default_graph()
        for one in found:
            if not one.dtype.base_dtype.is_floating:
                raise TypeError(f"The variables must be half, float, or double: {one.name}")
            if one not in self._averages:
                self._averages[one] = self._made(one)
                if isinstance(one, Variable):
                    graph.add_to_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, one)
        with name_scope(self.name) as scope:
            decay = convert_to_tensor(self._decay, name="decay")
            if self._num_updates is not None:
                count = cast(convert_to_tensor(self._num_updates), decay.dtype)
                decay = minimum(decay, (count + 1.0) / (count + 10.0))
            moved = [self._moved(one, decay) for one in found]
            return group(*moved, name=scope)

    def _made(self, one: Any) -> Variable:
        graph = one.graph
        with graph.as_default(), graph.control_dependencies(None), graph.name_scope(None):
            held = isinstance(one, Variable)
            initial = one.initialized_value() if held else zeros(one.shape, one.dtype.base_dtype)
            made = Variable(initial, trainable=False, name=slot_name(one, self.name))
        slice_like(made, one)
        return made

    def _moved(self, one: Any, decay: Tensor) -> Operation:
        mean = self._averages[one]._variable
        kept = cast(decay, mean.dtype.base_dtype)

        def moved(now: EdgeHandle, value: EdgeHandle, kept: EdgeHandle) -> Any:
            return now - (now - value) * (1 - kept)

        with name_scope(f"AssignMovingAvg_{one.op.name.replace('/', '_')}"):
            return changed("AssignSub", moved, mean, [convert_to_tensor(one), kept]).op

    def average(self, var: Any) -> Variable | None:
        """Returns the mean of a variable, None if there is none."""
        return self._averages.get(var)

    def average_name(self, var: Any) -> str:
        """Returns the name of the mean of a variable, without ``:0``."""
        if var in self._averages:
            return self._averages[var].op.name
        return f"{var.op.name}/{self.name}"

    def variables_to_restore(self, moving_avg_variables: Any = None) -> dict[str, Any]:
        """Returns, for a `Saver`, names by which variables are restored: their means' if any.

        Args:
            moving_avg_variables: those that have means; default those that `apply` was given.
        """
        graph = get_default_graph()
        own = list(moving_avg_variables or [*trainable_variables(), *moving_average_variables()])
        found = {self.average_name(one): one for one in own}
        means = {one.op.name for one in self._averages.values()}
        taken = {id(one) for one in own}
        for one in graph.get_collection(GraphKeys.GLOBAL_VARIABLES):
            if id(one) not in taken and one.op.name not in means:
                found.setdefault(one.op.name, one)
        return found
