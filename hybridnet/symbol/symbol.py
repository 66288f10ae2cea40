"""`Symbol`: what users hold of a graph. Some outputs of its nodes, to compute with or to bind."""

from __future__ import annotations

import copyreg
import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NoReturn, Self

from hybridnet.base import modules
from hybridnet.base.array_types import Dims, DType, DTypeLike
from hybridnet.base.attrs import Number
from hybridnet.base.context import Context, current_context
from hybridnet.base.errors import NotImplementedForSymbol, ParameterError
from hybridnet.base.files import atomic_write
from hybridnet.graph import (
    Edge,
    Graph,
    Node,
    attributes_of,
    is_known,
    json,
    stored_name,
    topological,
    variable,
    with_short_names,
)
from hybridnet.ops.core import Call, CustomCall, FluentMethods, OpCall, Operator, registry
from hybridnet.runtime.calls import GraphPrograms

from . import _bind, _infer, _memory, optimization
from ._arrays_only import ArraysOnly
from ._debug import debug_string
from ._gradient import gradient_edges
from .composition import annotate, make_node, substitute

__all__ = ["Group", "Symbol"]

#: Python's arithmetic on two symbols wants equal shapes, as in MXNet; on two arrays it broadcasts.
_ELEMENTWISE: Final = {
    "broadcast_add": "elemwise_add",
    "broadcast_div": "elemwise_div",
    "broadcast_equal": "_equal",
    "broadcast_greater": "_greater",
    "broadcast_greater_equal": "_greater_equal",
    "broadcast_lesser": "_lesser",
    "broadcast_lesser_equal": "_lesser_equal",
    "broadcast_mod": "_mod",
    "broadcast_mul": "elemwise_mul",
    "broadcast_not_equal": "_not_equal",
    "broadcast_power": "_power",
    "broadcast_sub": "elemwise_sub",
}


class Symbol(ArraysOnly, FluentMethods):
    """Outputs of a graph that is not computed yet.

    Make variables with `var`, apply operators to them, and compute with `bind`, `simple_bind` or
    `eval`. A symbol of several outputs (`Group`, ``split``) can be indexed and iterated over.
    """

    __slots__ = ("__weakref__", "_edges", "_programs")
    # Keeps NumPy from taking ``numpy_array + symbol`` apart element by element.
    __array_ufunc__: None = None

    def __init__(self, edges: Sequence[Edge] | None) -> None:
        # None is what MXNet's pickles of symbols begin with, before `__setstate__`.
        self._edges = tuple(edges or ())
        # What executors have compiled for this graph, kept for the next ones.
        self._programs: GraphPrograms | None = None

    # -- making ------------------------------------------------------------------------------

    @classmethod
    def apply_operator(
        cls,
        op: Operator,
        inputs: Sequence[Any],
        attrs: Mapping[str, object],
        *,
        name: str | None = None,
        out: object = None,
        attr: Mapping[str, str] | None = None,
        hint: str | None = None,
    ) -> Symbol:
        """Adds a node; see `hybridnet.ops.core.handle.Operand`.

        Args:
            op: the operator.
            inputs: symbols of one output each; None where one was not given.
            attrs: the operator's parameters.
            name: of the node.
            out: must be None: symbols hold no memory to write into.
            attr: attributes of the node.
            hint: what the name begins with if none is given.
        """
        if out is not None:
            raise ParameterError(f"{op.name}: symbols take no out=; use the result")
        edges = [None if value is None else _single(op.name, value) for value in inputs]
        cls = next((type(x) for x in inputs if x is not None and type(x) is not Symbol), cls)
        node = make_node(op, edges, attrs, name=name, attr=attr, hint=hint)
        visible = node.call.num_visible if node.call is not None else 1
        return cls([Edge(node, index) for index in range(visible)])

    @classmethod
    def apply_call(
        cls, call: Call, inputs: Sequence[object], scalars: tuple[Number, ...] = ()
    ) -> list[Any]:
        """Adds a node for a bound call; returns all its outputs, hidden ones too."""
        node = Node(call, tuple(_single(call.name, x) for x in inputs), call.name, scalars, {})
        return [cls([Edge(node, index)]) for index in range(call.num_outputs)]

    @classmethod
    def binary_operator(cls, name: str) -> Operator:
        """Returns the operator on equal shapes: what Python's arithmetic on symbols stands for."""
        return registry.get(_ELEMENTWISE.get(name, name))

    # -- what it is --------------------------------------------------------------------------

    @property
    def edges(self) -> tuple[Edge, ...]:
        """The outputs, as edges (for the inside of hybridnet)."""
        return self._edges

    @property
    def graph(self) -> Graph:
        """The graph: its inputs are in the order of `list_inputs`."""
        nodes = topological(self._edges)
        return Graph(tuple(node for node in nodes if node.is_variable), self._edges)

    @property
    def name(self) -> str | None:
        """The name of the node, None for a group of several."""
        nodes = {edge.node for edge in self._edges}
        return nodes.pop().name if len(nodes) == 1 else None

    @property
    def inferred_dtype(self) -> DType | None:
        """Not known before the symbol is bound."""
        return None

    def list_arguments(self) -> list[str]:
        """Returns the names of the variables that are given values: data and parameters."""
        auxiliary = self._auxiliary()
        return [node.name for node in self.graph.inputs if node not in auxiliary]

    def list_auxiliary_states(self) -> list[str]:
        """Returns the names of the variables that operators overwrite, such as moving averages."""
        auxiliary = self._auxiliary()
        return [node.name for node in self.graph.inputs if node in auxiliary]

    def list_inputs(self) -> list[str]:
        """Returns the names of all variables, in depth-first order."""
        return [node.name for node in self.graph.inputs]

    def list_outputs(self) -> list[str]:
        """Returns the names of the outputs: ``fc1_output``."""
        return [_output_name(edge) for edge in self._edges]

    def get_internals(self) -> Symbol:
        """Returns a symbol of the outputs of all nodes, from which one can be picked by name."""
        return Symbol(
            [
                Edge(node, index)
                for node in topological(self._edges)
                for index in range(1 if node.call is None else node.call.num_visible)
            ]
        )

    def get_children(self) -> Symbol | None:
        """Returns a symbol of the inputs of this one's nodes; None for variables."""
        nodes = dict.fromkeys(edge.node for edge in self._edges)
        edges = [edge for node in nodes for edge in node.inputs]
        return Symbol(edges) if edges else None

    def _auxiliary(self) -> set[Node]:
        return {
            node.inputs[position].node
            for node in topological(self._edges)
            if node.call is not None
            for position in node.call.mutates
        }

    # -- as a sequence of outputs ------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._edges)

    def __iter__(self) -> Iterator[Symbol]:
        return (type(self)([edge]) for edge in self._edges)

    def __getitem__(self, key: Any) -> Symbol:
        if isinstance(key, str):
            found = [i for i, name in enumerate(self.list_outputs()) if name == key]
            if len(found) != 1:
                count = "several outputs" if found else "no output"
                raise ParameterError(
                    f"the symbol has {count} with the name {key!r}; it has "
                    f"{', '.join(self.list_outputs())}"
                )
            key = found[0]
        if isinstance(key, slice):
            return type(self)(self._edges[key])
        try:
            return type(self)([self._edges[key]])
        except IndexError:
            raise IndexError(f"the symbol has {len(self)} outputs, and no output {key}") from None

    # -- attributes --------------------------------------------------------------------------

    def attr(self, key: str) -> str | None:
        """Returns an attribute of the node, or None."""
        return self.list_attr().get(key)

    def list_attr(self, recursive: bool = False) -> dict[str, str]:
        """Returns the node's attributes and parameters, as text; none for a group.

        Raises:
            DeprecationWarning: `recursive` is asked for, which `attr_dict` does.
        """
        if recursive:
            raise DeprecationWarning("list_attr: recursive=True is gone, use attr_dict() instead")
        nodes = {edge.node for edge in self._edges}
        return with_short_names(attributes_of(nodes.pop())) if len(nodes) == 1 else {}

    def attr_dict(self) -> dict[str, dict[str, str]]:
        """Returns the attributes of every node that has some, by node name."""
        found = {node.name: attributes_of(node) for node in topological(self._edges)}
        return {name: with_short_names(attrs) for name, attrs in found.items() if attrs}

    def _set_attr(self, **attributes: str) -> None:
        """Adds attributes to the node, for every symbol that has it."""
        for key, value in attributes.items():
            if not isinstance(value, str):
                raise ParameterError(f"attributes must be strings, got {key}={value!r}")
            for node in {edge.node for edge in self._edges}:
                if isinstance(node.call, OpCall) and key in node.call.operator.params:
                    raise ParameterError(
                        f"{key} is a parameter of {node.call.name}, which is fixed; make the "
                        "symbol anew"
                    )
                annotate(node, stored_name(key), value)

    # -- composition -------------------------------------------------------------------------

    def __call__(self, *args: Symbol, name: str | None = None, **kwargs: Symbol) -> Symbol:
        """Returns this symbol with other symbols in the place of its variables.

        Args:
            args: for the variables in the order of `list_inputs`.
            name: of the node, if there is one.
            kwargs: for variables by name; not both.

        Raises:
            ParameterError: there is no such variable, or a value is not a symbol of one output.
        """
        inputs = self.graph.inputs
        names = list(dict.fromkeys(node.name for node in inputs))
        given = _infer.known_by_name(f"composing {self!r}", names, args, kwargs)
        values = {key: _single(f"composing {self!r}", value) for key, value in given.items()}
        place = {node: values[node.name] for node in inputs if node.name in values}
        return Symbol(substitute(self._edges, place, name))

    def _compose(self, *args: Symbol, name: str | None = None, **kwargs: Symbol) -> None:
        """Becomes what calling it would return: as MXNet's scripts make graphs node by node."""
        Symbol.__init__(self, self(*args, name=name, **kwargs)._edges)

    def _gen_atomic_symbol(self) -> Symbol:
        """Returns the operator of the node by itself, on new variables named after its inputs."""
        (node,) = {edge.node for edge in self._edges}
        names = [f"{node.name}_{edge.node.name}{edge.index or ''}" for edge in node.inputs]
        alone = node.with_inputs(tuple(Edge(variable(name), 0) for name in names))
        return type(self)([Edge(alone, edge.index) for edge in self._edges])

    def __copy__(self) -> Symbol:
        return Symbol(self._edges)

    def __deepcopy__(self, memo: dict[int, object]) -> Symbol:
        made = object.__new__(type(self))
        made.__setstate__(self.__getstate__())
        return made

    def __getstate__(self) -> dict[str, str]:
        """Returns what pickle keeps: the graph as JSON."""
        return {"json": self.tojson(remove_amp_cast=False)}

    def __setstate__(self, state: Mapping[str, str]) -> None:
        """Becomes the symbol whose ``__getstate__`` gave this state, ours or MXNet's."""
        Symbol.__init__(self, json.loads(state["handle" if "handle" in state else "json"]))

    def __reduce__(self) -> tuple[object, ...]:
        # Named here: what pickle does by itself depends on its protocol.
        return copyreg.__newobj__, (type(self),), self.__getstate__()  # type: ignore[attr-defined]

    # -- methods that arrays have too --------------------------------------------------------

    def __neg__(self) -> Self:
        negative: Self = self * -1.0
        return negative

    def get_backend_symbol(self, backend: str) -> Symbol:
        """Returns the symbol as it is, where MXNet hands parts of it to another library.

        Here the graph's passes and XLA optimize every program, with nothing to choose.

        Args:
            backend: 'MKLDNN' or 'MKLDNN_QUANTIZE', the ones that MXNet brings.

        Raises:
            ParameterError: any other backend.
        """
        if backend not in ("MKLDNN", "MKLDNN_QUANTIZE"):
            raise ParameterError(
                "get_backend_symbol: backend must be 'MKLDNN' or 'MKLDNN_QUANTIZE', which change "
                f"nothing here; there are no others, got {backend!r}"
            )
        return Symbol(self._edges)

    def optimize_for(
        self,
        backend: str,
        args: object = None,
        aux: object = None,
        ctx: Context | None = None,
        shape_dict: object = None,
        type_dict: object = None,
        stype_dict: object = None,
        skip_infer: bool = False,
        **kwargs: object,
    ) -> Symbol:
        """Returns the symbol as it is, as MXNet does for a backend that finds no part for it.

        Here the graph's passes and XLA optimize every program, with nothing to choose.

        Args:
            backend: a name.
            args, aux, ctx, shape_dict, type_dict, stype_dict, skip_infer: what a backend of MXNet
                would look at.
            kwargs: a backend's own options.
        """
        return Symbol(self._edges)

    optimize = optimization.optimize

    def __bool__(self) -> NoReturn:
        raise NotImplementedForSymbol(
            "a symbol has no truth value, as what it stands for is not computed yet (use "
            "sym.where, or decide outside the graph)",
            None,
        )

    def astype(self, dtype: DTypeLike) -> Symbol:
        """Returns the values in another dtype."""
        op = registry.get("Cast")
        return Symbol.apply_operator(op, (self,), {"dtype": dtype}, hint="cast")

    def reshape(self, *shape: Dims, **kwargs: Any) -> Symbol:
        """Returns the values in another shape; see ``sym.reshape`` for the codes."""
        if shape:
            whole = shape[0] if isinstance(shape[0], (tuple, list)) else shape
            kwargs["shape"] = tuple(whole)
        name = kwargs.pop("name", None)
        return Symbol.apply_operator(registry.get("Reshape"), (self,), kwargs, name=name)

    def as_nd_ndarray(self) -> Symbol:
        """Returns this symbol with the semantics of `sym`."""
        return self if type(self) is Symbol else Symbol(self._edges)

    def as_np_ndarray(self) -> Symbol:
        """Returns this symbol with NumPy's semantics, as the functions of ``sym.np`` make them."""
        kind: type[Symbol] = modules.load("sym").np.NumpySymbol
        return self if type(self) is kind else kind(self._edges)

    # -- inference ---------------------------------------------------------------------------

    def infer_shape(self, *args: object, **kwargs: object) -> tuple[Any, Any, Any]:
        """Infers all shapes from some.

        Args:
            args: shapes of arguments in order, None for unknown ones.
            kwargs: or by name. 0 or -1 stands for an unknown dimension; in NumPy mode
                (`hybridnet.util.np_shape`), where 0 is a size, -1 alone.

        Returns:
            Lists of the shapes of arguments, outputs and auxiliary states; three times None, with
            a warning, if some cannot be told.

        Raises:
            ShapeError: shapes contradict one another; the message names the node.
        """
        shapes = self._inferred_shapes(args, kwargs)
        found = self._in_three(shapes)
        shown = self._in_three({edge: _infer.shown(shape) for edge, shape in shapes.items()})
        return self._complete("shape", found, shown, is_known)

    def infer_shape_partial(self, *args: object, **kwargs: object) -> tuple[Any, Any, Any]:
        """Infers what can be told, as `infer_shape`.

        Unknown dimensions are 0, and a shape of which nothing is known is (); in NumPy mode they
        are -1 and None.
        """
        shapes = self._inferred_shapes(args, kwargs)
        return self._in_three({edge: _infer.shown(shape) for edge, shape in shapes.items()})

    def _inferred_shapes(
        self, args: Sequence[object], kwargs: Mapping[str, object]
    ) -> Mapping[Edge, Any]:
        names = self.list_inputs() if kwargs else self.list_arguments()
        given = _infer.known_by_name("infer_shape", names, args, kwargs)
        return _infer.inferred_shapes(self.graph, given)

    def infer_type(self, *args: object, **kwargs: object) -> tuple[Any, Any, Any]:
        """Infers all dtypes from some, as `infer_shape` does shapes.

        Returns:
            Lists of NumPy scalar types; three times None if some cannot be told.

        Raises:
            DTypeError: an operator cannot take these dtypes; the message names the node.
        """
        found = self.infer_type_partial(*args, **kwargs)
        return self._complete("type", found, found, lambda dtype: dtype is not None)

    def infer_type_partial(self, *args: object, **kwargs: object) -> tuple[Any, Any, Any]:
        """Infers what can be told, as `infer_type`; None is a dtype that is not known."""
        names = self.list_inputs() if kwargs else self.list_arguments()
        given = _infer.known_by_name("infer_type", names, args, kwargs)
        dtypes = _infer.inferred_dtypes(self.graph, given)
        return self._in_three(
            {edge: None if dtype is None else dtype.type for edge, dtype in dtypes.items()}
        )

    def _complete(
        self,
        what: str,
        found: tuple[Any, Any, Any],
        shown: tuple[Any, Any, Any],
        known: Callable[[Any], bool],
    ) -> tuple[Any, Any, Any]:
        """Returns what was found as it is shown, or three times None where some is unknown."""
        if all(map(known, itertools.chain(*found))):
            return shown
        rows = zip(self.list_arguments(), found[0], shown[0], strict=True)
        _infer.warn_unknown(what, {name: text for name, value, text in rows if not known(value)})
        return None, None, None

    def _in_three(self, found: Mapping[Edge, Any]) -> tuple[list[Any], list[Any], list[Any]]:
        """Returns what was found for arguments, outputs and auxiliary states."""
        auxiliary = self._auxiliary()
        inputs = self.graph.inputs
        return (
            [found[Edge(node, 0)] for node in inputs if node not in auxiliary],
            [found[edge] for edge in self._edges],
            [found[Edge(node, 0)] for node in inputs if node in auxiliary],
        )

    # -- files and pictures ------------------------------------------------------------------

    def tojson(self, remove_amp_cast: bool = True) -> str:
        """Returns the graph in MXNet's JSON.

        Args:
            remove_amp_cast: leave out the casts that mixed precision put in.
        """
        return json.dumps(_without_amp_casts(self.graph) if remove_amp_cast else self._edges)

    def save(self, fname: str | os.PathLike[str], remove_amp_cast: bool = True) -> None:
        """Writes the graph to a file, in MXNet's JSON; the file appears whole or not at all."""
        with atomic_write(fname) as file:
            file.write(self.tojson(remove_amp_cast).encode())

    def debug_str(self) -> str:
        """Describes every node in words."""
        return debug_string(self._edges)

    def __repr__(self) -> str:
        if self.name is not None:
            return f"<Symbol {self.name}>"
        return f"<Symbol group [{', '.join(edge.node.name for edge in self._edges)}]>"

    # -- computing ---------------------------------------------------------------------------

    def gradient(self, wrt: Sequence[str]) -> Symbol:
        """Returns the gradients of the sum of all outputs, as a symbol.

        Args:
            wrt: names of arguments.

        Returns:
            One output for each, of the argument's shape: zeros where nothing depends on it.

        Raises:
            ParameterError: there is no such argument.
            GraphError: an operator's gradient needs shapes; give them to the variables
                (``var("x", shape=...)``).
        """
        graph = self.graph
        by_name = {node.name: node for node in graph.inputs}
        names = [wrt] if isinstance(wrt, str) else list(wrt)
        for name in names:
            if name not in by_name:
                raise ParameterError(
                    f"gradient: the symbol has no argument {name!r}; it has {', '.join(by_name)}"
                )
        return Symbol(gradient_edges(graph, [by_name[name] for name in names]))

    bind = _bind.bind
    simple_bind = _bind.simple_bind
    estimate_memory = _memory.estimate_memory

    def eval(self, ctx: Context | Any = None, **kwargs: Any) -> list[Any]:
        """Computes the outputs for these arrays.

        Args:
            ctx: where; default the current context.
            kwargs: NDArrays by name.
        """
        auxiliary = self.list_auxiliary_states()
        args = {name: array for name, array in kwargs.items() if name not in auxiliary}
        states = {name: array for name, array in kwargs.items() if name in auxiliary}
        executor = self.bind(ctx or current_context(), args, None, "null", states)
        return executor.forward()


def Group(symbols: Sequence[Symbol]) -> Symbol:
    """Returns one symbol with the outputs of several.

    Raises:
        ParameterError: `symbols` is empty or holds something else.
    """
    listed = list(symbols) if isinstance(symbols, (list, tuple, Symbol)) else []
    if not listed or not all(isinstance(item, Symbol) for item in listed):
        raise ParameterError(f"Group: needs a list of symbols, got {symbols!r}")
    return Symbol([edge for item in listed for edge in item.edges])


def _single(where: str, operand: object) -> Edge:
    """Returns the one output of a symbol that is used as an input."""
    if not isinstance(operand, Symbol):
        raise ParameterError(
            f"{where}: every input must be a Symbol, got {type(operand).__name__}; bind arrays as "
            "values of variables"
        )
    if len(operand.edges) != 1:
        raise ParameterError(
            f"{where}: an input must be a symbol of one output, got {operand!r} with "
            f"{len(operand)}; pick one by index"
        )
    return operand.edges[0]


def _output_name(edge: Edge) -> str:
    node, call = edge.node, edge.node.call
    if call is None:
        return node.name
    names: Sequence[str] = ("output",)
    if isinstance(call, OpCall):
        names = call.operator.output_names
    elif isinstance(call, CustomCall):
        names = call.output_names
    if call.num_visible == 1 and edge.index == 0:
        return f"{node.name}_{names[0]}"
    if len(names) > 1 and edge.index < len(names):
        return f"{node.name}_{names[edge.index]}"
    return f"{node.name}_output{edge.index}"


def _without_amp_casts(graph: Graph) -> tuple[Edge, ...]:
    def change(node: Node, inputs: tuple[Edge, ...]) -> Node | Sequence[Edge]:
        if node.call is not None and node.call.name in ("amp_cast", "amp_multicast"):
            return inputs
        return node.with_inputs(inputs)

    return graph.map(change).outputs
