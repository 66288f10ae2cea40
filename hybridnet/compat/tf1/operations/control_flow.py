"""`cond` and `case`: functions of which one is run become graphs inside a node."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hybridnet.graph import open_cond
from hybridnet.symbol import Inside, joined

from .. import dtypes
from ..graph import Graph, Kind, control_dependencies, get_default_graph, kind_of, name_scope
from ..graph.adding import Operation, Tensor, constant, convert_to_tensor
from ..nest import assert_same_structure, flatten, pack_sequence_as
from .arrays import TensorArray
from .inside import inner, marked, outputs_of

__all__ = ["case", "cond"]


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
        found = [leaves for _, _, leaves in branches]
        parts = [_settled(inside, leaves, found) for inside, _, leaves in branches]
        tensors = [[one for several in part for one in several] for part in parts]
        kinds = [_either(*pair) for pair in zip(*tensors, strict=True)]
        edges = [[one.edge for one in made] for made in tensors]
        ends = [(inside, made) for (inside, _, _), made in zip(branches, edges, strict=True)]
        (then, other), inputs, _ = joined(ends)
        call, numbers = open_cond(then, other)
        made = outputs_of("If", call, (condition.edge, *inputs), numbers, kinds, "Merge")
        result = pack_sequence_as(results[0], _leaves(found[0], parts[0], made))
        single = isinstance(result, (list, tuple)) and len(result) == 1 and not strict
        return result[0] if single and not hasattr(result, "_fields") else result


def _branch(graph: Graph, function: Callable[[], Any]) -> tuple[Inside, Any, list[Any]]:
    """Calls a function; returns where it was inside, what it returned, and the leaves of that.

    The leaves are tensors, or arrays whose elements may not be known yet: see `_settled`.
    """
    inside = Inside("branch", [])
    with marked(graph, inside):
        result = function()
        if result is None:
            raise ValueError("'true_fn' and 'false_fn' must return a tensor, and not None.")
        made = [_as_leaf(one) for one in flatten(result)]
    return inside, result, made


def _settled(
    inside: Inside, leaves: Sequence[Any], both: Sequence[Sequence[Any]]
) -> list[list[Tensor]]:
    """Returns for each leaf of a branch the tensors that it is.

    Args:
        inside: the branch.
        leaves: its own.
        both: those of both branches. What was written in one of them tells the other's elements.

    Raises:
        TypeError: a leaf is an array in one branch only.
    """
    found: list[list[Tensor]] = []
    for leaf, *others in zip(leaves, *both, strict=True):
        arrays = [one for one in others if isinstance(one, TensorArray)]
        if not arrays:
            found.append([leaf])
            continue
        if len(arrays) == 1:
            raise TypeError("true_fn and false_fn must both return a TensorArray, or neither")
        rows = arrays[0].rows or arrays[1].rows
        if rows is None:  # nothing was written in either
            found.append([])
            continue
        with marked(get_default_graph(), inside):
            found.append([inner(one) for one in leaf.settled(rows.element()).parts])
    return found


def _leaves(
    leaves: Sequence[Any], parts: Sequence[Sequence[Tensor]], made: Sequence[Tensor]
) -> list[Any]:
    """Returns what a branch returned with other tensors in it."""
    rest = iter(made)
    found: list[Any] = []
    for leaf, several in zip(leaves, parts, strict=True):
        tensors = [next(rest) for _ in several]
        if not isinstance(leaf, TensorArray):
            found += tensors
        else:
            rows = leaf.rows
            found.append(leaf if rows is None else leaf.with_rows(rows.with_parts(*tensors)))
    return found


def _as_leaf(given: Any) -> Any:
    if isinstance(given, TensorArray):
        return given
    if isinstance(given, Operation):  # what counts is that it runs
        with control_dependencies([given]):
            return inner(constant(True, name="done"))
    return inner(convert_to_tensor(given))


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
    return kind_of(one).common(kind_of(other))


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
