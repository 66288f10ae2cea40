"""A symbol as `visualization` shows it: its layers, what they are in few words, and their links."""

from __future__ import annotations

import importlib
import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hybridnet.base.array_types import Shape
from hybridnet.base.device_name import DEVICE, LOCALHOST, DeviceName
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.graph import Edge, Node, stored_name, topological
from hybridnet.ops.core import OpCall
from hybridnet.symbol import Symbol

_GROUP: Final = stored_name("ctx_group")

# How the names of parameters end, in symbols and in gluon's blocks.
_PARAMETER: Final = re.compile(
    r"(^|_)(weight|bias|gamma|beta|parameters|(moving|running)_(mean|var))$"
)
#: Family -> the color of its boxes, and its operators; the rest is "arithmetic".
FAMILIES: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "input": ("#f2f2f2", ("null",)),
    "product": (
        "#f6b8a8",
        ("Convolution", "Deconvolution", "Embedding", "FullyConnected", "batch_dot", "dot"),
    ),
    "activation": (
        "#fdf0b0",
        ("Activation", "LeakyReLU", "relu", "sigmoid", "softsign", "tanh"),
    ),
    "pooling": ("#a9cce8", ("Pooling",)),
    "norm": (
        "#cfc4e6",
        (
            "BatchNorm",
            "Dropout",
            "GroupNorm",
            "InstanceNorm",
            "L2Normalization",
            "LRN",
            "LayerNorm",
        ),
    ),
    "shape": (
        "#fbd5a1",
        ("Concat", "Flatten", "Pad", "Reshape", "SliceChannel", "expand_dims", "transpose"),
    ),
    "loss": (
        "#f8cfe4",
        (
            "LinearRegressionOutput",
            "LogisticRegressionOutput",
            "MAERegressionOutput",
            "SoftmaxOutput",
            "log_softmax",
            "make_loss",
            "softmax",
            "softmax_cross_entropy",
        ),
    ),
    "arithmetic": ("#c5e3bd", ()),
}


@dataclass(frozen=True, slots=True)
class Link:
    """A value that a layer takes.

    Attributes:
        source: the name of the layer it comes from.
        shape: its shape; None if that is not known.
        dtype: the name of its dtype; None if not asked for, or not known.
    """

    source: str
    shape: Shape | None
    dtype: str | None


@dataclass(frozen=True, slots=True)
class Layer:
    """A node that is shown.

    Attributes:
        name: of the node; with a number where several nodes of the network have one name.
        operator: its operator; "null" for a variable, as in MXNet's files.
        facts: its main parameters in short, such as "3x3/1, 16"; may be empty.
        shape: of its first output; None if not known.
        links: what it takes from other layers that are shown.
        num_parameters: the elements of parameters that it is the first to use; None if not known.
        num_states: the same of auxiliary states.
        device: where it is to run, in short, such as "cpu:1" or "group a"; empty where nothing is
            said of that.
        controls: the layers that must have run before it, beside those it takes values from.
        node: the node.
    """

    name: str
    operator: str
    facts: str
    shape: Shape | None
    links: tuple[Link, ...]
    num_parameters: int | None
    num_states: int | None
    device: str
    controls: tuple[str, ...]
    node: Node

    @property
    def family(self) -> str:
        """The row of `FAMILIES` it is in."""
        return family_of(self.operator)

    @property
    def color(self) -> str:
        """The color of its box."""
        return FAMILIES[self.family][0]


def family_of(operator: str) -> str:
    """Returns the row of `FAMILIES` that an operator is in."""
    found = (name for name, (_, operators) in FAMILIES.items() if operator in operators)
    return next(found, "arithmetic")


def layers_of(
    function: str,
    symbol: Any,
    shape: Mapping[str, Shape] | None,
    dtype: Mapping[str, Any] | None = None,
    hide_weights: bool = True,
) -> list[Layer]:
    """Returns the layers of a symbol, each after those it takes values from.

    Args:
        function: for messages.
        symbol: the network.
        shape: shapes of inputs by name, from which the others follow; None shows those known.
        dtype: dtypes of inputs by name; None shows none.
        hide_weights: leave out the parameters and auxiliary states.

    Raises:
        ParameterError: `symbol` is no symbol, or `shape` no dict.
        ShapeError: the shapes do not tell all others.
    """
    if not isinstance(symbol, Symbol):
        raise ParameterError(f"{function}: needs a Symbol, got {type(symbol).__name__}")
    if shape is not None and not isinstance(shape, Mapping):
        raise ParameterError(
            f"{function}: shape must be a dict of names and shapes, got {type(shape).__name__}"
        )
    shapes = _shapes(function, symbol, shape)
    dtypes = {}
    if dtype is not None:
        internals = symbol.get_internals()
        outputs = zip(internals.edges, internals.infer_type_partial(**dtype)[1], strict=True)
        dtypes = {edge: kind.__name__ for edge, kind in outputs if kind is not None}
    nodes = topological(symbol.edges)
    return layers_of_nodes(nodes, shapes, dtypes, symbol.list_auxiliary_states(), hide_weights)


def layers_of_nodes(
    nodes: Sequence[Node],
    shapes: Mapping[Edge, Shape],
    dtypes: Mapping[Edge, str],
    auxiliary: Collection[str],
    hide_weights: bool = True,
) -> list[Layer]:
    """Returns the layers of some nodes, each after those it takes values from.

    Args:
        shapes, dtypes: of their outputs, as far as they are known.
        auxiliary: the names of auxiliary states.
        hide_weights: leave out the parameters and auxiliary states.
    """
    counted: set[Node] = set()
    layers = []
    names = _unique_names(nodes)
    for node in nodes:
        if node.call is None and hide_weights and _is_hidden(node, auxiliary):
            continue
        links = []
        fresh = []
        for edge in node.inputs:
            if edge.node.call is None and _is_hidden(edge.node, auxiliary):
                if edge.node not in counted:
                    counted.add(edge.node)
                    fresh.append(edge)
                if hide_weights:
                    continue
            links.append(Link(names[edge.node], shapes.get(edge), dtypes.get(edge)))
        sizes = {edge: _size(shapes.get(edge)) for edge in fresh}
        layers.append(
            Layer(
                names[node],
                "null" if node.call is None else node.call.name,
                _facts(node),
                shapes.get(Edge(node, 0)),
                tuple(links),
                _sum([size for e, size in sizes.items() if e.node.name not in auxiliary]),
                _sum([size for e, size in sizes.items() if e.node.name in auxiliary]),
                _place(node),
                tuple(names[before] for before in node.controls),
                node,
            )
        )
    return layers


def short_device(name: str) -> str:
    """Returns the name of a device in short: ``cpu:1`` where it is one of this process."""
    found = DeviceName.parse(name)
    if found.type is None or found.job not in (None, LOCALHOST):
        return name
    return found.type if found.index is None else f"{found.type}:{found.index}"


def _place(node: Node) -> str:
    if DEVICE in node.attrs:
        return short_device(node.attrs[DEVICE])
    group = node.attrs.get(_GROUP)
    return "" if group is None else f"group {group}"


def import_extra(name: str, function: str) -> Any:
    """Imports a package of the viz extra.

    Raises:
        ImportError: it is not installed; the message says how to get it.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise ImportError(
            f"{function}: needs {package}; install it, or hybridnet with its viz extra: "
            "pip install 'hybridnet[viz]'",
            name=package,
        ) from error


def _unique_names(nodes: Sequence[Node]) -> dict[Node, str]:
    counts: dict[str, int] = {}
    names = {}
    for node in nodes:
        count = counts[node.name] = counts.get(node.name, 0) + 1
        names[node] = node.name if count == 1 else f"{node.name}#{count}"
    return names


def _is_hidden(node: Node, auxiliary: Collection[str]) -> bool:
    return node.name in auxiliary or _PARAMETER.search(node.name) is not None


def _shapes(function: str, symbol: Symbol, given: Mapping[str, Shape] | None) -> dict[Edge, Shape]:
    internals = symbol.get_internals()
    _, outputs, _ = internals.infer_shape_partial(**(given or {}))
    if given is not None:
        unknown = [
            name
            for name, output in zip(internals.list_outputs(), outputs, strict=True)
            if not _is_whole(output)
        ]
        if unknown:
            listed = ", ".join(unknown[:5]) + (", ..." if len(unknown) > 5 else "")
            raise ShapeError(
                f"{function}: shape={dict(given)} does not tell the shapes of {listed}; give the "
                "shapes of all inputs"
            )
    pairs = zip(internals.edges, outputs, strict=True)
    return {edge: value for edge, value in pairs if _is_whole(value)}


def _is_whole(shape: Shape | None) -> bool:
    """Whether a shape is known, and of something with elements, in NumPy mode or out of it."""
    return bool(shape) and all(size > 0 for size in shape or ())


def _size(shape: Shape | None) -> int | None:
    return None if shape is None else math.prod(shape)


def _sum(sizes: list[int | None]) -> int | None:
    return None if None in sizes else sum(count for count in sizes if count is not None)


def _facts(node: Node) -> str:
    """The parameters that tell what a layer does: MXNet's short forms."""
    call = node.call
    if not isinstance(call, OpCall):
        return ""
    attrs = call.attrs
    if call.name in ("Convolution", "Deconvolution"):
        return f"{_window(attrs)}, {attrs['num_filter']}"
    if call.name == "Pooling":
        if attrs["global_pool"]:
            return f"{attrs['pool_type']}, global"
        return f"{attrs['pool_type']}, {_window(attrs)}"
    for key in ("num_hidden", "act_type", "output_dim"):
        if key in attrs:
            return str(attrs[key])
    for key in ("axis", "axes", "shape"):
        if key in attrs and attrs[key] != call.operator.params[key].default:
            return f"{key}={attrs[key]}"
    return ", ".join(f"{scalar:g}" for scalar in node.scalars if isinstance(scalar, (int, float)))


def _window(attrs: Mapping[str, Any]) -> str:
    kernel = "x".join(map(str, attrs["kernel"]))
    stride = "x".join(map(str, attrs["stride"])) or "1"
    return f"{kernel}/{stride}"
