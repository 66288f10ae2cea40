"""Nested arguments of blocks as MXNet writes them down: a flat list, and numbers for its structure.

Blocks themselves take their arguments apart in `hybridnet.tracing`; this is for programs that call
``mxnet.gluon.block._flatten`` and its inverse.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from hybridnet.base.errors import ParameterError
from hybridnet.ndarray import NDArray
from hybridnet.symbol import Symbol

#: How arrays are nested: a number for a leaf, a list for a list or tuple.
Form: TypeAlias = "int | list[Form]"

_ONE: Final = 0
_NONE: Final = -1


def flatten(args: object, inout_str: str) -> tuple[list[Any], Form]:
    """Takes nested lists and tuples of arrays, symbols and None apart.

    Args:
        args: an array, a symbol, None, or a list or tuple of such, of any depth.
        inout_str: what they are, for errors: 'input' or 'output'.

    Returns:
        The leaves, and the structure: a list for each list or tuple; for each leaf 0, -1 for None,
        and for a symbol of several outputs how many it has.

    Raises:
        ParameterError: something else is among them.
    """
    if args is None:
        return [args], _NONE
    if isinstance(args, NDArray):
        return [args], _ONE
    if isinstance(args, Symbol):
        count = len(args.list_outputs())
        return [args], count if count > 1 else _ONE
    if not isinstance(args, (list, tuple)):
        raise ParameterError(
            f"HybridBlock: the {inout_str} must be arrays, symbols, None, or lists of these, "
            f"got {type(args).__name__}"
        )
    leaves: list[Any] = []
    formats: list[Form] = []
    for part in args:
        found, form = flatten(part, inout_str)
        leaves += found
        formats.append(form)
    return leaves, formats


def regroup(args: Sequence[Any], fmt: Form) -> Any:
    """Puts together what `flatten` took apart.

    Args:
        args: the leaves; several in the place of a symbol of several outputs.
        fmt: the structure, as `flatten` returns it.

    Raises:
        ParameterError: there is something where None was, or the structure is none of `flatten`'s.
    """
    return _take(list(args), fmt)


def _take(leaves: list[Any], form: Form) -> Any:
    """Takes what a structure needs from the front of a list."""
    if not isinstance(form, int):
        return [_take(leaves, part) for part in form]
    if form < _NONE:
        raise ParameterError(f"regroup: {form} stands for no structure")
    if form > 0:
        taken = leaves[:form]
        del leaves[:form]
        return taken
    leaf = leaves.pop(0)
    if form == _NONE and leaf is not None:
        raise ParameterError(f"regroup: None is expected here, got {type(leaf).__name__}")
    return leaf
