"""`cond`, `case` and `while_loop`: functions that become graphs inside a node.

A function is called once. What it makes is marked as being inside, what it uses of the graph around
it becomes an input of the node (see `hybridnet.symbol.inside`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from hybridnet.attribute import AttrScope
from hybridnet.base.errors import DTypeError
from hybridnet.graph.cond import open_cond
from hybridnet.graph.node import Edge
from hybridnet.graph.while_loop import open_while
from hybridnet.ops.core.call import Call
from hybridnet.symbol.inside import Inside, is_inside, joined

from .. import dtypes
from ..graph.building import COPY, apply_call, tensor_of
from ..graph.coded import STRINGS
from ..graph.control import control_dependencies, name_scope
from ..graph.graph import Graph, get_default_graph
from ..graph.infer import Kind
from ..graph.shapes import TensorShape, as_dims
from ..graph.tensor import Operation, Tensor
from ..graph.values import constant, convert_to_tensor
from ..nest import assert_same_structure, flatten, pack_sequence_as

__all__ = ["case", "cond", "while_loop"]

_PARALLEL: Final = "__parallel_iterations__"


def cond(
    pred: Any,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    strict: bool = False,
    name: str | None = None,
    fn1: Callable[[], Any] | None = None,
    fn2: Callable[[], Any] | None = None,
) -> Any:
    """Returns what one of two functions returns, whichever a value says.

    Only Operations that are made in the function that is taken run; what is made outside runs
    before, if the functions use it.

    Args:
        pred: a tensor of one bool.
        true_fn: takes nothing, and returns a tensor, or a nest of tensors; an Operation counts as a
            tensor whose value means nothing.
        false_fn: likewise; tensors of the same dtypes.
        strict: whether a list of one tensor is returned as a list.
        name: of the scope.
        fn1: an older name of `true_fn`.
        fn2: an older name of `false_fn`.

    Raises:
        TypeError: an argument is something else.
        ValueError: the functions return different nests or dtypes.
    """
    first, second = true_fn or fn1, false_fn or fn2
    if not callable(first):
        raise TypeError("'true_fn' must be callable.")
    if not callable(second):
        raise TypeError("'false_fn' must be callable.")
    if isinstance(pred, bool):
        raise TypeError("'pred' must not be a Python bool.")
    with name_scope(name, "cond", [pred]):
        condition = convert_to_tensor(pred, dtypes.bool, name="pred_id")
        graph = condition.graph
        branches = [_branch(graph, one) for one in (first, second)]
        results = [result for _, result, _ in branches]
        try:
            assert_same_structure(results[0], results[1], check_types=False)
        except ValueError as error:
            raise ValueError(f"true_fn and false_fn must return the same: {error}") from None
        tensors = [made for _, _, made in branches]
        kinds = [_either(*pair) for pair in zip(*tensors, strict=True)]
        ends = [(inside, [one.edge for one in made]) for inside, _, made in branches]
        (then, other), inputs, _ = joined(ends)
        call, numbers = open_cond(then, other)
        made = outputs_of("If", call, (condition.edge, *inputs), numbers, kinds, "Merge")
        result = pack_sequence_as(results[0], made)
        single = isinstance(result, (list, tuple)) and len(result) == 1 and not strict
        return result[0] if single and not hasattr(result, "_fields") else result


def _branch(graph: Graph, function: Callable[[], Any]) -> tuple[Inside, Any, list[Tensor]]:
    """Calls a function; returns where it was inside, what it returned, and that as tensors."""
    inside = Inside("branch", [])
    with marked(graph, inside):
        result = function()
        if result is None:
            raise ValueError("'true_fn' and 'false_fn' must return a tensor, and not None.")
        made = [inner(_as_tensor(one)) for one in flatten(result)]
    return inside, result, made


def _as_tensor(given: Any) -> Tensor:
    if isinstance(given, Operation):  # what counts is that it runs
        with control_dependencies([given]):
            return constant(True, name="done")
    return convert_to_tensor(given)


def inner(tensor: Tensor) -> Tensor:
    """Returns a tensor that is inside: it may be one from outside, that a function returned."""
    made: Tensor = apply_call("Identity", COPY, (tensor,), name="Identity")
    return made


@contextmanager
def marked(graph: Graph, inside: Inside) -> Iterator[None]:
    """A block of which all that is made is inside: its values are of a branch or turn, not a run.

    Args:
        graph: that it is made in.
        inside: inside of what.
    """
    before = graph.version
    with inside.scope, graph.control_dependencies(None):
        yield
    for op in graph.get_operations()[before:]:
        if op.node is None or not is_inside(op.node):  # a variable
            continue
        graph.prevent_fetching(op)
        for one in op.outputs:
            graph.prevent_feeding(one)


def _either(one: Tensor, other: Tensor) -> Kind:
    """Returns what is known of a value that is one of two.

    Raises:
        ValueError: their dtypes differ.
    """
    if one.dtype.base_dtype is not other.dtype.base_dtype:
        raise ValueError(
            "Outputs of true_fn and false_fn must have the same type(s). Received "
            f"{one.dtype.base_dtype.name} from true_fn and {other.dtype.base_dtype.name} from "
            "false_fn."
        )
    sizes = (one.shape._dims, other.shape._dims)
    if sizes[0] is None or sizes[1] is None or len(sizes[0]) != len(sizes[1]):
        return Kind(one.dtype.numpy, None)
    pairs = zip(*sizes, strict=True)  # type: ignore[arg-type]
    return Kind(one.dtype.numpy, tuple(a if a == b else None for a, b in pairs))


def outputs_of(
    kind: str,
    call: Call,
    inputs: Sequence[Edge],
    numbers: tuple[Any, ...],
    kinds: Sequence[Kind],
    name: str,
) -> list[Tensor]:
    """Adds the node, and for each of its outputs an Operation with TensorFlow's name for it.

    Raises:
        DTypeError: strings go in or come out.
    """
    graph = get_default_graph()
    tensors = [tensor_of(graph, edge) for edge in inputs]
    if STRINGS in (*(one.dtype.numpy for one in tensors), *(one.dtype for one in kinds)):
        raise DTypeError(
            f"{kind}: strings are on the host, and cannot go into a branch or a loop, nor come out "
            "of it; make numbers of them before (tf.decode_raw, tf.string_to_number, tf.equal)"
        )
    made = apply_call(kind, call, tensors, numbers, name=kind, kinds=kinds)
    listed = made if isinstance(made, tuple) else (made,)
    return [apply_call(name, COPY, (one,), name=name) for one in listed]


def case(
    pred_fn_pairs: Any,
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """Returns what the function of the first condition that holds returns.

    Args:
        pred_fn_pairs: pairs of a tensor of one bool and a function; a list, or a dict in its order.
        default: the function where none holds; without one the last function is taken then.
        exclusive: without meaning here: the first condition that holds counts.
        strict: as for `cond`.
        name: of the scope.

    Raises:
        TypeError: an argument is something else.
        ValueError: there is no pair, or the functions return different nests or dtypes.
    """
    pairs = list(pred_fn_pairs.items() if isinstance(pred_fn_pairs, Mapping) else pred_fn_pairs)
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2 or not callable(pair[1]):
            raise TypeError(
                f"Each entry in pred_fn_pairs must be a pair of a tensor and a callable, got {pair}"
            )
    if default is not None and not callable(default):
        raise TypeError("default must be callable.")
    if not pairs:
        if default is None:
            raise ValueError("pred_fn_pairs must have at least one pair")
        return default()
    if default is None:
        default = pairs.pop()[1]

    def from_pair(number: int) -> Any:
        if number == len(pairs):
            return default()
        pred, function = pairs[number]
        return cond(pred, function, lambda: from_pair(number + 1), strict=strict)

    with name_scope(name, "case", [pred for pred, _ in pairs]):
        return from_pair(0)


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
    maximum_iterations: Any = None,
    return_same_structure: bool = False,
) -> Any:
    """Runs a function over and over while a condition holds.

    Args:
        cond: gets the loop variables, and returns a tensor of one bool.
        body: gets them too, and returns the new ones.
        loop_vars: the first ones: a list (or a nest) of tensors. In a run each keeps its shape.
        shape_invariants: shapes for them, in a nest like `loop_vars`, for where a size is not that
            of the first value in every run.
        parallel_iterations: how many turns may be under way where several devices take part.
        back_prop: without meaning here.
        swap_memory: without meaning here.
        name: of the scope.
        maximum_iterations: how often `body` is run at most; None if `cond` alone ends it.
        return_same_structure: whether a list of one variable is returned as a list.

    Returns:
        The last loop variables, nested as `loop_vars`; of a list of one, that one.

    Raises:
        TypeError: an argument is something else, or a loop variable changes its dtype.
        ValueError: `body` returns another nest, or a variable changes its shape.
    """
    if not callable(cond):
        raise TypeError("'cond' must be callable.")
    if not callable(body):
        raise TypeError("'body' must be callable.")
    if not loop_vars:
        raise ValueError("'loop_vars' must be provided.")
    if not isinstance(parallel_iterations, int) or parallel_iterations < 1:
        raise TypeError("'parallel_iterations' must be a positive integer.")
    structure = list(loop_vars) if type(loop_vars) is tuple else loop_vars
    with name_scope(name, "while", flatten(structure)):
        first = [convert_to_tensor(one) for one in flatten(structure)]
        graph = first[0].graph
        shapes = _invariants(structure, first, shape_invariants)
        limit = None if maximum_iterations is None else _limit(maximum_iterations)
        tested, holds = _condition(graph, cond, structure, first, shapes)
        inside, new = _body(graph, body, structure, first, shapes)
        ends = [(tested, [holds.edge]), (inside, [one.edge for one in new])]
        (test, step), inputs, places = joined(ends)
        call, numbers = open_while(test, step, places[: len(first)], 0, limit)
        kinds = [Kind(one.dtype.numpy, dims) for one, dims in zip(first, shapes, strict=True)]
        with AttrScope(**{_PARALLEL: str(parallel_iterations)}):
            made = outputs_of("While", call, inputs, numbers, kinds, "Exit")
    result = pack_sequence_as(loop_vars, made)
    alone = isinstance(result, (list, tuple)) and len(made) == 1
    return result[0] if alone and not return_same_structure else result


def _limit(maximum: Any) -> int:
    value = maximum
    if isinstance(maximum, Tensor):
        value = maximum.op.params.get("value")
    try:
        limit = int(value)
    except (TypeError, ValueError):
        limit = -1
    if limit < 0:
        raise ValueError(f"maximum_iterations must be a number, not negative, got {maximum!r}")
    return limit


def _invariants(structure: Any, first: Sequence[Tensor], given: Any) -> list[Any]:
    """Returns the sizes of the loop variables that hold in every turn."""
    if given is None:
        return [one.shape._dims for one in first]
    shapes = _shapes(structure, given)
    for one, shape in zip(first, shapes, strict=True):
        if not TensorShape(shape).is_compatible_with(one.shape):
            raise ValueError(
                f"The shape invariant specified for {one.name} is not compatible with the initial "
                f"shape of the loop variable. It enters the loop with shape {one.shape}, but the "
                f"specified shape invariant is {TensorShape(shape)}."
            )
    return shapes


def _shapes(structure: Any, given: Any) -> list[Any]:
    """Returns the shapes that stand where the leaves of a nest do."""
    if isinstance(structure, Mapping):
        return [one for key in sorted(structure) for one in _shapes(structure[key], given[key])]
    if isinstance(structure, (list, tuple)):
        if len(structure) != len(given):
            raise ValueError("'shape_invariants' must be nested as 'loop_vars'")
        pairs = zip(structure, given, strict=True)
        return [one for pair in pairs for one in _shapes(*pair)]
    return [as_dims(given)]


def _entered(
    graph: Graph, inside: Inside, first: Sequence[Tensor], shapes: Sequence[Any]
) -> list[Tensor]:
    """Returns what stands for the loop variables inside."""
    found = []
    for symbol, one, dims in zip(inside.symbols, first, shapes, strict=True):
        kind = Kind(one.dtype.numpy, dims)
        source = tensor_of(graph, symbol.edges[0], kind)
        found.append(apply_call("Identity", COPY, (source,), name="Identity"))
    return found


def _arguments(structure: Any, leaves: Sequence[Tensor]) -> list[Any]:
    """Returns loop variables as the arguments of a function."""
    packed = pack_sequence_as(structure, leaves)
    return list(packed) if isinstance(packed, (list, tuple)) else [packed]


def _sources(first: Sequence[Tensor]) -> list[Any]:
    return [one.symbol for one in first]


def _condition(
    graph: Graph, cond: Callable[..., Any], structure: Any, first: Sequence[Tensor], shapes: Any
) -> tuple[Inside, Tensor]:
    inside = Inside("while_cond", _sources(first))
    with marked(graph, inside):
        leaves = _entered(graph, inside, first, shapes)
        holds = convert_to_tensor(cond(*_arguments(structure, leaves)))
        if not holds.dtype.is_bool:
            raise TypeError(f"'cond' must return a boolean scalar tensor, got {holds}")
        made = inner(holds)
    return inside, made


def _body(
    graph: Graph, body: Callable[..., Any], structure: Any, first: Sequence[Tensor], shapes: Any
) -> tuple[Inside, list[Tensor]]:
    inside = Inside("while_body", _sources(first))
    with marked(graph, inside):
        leaves = _entered(graph, inside, first, shapes)
        result = body(*_arguments(structure, leaves))
        packed = result if isinstance(result, (list, tuple, Mapping)) else [result]
        if isinstance(structure, (list, tuple)) and not isinstance(packed, Mapping):
            packed = list(packed)
            try:
                assert_same_structure(list(structure), packed, check_types=False)
            except ValueError as error:
                raise ValueError(f"body must return what it gets: {error}") from None
        elif isinstance(structure, Mapping):
            packed = packed[0] if isinstance(packed, list) and len(packed) == 1 else packed
            assert_same_structure(structure, packed, check_types=False)
        made = []
        for one, begin, dims in zip(flatten(packed), first, shapes, strict=True):
            new = convert_to_tensor(one, None if isinstance(one, Tensor) else begin.dtype)
            _check_turn(new, begin, dims)
            made.append(inner(new))
    return inside, made


def _check_turn(new: Tensor, begin: Tensor, dims: Any) -> None:
    """Raises an error where a loop variable does not stay what it is."""
    if new.dtype.base_dtype is not begin.dtype.base_dtype:
        raise TypeError(
            f"Input tensor {begin.name!r} enters the loop with dtype "
            f"{begin.dtype.base_dtype.name}, but has dtype {new.dtype.base_dtype.name} after one "
            "iteration."
        )
    after = new.shape._dims
    fits = dims is None or (
        after is not None
        and len(after) == len(dims)
        and all(a is None or a == b for a, b in zip(dims, after, strict=True))
    )
    if not fits:
        raise ValueError(
            f"Input tensor {begin.name!r} enters the loop with shape {TensorShape(dims)}, but has "
            f"shape {new.shape} after one iteration. To allow the shape to vary across iterations, "
            "use the `shape_invariants` argument of tf.while_loop to specify a less-specific shape."
        )
