"""`Optimizer`: from a loss to an Operation that changes variables; slots beside them.

The update of a variable is one Operation: it reads what the variable and its slots hold at that
point of a run, and assigns the new values, as part of the program that computes the gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from hybridnet.graph import ASSIGN, READ, EdgeHandle

from ..graph import Graph, Operation, Tensor, compose, constant, convert_to_tensor
from ..graph.control import control_dependencies, group, name_scope
from ..graph.gradients import gradients
from ..operations.elementwise import cast
from ..variables.lists import trainable_variables
from ..variables.partitioned import slice_like
from ..variables.scope import slot_name
from ..variables.variable import Variable, assign, assign_add

__all__ = ["Optimizer"]

#: The handles of what a rule works on: values of the variable and its slots, numbers, gradient.
Handles = Sequence[EdgeHandle]


class Optimizer:
    """Changes variables so that a loss becomes smaller; subclasses say how.

    Args:
        use_locking: without meaning here: a run's updates are made together.
        name: of the Operations that it makes, and of its slots.
        use_own_namescope_for_non_slot_vars: whether variables of its own have its name, too.

    Raises:
        ValueError: there is no name.
    """

    GATE_NONE: Final = 0
    GATE_OP: Final = 1
    GATE_GRAPH: Final = 2

    #: The type of the Operation that updates a variable.
    _kind: str = ""

    def __init__(
        self, use_locking: bool, name: str, use_own_namescope_for_non_slot_vars: bool = False
    ) -> None:
        if not name:
            raise ValueError("Must specify the optimizer name")
        self._name = name
        self._own_scope = use_own_namescope_for_non_slot_vars
        self._slots: dict[str, dict[Variable, Variable]] = {}
        self._others: dict[tuple[str, Graph], Variable] = {}
        # Subclasses have here the slots of each variable, with what they hold in the beginning, ...
        self._begun: dict[str, float] = {}
        # ... and the numbers that the rule needs, which may be tensors or functions of nothing.
        self._given: dict[str, Any] = {}

    # -- for subclasses ----------------------------------------------------------------------

    def _numbers(self) -> dict[str, Any]:
        """Returns the numbers that the rule needs by name."""
        return self._given

    def _prepared(self, grad: Tensor, numbers: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        """Returns what the rule takes of a gradient and the numbers, which is both as they are.

        What is computed from these alone had better be so here: the variable may be in another
        process, which has the rule to compute for all workers.
        """
        return grad, numbers

    def _begin(self, variables: Sequence[Variable]) -> None:
        """Makes variables that are not for one variable alone."""

    def _rule(self, held: Handles, numbers: Handles, grad: EdgeHandle) -> list[EdgeHandle]:
        """Returns the new values of a variable and its slots.

        Args:
            held: their values, the variable's first.
            numbers: those of `_numbers`, if `_prepared` leaves any.
            grad: the gradient, or what `_prepared` makes of it.
        """
        raise NotImplementedError

    def _finish(self, updates: list[Operation], name: str) -> Operation:
        """Returns the Operation that is done when all updates are."""
        return group(*updates, name=name)

    # -- from a loss to a step ---------------------------------------------------------------

    def minimize(
        self,
        loss: Any,
        global_step: Any = None,
        var_list: Any = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: Any = None,
    ) -> Operation:
        """Returns the Operation that takes one training step.

        Args:
            loss: the tensor to be minimized.
            global_step: a variable that counts the steps, or None.
            var_list: the variables that are changed; default all trainable variables.
            gate_gradients, aggregation_method, colocate_gradients_with_ops: ignored.
            name: the name of the Operation; ignored.
            grad_loss: the gradient of the loss; default ones.

        Raises:
            ValueError: the loss depends on none of the variables.
        """
        pairs = self.compute_gradients(
            loss, var_list, gate_gradients, aggregation_method, grad_loss=grad_loss
        )
        if all(grad is None for grad, _ in pairs):
            names = [str(one) for _, one in pairs]
            raise ValueError(
                "No gradients provided for any variable, check your graph for ops that do not "
                f"support gradients, between variables {names} and loss {loss}."
            )
        return self.apply_gradients(pairs, global_step, name)

    def compute_gradients(
        self,
        loss: Any,
        var_list: Any = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: Any = None,
    ) -> list[tuple[Any, Variable]]:
        """Returns pairs of gradient (or None) and variable; arguments as those of `minimize`.

        Raises:
            ValueError: there are no variables, or the loss is not floating point.
            TypeError: one is no variable.
        """
        if gate_gradients not in (self.GATE_NONE, self.GATE_OP, self.GATE_GRAPH):
            raise ValueError(f"gate_gradients must be one of 0, 1, 2, got {gate_gradients}")
        tensor = convert_to_tensor(loss)
        if not tensor.dtype.is_floating:
            raise ValueError(f"Invalid type {tensor.dtype} for {tensor.name}, expected floating.")
        found = trainable_variables() if var_list is None else _flat(var_list)
        if not found:
            raise ValueError("No variables to optimize.")
        for one in found:
            if not isinstance(one, Variable):
                raise TypeError(f"Optimizer: {one!r} is no variable")
        given = None if grad_loss is None else [grad_loss]
        return list(zip(gradients([tensor], found, given), found, strict=True))

    def apply_gradients(
        self, grads_and_vars: Iterable[Any], global_step: Any = None, name: str | None = None
    ) -> Operation:
        """Returns the Operation that changes variables by gradients.

        Args:
            grads_and_vars: pairs; a variable whose gradient is None stays.
            global_step: a variable that counts steps.
            name: of the Operation; default the optimizer's.

        Raises:
            ValueError: there is no pair, or no gradient.
        """
        pairs = [(grad, one) for grad, one in grads_and_vars]
        if not pairs:
            raise ValueError("No variables provided.")
        held = [(grad, one) for grad, one in pairs if grad is not None]
        if not held:
            names = [str(one) for _, one in pairs]
            raise ValueError(f"No gradients provided for any variable: {names}.")
        variables = [one for _, one in held]
        self._begin(variables)
        for one in variables:
            for slot, value in self._begun.items():
                self._make_slot(one, slot, value)
        with name_scope(name, self._name) as scope:
            numbers = [
                convert_to_tensor(one() if callable(one) else one, name=key)
                for key, one in self._numbers().items()
            ]
            updates = [self._updated(grad, one, numbers) for grad, one in held]
            if global_step is None:
                return self._finish(updates, scope)
            with control_dependencies([self._finish(updates, "update")]):
                return assign_add(global_step, 1, name=scope).op

    def _updated(self, grad: Any, variable: Variable, numbers: list[Tensor]) -> Operation:
        refs = [variable, *(self._slots[slot][variable] for slot in self._begun)]
        tensors = [one._variable for one in refs]
        count, kind = len(refs), variable.dtype.base_dtype

        def update(*handles: EdgeHandle) -> list[EdgeHandle]:
            held = [one.apply_call(READ, [one], ())[0] for one in handles[:count]]
            new = self._rule(held, handles[count:-1], handles[-1])
            pairs = zip(handles[:count], new, strict=True)
            return [ref.apply_call(ASSIGN, [ref, value], ())[0] for ref, value in pairs]

        change, left = self._prepared(convert_to_tensor(grad), numbers)
        with name_scope(f"update_{variable.op.name}"), variable.graph.colocate_with(variable.op):
            given = [cast(one, kind) for one in (*left, change)]
            made = compose(
                self._kind, update, [*tensors, *given], dtypes=[one.dtype for one in tensors]
            )
            op: Operation = (made[0] if isinstance(made, tuple) else made).op
            if variable.constraint is None:
                return op
            with control_dependencies([op]):
                return assign(variable, variable.constraint(variable.read_value())).op

    # -- slots -------------------------------------------------------------------------------

    def _make_slot(self, variable: Variable, slot: str, value: float) -> Variable:
        slots = self._slots.setdefault(slot, {})
        if variable not in slots:
            slots[variable] = self._hidden(
                lambda: constant(value, variable.dtype.base_dtype, variable.shape.as_list()),
                slot_name(variable, self._name),
                variable,
            )
            slice_like(slots[variable], variable)
        return slots[variable]

    def _hidden(self, value: Callable[[], Tensor], name: str, beside: Variable) -> Variable:
        graph = beside.graph
        with (
            graph.as_default(),
            graph.control_dependencies(None),
            graph.name_scope(None),
            graph.colocate_with(beside.op),
        ):
            return Variable(value, trainable=False, name=name)

    def _other(self, name: str, value: float, beside: Variable) -> Variable:
        """Returns a variable of the optimizer's own, one in each graph."""
        key = name, beside.graph
        if key not in self._others:
            with beside.graph.as_default(), beside.graph.control_dependencies(None):
                kind = beside.dtype.base_dtype
                name = f"{self._name}/{name}" if self._own_scope else name
                with beside.graph.colocate_with(beside.op):
                    self._others[key] = Variable(value, trainable=False, name=name, dtype=kind)
        return self._others[key]

    def get_slot(self, var: Variable, name: str) -> Variable | None:
        """Returns a variable's slot of a name, None if there is none."""
        return self._slots.get(name, {}).get(var)

    def get_slot_names(self) -> list[str]:
        """Returns the names of the slots."""
        return sorted(self._slots)

    def get_name(self) -> str:
        """Returns the name."""
        return self._name

    def variables(self) -> list[Variable]:
        """Returns the slots, and the optimizer's own variables, by name."""
        slots = [one for held in self._slots.values() for one in held.values()]
        return sorted([*slots, *self._others.values()], key=lambda one: one.name)


def _flat(var_list: Any) -> list[Any]:
    if isinstance(var_list, Variable):
        return [var_list]
    several = var_list.values() if isinstance(var_list, dict) else var_list
    nests = (list, tuple, dict)
    return [leaf for one in several for leaf in (_flat(one) if isinstance(one, nests) else [one])]
