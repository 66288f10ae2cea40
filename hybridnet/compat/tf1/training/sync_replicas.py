"""`SyncReplicasOptimizer`: workers whose gradients are averaged before variables are changed.

Beside each variable is an accumulator to which workers add their gradients. A thread of the chief
takes each mean when enough gradients have come, has the optimizer apply it, and puts tokens with
the number of the step into a queue; a worker takes one before its next step, and marks its
gradients with it, so that those of a step that is over are dropped (Chen et al. 2016, with backup
workers where there are more workers than gradients are waited for).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, final

from ..dtypes import int32
from ..graph import GraphKeys, Operation, no_op
from ..graph.control import colocate_with, control_dependencies, device, group, name_scope
from ..operations.creation import fill
from ..operations.sparse.tensor import IndexedSlices
from ..queues.queue import FIFOQueue
from ..queues.runner import QueueRunner
from ..variables.lists import global_variables, report_uninitialized_variables
from ..variables.variable import Variable, assign
from .accumulators import ConditionalAccumulator, SparseConditionalAccumulator
from .averages import ExponentialMovingAverage
from .optimizer import Optimizer
from .rates import get_global_step
from .run_hook import SessionRunHook

__all__ = ["SyncReplicasOptimizer"]


@final
class SyncReplicasOptimizer(Optimizer):
    """An optimizer that has another one apply the mean of several workers' gradients.

        opt = tf.train.SyncReplicasOptimizer(tf.train.AdamOptimizer(), replicas_to_aggregate=2)
        train = opt.minimize(loss, global_step=step)
        hook = opt.make_session_run_hook(is_chief)      # for the MonitoredTrainingSession

    Args:
        opt: the other optimizer.
        replicas_to_aggregate: how many workers' gradients are averaged in a step.
        total_num_replicas: how many workers there are; default `replicas_to_aggregate`.
        variable_averages: the `ExponentialMovingAverage` to update after each step, or None.
        variables_to_average: the variables that it averages.
        use_locking: without meaning here.
        name: of the scope of its Operations.
        replica_id: without meaning; scripts from before TensorFlow 1.0 give it.

    Raises:
        ValueError: of `variable_averages` and `variables_to_average` only one is given.
    """

    def __init__(
        self,
        opt: Optimizer,
        replicas_to_aggregate: int,
        total_num_replicas: int | None = None,
        variable_averages: ExponentialMovingAverage | None = None,
        variables_to_average: Sequence[Any] | None = None,
        use_locking: bool = False,
        name: str = "sync_replicas",
        replica_id: int | None = None,
    ) -> None:
        super().__init__(use_locking, name)
        if (variable_averages is None) != (variables_to_average is None):
            raise ValueError("variable_averages and variables_to_average go together")
        total = replicas_to_aggregate if total_num_replicas is None else total_num_replicas
        self._opt = opt
        self._needed, self._total = replicas_to_aggregate, total
        self._averages, self._averaged = variable_averages, variables_to_average
        self._tokens_per_step = max(total, replicas_to_aggregate)
        self._step: Any = None
        self._tokens: FIFOQueue | None = None
        self._runner: QueueRunner | None = None
        self.local_step_init_op: Operation | None = None
        self.chief_init_op: Operation | None = None
        self.ready_for_local_init_op: Any = None

    # -- as an optimizer ---------------------------------------------------------------------

    def compute_gradients(self, *args: Any, **kwargs: Any) -> list[tuple[Any, Variable]]:
        """As the other optimizer's."""
        return self._opt.compute_gradients(*args, **kwargs)

    def get_slot(self, *args: Any, **kwargs: Any) -> Variable | None:
        """As the other optimizer's."""
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> list[str]:
        """As the other optimizer's."""
        return self._opt.get_slot_names(*args, **kwargs)

    def variables(self) -> list[Variable]:
        """Returns the other optimizer's variables."""
        return self._opt.variables()

    def apply_gradients(
        self, grads_and_vars: Iterable[Any], global_step: Any = None, name: str | None = None
    ) -> Operation:
        """Returns a worker's Operation: it adds gradients, and waits until the step is done.

        Args:
            grads_and_vars: pairs; a variable whose gradient is None stays.
            global_step: the variable that counts steps; default the graph's.

        Raises:
            ValueError: there is no pair, or no variable that counts steps.
        """
        pairs = list(grads_and_vars)
        if not pairs:
            raise ValueError("Must supply at least one variable")
        step = self._step = get_global_step() if global_step is None else global_step
        if step is None:
            raise ValueError("Global step is required to check staleness")
        anchor = no_op()
        with colocate_with(anchor):
            local_step = Variable(
                0,
                dtype=step.dtype.base_dtype,
                trainable=False,
                collections=[GraphKeys.LOCAL_VARIABLES],
                name="sync_rep_local_step",
            )
        self.local_step_init_op = assign(local_step, step).op
        self.ready_for_local_init_op = report_uninitialized_variables(global_variables())
        with name_scope(name, self._name):
            added, means, at_step = self._accumulated(pairs, local_step)
            with device(step.device):
                update = self._opt.apply_gradients(means, step)
                kind = step.dtype.base_dtype
                tokens = self._tokens = FIFOQueue(
                    -1, kind, shapes=[()], name="sync_token_q", shared_name="sync_token_q"
                )
            self._runner = self._chief_runner(tokens, update)
            with control_dependencies(added), device(step.device):
                taken = tokens.dequeue()
            trained = assign(local_step, taken)
        self.chief_init_op = group(self.local_step_init_op, *at_step)
        op: Operation = trained.op
        return op

    def _accumulated(
        self, pairs: Sequence[Any], local_step: Variable
    ) -> tuple[list[Operation], list[Any], list[Operation]]:
        """Returns what adds gradients to accumulators, and pairs of mean and variable.

        And what has the accumulators be at the step that there is.
        """
        added: list[Operation] = []
        means: list[Any] = []
        at_step: list[Operation] = []
        for grad, variable in pairs:
            if grad is None:
                means.append((None, variable))
                continue
            where, shape = variable.device, variable.shape
            shared, kind = f"{variable.name}/grad_accum", variable.dtype.base_dtype
            sums: Any
            with device(where):
                if isinstance(grad, IndexedSlices):
                    sums = SparseConditionalAccumulator(kind, shape, shared_name=shared)
                    add, take = sums.apply_indexed_slices_grad, sums.take_indexed_slices_grad
                else:
                    sums = ConditionalAccumulator(kind, shape, shared_name=shared)
                    add, take = sums.apply_grad, sums.take_grad
                added.append(add(grad, local_step))
                means.append((take(self._needed), variable))
                at_step.append(sums.set_global_step(self._step))
        return added, means, at_step

    def _chief_runner(self, tokens: FIFOQueue, update: Operation) -> QueueRunner:
        """Returns the chief's thread: it applies means, and lets the workers go on."""
        with device(self._step.device):
            with control_dependencies([update]):
                done: Operation = tokens.enqueue_many(fill([self._tokens_per_step], self._step))
            if self._averages is not None:
                with control_dependencies([done]):
                    done = self._averages.apply(self._averaged)
        # A runner has a queue; nothing is ever in this one.
        queue = FIFOQueue(1, int32, shapes=[()], name="dummy_queue", shared_name="dummy_queue")
        return QueueRunner(queue, [done])

    # -- for the chief -----------------------------------------------------------------------

    def get_chief_queue_runner(self) -> QueueRunner:
        """Returns what the chief must have running: it applies gradients.

        Raises:
            ValueError: `apply_gradients` was not called.
        """
        if self._runner is None:
            raise ValueError("Should be called after apply_gradients().")
        return self._runner

    def get_init_tokens_op(self, num_tokens: int = -1) -> Operation:
        """Returns the Operation with which the chief lets the workers begin.

        Args:
            num_tokens: how many steps they may make before the first is done, all together; -1: as
                many as make one.

        Raises:
            ValueError: `apply_gradients` was not called, or with so few nobody would ever go on.
        """
        if self._tokens is None:
            raise ValueError("get_init_tokens_op() should be called after apply_gradients().")
        needed = self._needed - self._total
        if num_tokens == -1:
            num_tokens = self._needed
        elif num_tokens < needed:
            raise ValueError(
                f"Too few tokens to finish the first step: {num_tokens} (given) vs {needed} "
                "(needed)"
            )
        if num_tokens <= 0:
            made: Operation = no_op(name="no_init_tokens")
            return made
        with device(self._step.device):
            return self._tokens.enqueue_many(fill([num_tokens], self._step))

    def make_session_run_hook(self, is_chief: bool, num_tokens: int = -1) -> SessionRunHook:
        """Returns the hook that a worker's monitored session needs.

        Args:
            is_chief: whether it is the chief's.
            num_tokens: as for `get_init_tokens_op`.
        """
        return _SyncReplicasHook(self, is_chief, num_tokens)


@final
class _SyncReplicasHook(SessionRunHook):
    """A hook that starts a worker at the current step, and the chief's queue runner."""

    def __init__(self, opt: SyncReplicasOptimizer, is_chief: bool, num_tokens: int) -> None:
        self._opt, self._is_chief, self._count = opt, is_chief, num_tokens
        self._runner: QueueRunner | None = None
        self._first: Operation | None = None

    def begin(self) -> None:
        """Makes what is needed.

        Raises:
            ValueError: `apply_gradients` was not called.
        """
        opt = self._opt
        if opt.local_step_init_op is None:
            raise ValueError("SyncReplicasOptimizer.apply_gradient should be called before.")
        self._init = opt.chief_init_op if self._is_chief else opt.local_step_init_op
        if self._is_chief:
            self._runner = opt.get_chief_queue_runner()
            self._first = opt.get_init_tokens_op(self._count)

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Begins.

        Raises:
            RuntimeError: variables have no values.
        """
        left = session.run(self._opt.ready_for_local_init_op)
        if len(left):
            names = ", ".join(one.decode() for one in left)
            raise RuntimeError(f"SyncReplicasOptimizer: variables have no values: {names}")
        session.run(self._init)
        if self._first is not None:
            session.run(self._first)
        if self._runner is not None:
            self._runner.create_threads(session, coord=coord, daemon=True, start=True)
