"""`Executor`: a symbol bound to arrays, which computes its outputs and its gradients.

Forward and backward are each one call recorded into the caller's segment, like any operator. So a
training loop that reads no value between forward, backward and the update of the parameters is
launched as one program for each step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Final, final

import numpy as np

from hybridnet.base import config
from hybridnet.base.array_owners import owns_arrays
from hybridnet.base.context import Context
from hybridnet.base.dtype import is_float
from hybridnet.base.errors import MXNetError, ParameterError, ShapeError
from hybridnet.graph import (
    STATE,
    Edge,
    Graph,
    Node,
    infer_types,
    prepare,
    read_values,
    to_text,
    with_probes,
)
from hybridnet.ndarray import NDArray, array
from hybridnet.ndarray.internal import zeros_of
from hybridnet.ops.core import OpCall
from hybridnet.passes import PIPELINE
from hybridnet.runtime.calls import (
    Attempts,
    GraphPrograms,
    PreparedCall,
    Run,
    planned,
    with_csr_parts,
)
from hybridnet.runtime.placing import OnOneDevice, OnSeveralDevices, PartitionedCall
from hybridnet.runtime.recording import Value, generator, recorder
from hybridnet.tape import move

from .bound import Bound
from .heads import head_grads
from .sparse import dense, warn_made_dense, zeros_like_stored

_DRAWS_ANEW: Final = (
    "backward: there was no forward(is_train=True) before it, and computing that now would draw "
    "other random numbers (Dropout and the like); call forward(is_train=True) first"
)

#: The pass that computes equal expressions once.
_MERGING: Final = "duplicates"

Monitor = Callable[[str, NDArray], Any]
#: A run, the first operands of its gradient, and the statistics of its averages.
_Kept = tuple[Run, list[Value], list[list[Value]]]


def _draws_always(graph: Graph) -> bool:
    """Whether a graph draws random numbers outside training, too."""
    return any(
        not isinstance(node.call, OpCall)
        or not node.call.operator.takes_train
        or node.call.attrs.get("mode") == "always"
        for node in graph.nodes
        if node.call is not None and node.call.takes_state
    )


@owns_arrays
@final
class Executor:
    """A symbol with the arrays it computes with. Made by `Symbol.bind` and `Symbol.simple_bind`.

    Attributes:
        arg_arrays: the arguments' arrays, in the order of `Symbol.list_arguments`.
        grad_arrays: the arrays that `backward` writes gradients to, in the same order; None where
            none is wanted.
        aux_arrays: the auxiliary states, in the order of `Symbol.list_auxiliary_states`.
        arg_dict: the arguments' arrays by name.
        grad_dict: the gradient arrays by name.
        aux_dict: the auxiliary states by name.
    """

    def __init__(
        self,
        symbol: Bound,
        ctx: Context,
        args: Mapping[str, NDArray],
        grads: Mapping[str, NDArray | Any],
        grad_req: Mapping[str, str],
        aux: Mapping[str, NDArray],
        programs: GraphPrograms,
        devices: Mapping[Node, str] | None = None,
    ) -> None:
        self._symbol = symbol
        self._devices = devices
        self._ctx = ctx.computes_on
        self._grad_req = dict(grad_req)
        self._programs = self._unwatched = programs
        self.arg_dict = dict(args)
        self.grad_dict = dict(grads)
        self.aux_dict = dict(aux)
        self.arg_arrays = list(self.arg_dict.values())
        self.grad_arrays = list(self.grad_dict.values())
        self.aux_arrays = list(self.aux_dict.values())
        names = symbol.list_inputs()
        held = {**self.arg_dict, **self.aux_dict}
        self._inputs = [held[name] for name in names]
        self._where: OnOneDevice | OnSeveralDevices = OnOneDevice(self._ctx)
        if devices is not None:
            self._where = OnSeveralDevices(self._ctx, [array.context for array in self._inputs])
        self._types = self._kinds = tuple(array.type for array in self._inputs)
        self._sparse = [i for i, array in enumerate(self._inputs) if array.stype != "default"]
        asked = [
            number
            for number, name in enumerate(names)
            if self.grad_dict.get(name) is not None and grad_req[name] != "null"
        ]
        # Whole numbers have gradients where they are alone; beside floats these are 0.
        floats = tuple(i for i in asked if is_float(self._types[i].dtype))
        self._wanted = floats or tuple(asked)
        self._flat = [
            grad
            for i in asked
            if i not in self._wanted
            and grad_req[names[i]] == "write"
            and (grad := self.grad_dict[names[i]]) is not None
        ]
        self._targets = [(self.grad_dict[names[i]], grad_req[names[i]]) for i in self._wanted]
        self._outputs: list[NDArray] = []
        # What the next backward starts from.
        self._kept: _Kept | None = None
        self._monitor: tuple[Monitor, list[str]] | None = None
        # What `set_monitor_callback` was given, for executors of other shapes.
        self._watch: tuple[Monitor, bool] | None = None
        # What shows the gradients inside to a monitor: names, and the arrays they are written to.
        self._shown: list[tuple[str, NDArray]] = []
        # What repeats a forward outside training, once it has run twice.
        self._prepared: PreparedCall | None = None
        self._attempts = Attempts()
        self._merges = config.eliminate_common_expr()
        self._draws_always = _draws_always(symbol.graph)
        # Of the sparse arrays those that programs take as their parts; others are made dense.
        self._by_parts: tuple[int, ...] = ()
        self._take_parts()
        self._programs.inference(self._types)  # raises now where the arrays do not fit

    def named_arrays(self) -> list[tuple[str, NDArray]]:
        """Returns its arrays, each with the name of its argument or output."""
        found = [*self.arg_dict.items(), *self.aux_dict.items()]
        for name, grad in self.grad_dict.items():
            if grad is not None:
                found.append((f"gradient of {name}", grad))
        outputs = zip(self._symbol.list_outputs(), self._outputs, strict=False)
        return [*found, *((f"output {name}", array) for name, array in outputs)]

    def _take_parts(self) -> None:
        """Makes programs take the parts of csr arrays where the graph only multiplies by them."""
        if not self._sparse:
            return
        graph: Graph = self._symbol.graph
        if self._devices is None:
            csr = [i for i in self._sparse if self._inputs[i].stype == "csr"]
            free = [i for i in csr if i not in self._wanted]
            graph, self._by_parts = with_csr_parts(graph, free, self._kinds)
        if self._by_parts:
            self._programs = GraphPrograms(graph, self._symbol.name or "group")
            self._gather()
        names = self._symbol.list_inputs()
        made_dense = [names[i] for i in self._sparse if i not in self._by_parts]
        if made_dense:
            warn_made_dense(", ".join(made_dense))

    def _gather(self) -> list[NDArray]:
        """Returns the arrays that programs take, and notes their types."""
        if not self._sparse:
            return self._inputs
        found = [
            array if number in self._by_parts or array.stype == "default" else dense(array)
            for number, array in enumerate(self._inputs)
        ]
        for number in self._by_parts:
            matrix: Any = self._inputs[number]
            found[number], *positions = matrix.roomy_parts()
            found += positions
        self._types = tuple(array.type for array in found)
        return found

    # -- results -----------------------------------------------------------------------------

    @property
    def outputs(self) -> list[NDArray]:
        """The outputs of the last forward; each forward writes into these same arrays."""
        if not self._outputs:
            run = self._programs.inference(self._types)
            shown = self._programs.num_outputs
            kinds = zip(run.call.output_types, self._where.contexts(run), strict=True)
            trace = recorder.set_trace(None)  # they outlive a traced function that runs forward
            try:
                self._outputs = [
                    zeros_of(kind.shape, ctx, kind.dtype) for kind, ctx in islice(kinds, shown)
                ]
            finally:
                recorder.set_trace(trace)
        return self._outputs

    @property
    def output_dict(self) -> dict[str, NDArray]:
        """The outputs by name."""
        return dict(zip(self._symbol.list_outputs(), self.outputs, strict=True))

    # -- computing ---------------------------------------------------------------------------

    def forward(self, is_train: bool = False, **kwargs: Any) -> list[NDArray]:
        """Computes the outputs, and in training updates auxiliary states.

        Those that are running averages (of BatchNorm) are moved by `backward`.

        Args:
            is_train: whether this is a training pass, after which `backward` may come.
            kwargs: values for arguments by name, NDArrays or NumPy arrays, copied in first.

        Returns:
            `outputs`.

        Raises:
            ParameterError: there is no such argument, or a value is no array.
            ShapeError: a value has another shape than its argument.
        """
        if is_train:
            recorder.begin_pass()
        else:
            recorder.mark()
        for name, value in kwargs.items():
            self._feed(name, value)
        self._kept = None
        operands = self._gather()
        # What is drawn outside training, too, is kept for backward, which draws nothing anew.
        keeps = self._draws_always and not is_train and bool(self._wanted)
        if keeps:
            run = self._programs.training(self._types, self._wanted, False)
        else:
            run = self._run(is_train)
        prepared = None if is_train or recorder.thread.segments else self._prepared
        if prepared is not None and prepared([], run.scalars) is not None:
            return self._outputs
        values, made = self._compute(run, operands)
        if (is_train and self._wanted) or keeps:
            self._kept = self._keep(run, values, made)
        for number, value in zip(run.writes, made[run.num_heads :], strict=False):
            if number in self._sparse:
                target = self._inputs[number]
                target.assign(NDArray.from_value(value, target.context))
            elif number < len(self._inputs):
                self._inputs[number].write(value)
            else:
                generator.state_of(self._ctx).write(value)
        self._show(run, made[: self._programs.num_outputs])
        if self._monitor is not None:
            callback, names = self._monitor
            places = self._where.contexts(run)
            for number, name in enumerate(names, self._programs.num_outputs):
                callback(name, NDArray.from_value(made[number], places[number]))
        if not is_train and not keeps:
            recorder.mark()  # a unit of work: what is predicted starts now
            if self._prepared is None and self._attempts.is_due():
                self._prepared = self._prepare(run)
        return self._outputs

    def _prepare(self, run: Run) -> PreparedCall | None:
        """Returns what repeats the forward that has just run; None where there is no such."""
        special = self._monitor is not None or recorder.current_trace() is not None
        special = special or bool(self._sparse)
        parts = any(array.offset is not None for array in (*self._inputs, *self._outputs))
        # The first outputs are made by their forward; the others overwrite these.
        if special or parts or self._devices is not None:
            return None
        sources = [array.storage for array in self._inputs]
        if run.draws:
            sources.append(generator.state_of(self._ctx))
        numbers = range(run.num_heads, run.num_heads + len(run.writes))
        writes = [(sources[i], number) for i, number in zip(run.writes, numbers, strict=True)]
        writes += [(array.storage, number) for number, array in enumerate(self._outputs)]
        return PreparedCall.repeating(run.call, 0, sources, writes, ())

    def backward(self, out_grads: Any = None, is_train: bool = True) -> None:
        """Computes the gradients of the arguments, from what the last forward kept.

        What `forward(is_train=True)` kept is used up by this, but where random numbers are among
        it. Called again, or after a forward outside training, it computes the forward pass anew on
        the present values of the arrays, without touching outputs. Running averages (of BatchNorm)
        move each time. Arrays for the gradients of whole numbers beside floats are set to 0.

        Args:
            out_grads: gradients of the outputs: an NDArray, a list with one for each output (more
                are ignored, and so may those at its end be left out that no gradient comes
                through), or a dict by output name; None means ones. Loss layers
                (SoftmaxOutput, make_loss, ...) give their own gradient and ignore it.
            is_train: the mode of a forward pass that is computed anew.

        Raises:
            ShapeError: a gradient has another shape than its output.
            MXNetError: the forward pass must be computed anew, and draws random numbers.
        """
        if self._wanted:
            self._backward(out_grads, is_train)
            if self._monitor is not None:
                for name, grad in self._shown:
                    self._monitor[0](name, grad.copy())
        for grad in self._flat:
            grad.assign(grad.detach().zeros_like())

    def _backward(self, out_grads: Any, is_train: bool) -> None:
        kept = self._kept
        # Random numbers are not drawn again: what was kept beside them serves every backward.
        self._kept = kept if kept is not None and kept[0].draws else None
        if kept is None:
            inputs = self._gather()
            run = self._programs.training(self._types, self._wanted, is_train)
            if run.draws and (is_train or self._draws_always):
                raise MXNetError(_DRAWS_ANEW)
            kept = self._keep(run, *self._compute(run, inputs))
        run, operands, statistics = kept
        operands = [*operands, *head_grads(self._symbol, run, self._where.contexts(run), out_grads)]
        made = self._where.backward(run, operands)
        assert run.call.split is not None
        for (target, req), number in zip(self._targets, run.call.split.wanted, strict=True):
            assert target is not None
            if number is None:
                if req == "write":
                    target.assign(target.detach().zeros_like())  # no output depends on it
                continue
            value = made[number]
            if req == "write" and value.type is target.type and target.stype == "default":
                target.write(value)
            else:
                grad = NDArray.from_value(value, target.context)
                target.assign(target.detach() + grad if req == "add" else grad)
        for one, values in zip(run.averages, statistics, strict=True):
            move(one.call, [self._inputs[number] for number in one.states], values)

    def _run(self, is_train: bool) -> Run:
        if is_train:
            return self._programs.training(self._types, self._wanted)
        return self._programs.inference(self._types)

    def _compute(self, run: Run, inputs: Sequence[NDArray]) -> tuple[list[Value], list[Value]]:
        """Runs the forward call; returns its inputs and outputs."""
        values = [array.read() for array in inputs]
        if run.draws:
            values.append(generator.state_of(self._ctx).read())
        return values, self._where.forward(run, values)

    @staticmethod
    def _keep(run: Run, values: Sequence[Value], made: Sequence[Value]) -> _Kept:
        """Returns what the backward pass takes beside the gradients of the outputs."""
        assert run.call.split is not None
        operands = [*made[run.num_results :], *(values[i] for i in run.call.split.uses)]
        return run, operands, [[made[i] for i in one.statistics] for one in run.averages]

    def _show(self, run: Run, values: Sequence[Value]) -> None:
        if self._outputs or recorder.current_trace() is not None:
            for output, value in zip(self.outputs, values, strict=True):
                output.write(value)
        else:
            places = self._where.contexts(run)
            self._outputs = [
                NDArray.from_value(value, ctx) for value, ctx in zip(values, places, strict=False)
            ]

    # -- giving values -----------------------------------------------------------------------

    def _feed(self, name: str, value: Any) -> None:
        target = self.arg_dict.get(name)
        if target is None:
            raise ParameterError(
                f"forward: the symbol has no argument {name!r}; it has {', '.join(self.arg_dict)}"
            )
        self._copy_in("forward: argument", name, target, value)

    def _copy_in(self, what: str, name: str, target: NDArray, value: Any) -> None:
        if not isinstance(value, (NDArray, np.ndarray)):
            raise ParameterError(
                f"{what} {name} must be an NDArray or a NumPy array, got {type(value).__name__}"
            )
        if value.shape != target.shape:
            raise ShapeError(
                f"{what} {name} must have shape {target.shape}, got {value.shape}; "
                "Executor.reshape makes an executor for other shapes"
            )
        if isinstance(value, np.ndarray):
            value = array(value, target.context, target.dtype)
        target.assign(value.detach())

    def copy_params_from(
        self,
        arg_params: Mapping[str, Any],
        aux_params: Mapping[str, Any] | None = None,
        allow_extra_params: bool = False,
    ) -> None:
        """Copies parameters into the arrays of the same names, casting.

        Args:
            arg_params: values of arguments by name.
            aux_params: values of auxiliary states by name.
            allow_extra_params: pass over names that the symbol does not have.

        Raises:
            ParameterError: the symbol does not have a name.
            ShapeError: a shape differs.
        """
        for kind, given, held in (
            ("argument", arg_params, self.arg_dict),
            ("auxiliary state", aux_params or {}, self.aux_dict),
        ):
            for name, value in given.items():
                if name in held:
                    self._copy_in(f"copy_params_from: {kind}", name, held[name], value)
                elif not allow_extra_params:
                    raise ParameterError(
                        f"copy_params_from: the symbol has no {kind} {name!r}; it has "
                        f"{', '.join(held) or 'none'} (allow_extra_params=True passes over it)"
                    )

    # -- variants ----------------------------------------------------------------------------

    def reshape(
        self, partial_shaping: bool = False, allow_up_sizing: bool = False, **kwargs: Any
    ) -> Executor:
        """Returns an executor of the same symbol for other shapes.

        Arrays whose shape stays are shared with this one; the others are new, and zeros. A monitor
        of this one watches that one, too.

        Args:
            partial_shaping: whether arguments that are not named may change their shapes.
            allow_up_sizing: whether arrays may become larger.
            kwargs: new shapes by name.

        Raises:
            ShapeError: an argument changes or grows that may not, or shapes contradict each other.
        """
        shapes, _, aux_shapes = self._symbol.infer_shape(**kwargs)
        if shapes is None:
            raise ShapeError(f"reshape: {kwargs} does not tell the shapes of all arguments")
        args: dict[str, NDArray] = {}
        grads: dict[str, NDArray | None] = {}
        for (name, old), shape in zip(self.arg_dict.items(), shapes, strict=True):
            grad = self.grad_dict[name]
            if shape != old.shape:
                if name not in kwargs and not partial_shaping:
                    raise ShapeError(
                        f"reshape: the shape of {name} would change from {old.shape} to {shape}, "
                        "so it could not be shared; name it too, or pass partial_shaping=True"
                    )
                if np.prod(shape) > old.size and not allow_up_sizing:
                    raise ShapeError(
                        f"reshape: {name} would grow from {old.shape} to {shape}; pass "
                        "allow_up_sizing=True"
                    )
                old = zeros_like_stored(old, shape)
                grad = None if grad is None else zeros_of(shape, grad.context, grad.dtype)
            args[name], grads[name] = old, grad
        aux = {
            name: old if old.shape == shape else zeros_of(shape, old.context, old.dtype)
            for (name, old), shape in zip(self.aux_dict.items(), aux_shapes, strict=True)
        }
        made = Executor(
            self._symbol,
            self._ctx,
            args,
            grads,
            self._grad_req,
            aux,
            self._unwatched,
            self._devices,
        )
        if self._watch is not None:
            made.set_monitor_callback(*self._watch)
        return made

    def partitioned(self, is_train: bool = False) -> list[PartitionedCall]:
        """Returns the parts in which the devices of a placed symbol run it; print them.

        Args:
            is_train: also those of the gradient.

        Returns:
            What forward runs, and in training what backward runs; empty on one device.
        """
        if isinstance(self._where, OnOneDevice):
            return []
        return self._where.partitioned(self._run(is_train))

    def set_monitor_callback(self, callback: Monitor | None, monitor_all: bool = False) -> None:
        """Sets a function called with name and value of every node's outputs, after each forward.

        After each backward it is called with what each node contributes to the gradient of each
        value that it reads (``fc1_backward_output0``); not where the nodes are on several devices.

        Args:
            callback: gets the output's name (``fc1_output``) and an NDArray; None ends it.
            monitor_all: also with what each node reads, before what it makes: variables by their
                own names, and then everything by that of the input (``fc1_weight``).
        """
        self._kept = self._monitor = self._prepared = None
        self._watch = None if callback is None else (callback, monitor_all)
        self._programs = self._unwatched
        count = len(self._symbol.list_inputs())
        self._inputs, self._types, self._by_parts = self._inputs[:count], self._kinds, ()
        self._wanted = tuple(number for number in self._wanted if number < count)
        self._targets, self._shown = self._targets[: len(self._wanted)], []
        if callback is None:
            self._take_parts()
            return
        internals = self._symbol.get_internals()
        watched: list[tuple[str, Edge]] = []
        shown: set[Node] = set()
        for name, edge in zip(internals.list_outputs(), internals.edges, strict=True):
            if edge.node.is_variable:
                continue
            if monitor_all and edge.node not in shown:
                shown.add(edge.node)
                watched += read_values(edge.node)
            watched.append((name, edge))
        self._monitor = callback, [name for name, _ in watched]
        graph, edges = self._symbol.graph, [edge for _, edge in watched]
        if self._wanted and self._devices is None:
            graph, edges = self._probed(graph, edges, internals)
        name = self._symbol.name or "group"
        self._programs = GraphPrograms(graph, name, edges, self._devices)

    def _probed(
        self, graph: Graph, edges: list[Edge], internals: Bound
    ) -> tuple[Graph, list[Edge]]:
        """Adds inputs whose gradients are those inside; returns the graph, and edges in it."""
        held = {**self.arg_dict, **self.aux_dict}
        shapes = internals.infer_shape(**{name: x.shape for name, x in held.items()})[1]
        dtypes = internals.infer_type(**{name: x.dtype for name, x in held.items()})[1]
        kinds = dict(zip(internals.edges, zip(shapes, dtypes, strict=True), strict=True))
        whole = replace(graph, outputs=(*graph.outputs, *edges))
        made, probes = with_probes(whole, lambda edge: is_float(np.dtype(kinds[edge][1])))
        for number, probe in enumerate(probes, len(self._inputs)):
            shape, dtype = kinds[probe.edge]
            start, grad = (zeros_of(shape, self._ctx, dtype) for _ in range(2))
            self._inputs.append(start)
            self._types = (*self._types, start.type)
            self._wanted = (*self._wanted, number)
            self._targets.append((grad, "write"))
            self._shown.append((probe.name, grad))
        count = len(graph.outputs)
        return replace(made, outputs=made.outputs[:count]), list(made.outputs[count:])

    def debug_str(self) -> str:
        """Describes the nodes with the types of their values, and the memory that they take.

        That is planned for a forward pass, and the gradient where one is asked for; the arrays that
        are bound are not counted.
        """
        ready = prepare(self._symbol.graph, False)
        types = (*self._kinds, STATE) if ready.draws else self._kinds
        text = to_text(ready.graph, infer_types(ready.graph, types))
        run = self._run(bool(self._wanted))
        types = (*self._types, STATE) if run.draws else self._types
        return f"{text}\nTotal {planned(run, types, 'both').plan.num_bytes >> 20} MB allocated"

    def get_optimized_symbol(self) -> Any:
        """Returns the symbol as the passes leave it for these arrays, in training.

        With ``MXNET_ELIMINATE_COMMON_EXPR=0`` when it was bound, equal expressions stay.
        """
        names = self._symbol.list_inputs()
        known = dict(zip(names, self._kinds, strict=True))
        chosen = [one.name for one in PIPELINE if one.by_default and one.name != _MERGING]
        return self._symbol.optimize(
            passes=None if self._merges else chosen,
            train=True,
            tolerance=0,
            type_dict={name: kind.dtype for name, kind in known.items()},
            **{name: kind.shape for name, kind in known.items()},
        )
