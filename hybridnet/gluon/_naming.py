"""Names of blocks: prefixes, and the scopes that nest them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from hybridnet.name import NameManager, Prefix

from ._parameter_dict import ParameterDict


class _Current(threading.local):
    """The block whose `name_scope` this thread is in."""

    def __init__(self) -> None:
        self.block: Any = None


_current: Final = _Current()


def prefix_and_params(
    prefix: str | None, params: ParameterDict | None, hint: str
) -> tuple[str, ParameterDict]:
    """Returns the prefix of a new block, and the dict of its parameters.

    Args:
        prefix: what the user gave; None makes one of the hint and a number: those of the block
            whose scope this is count on their own, the others with the names of symbols.
        params: a dict whose parameters are shared.
        hint: the kind of the block.
    """
    outer = _current.block
    if outer is None:
        if prefix is None:
            prefix = NameManager.current.get(None, hint) + "_"
        if params is None:
            return prefix, ParameterDict(prefix)
        return prefix, ParameterDict(params.prefix, params)
    if prefix is None:
        number = outer._scope_counters.get(hint, 0)
        outer._scope_counters[hint] = number + 1
        prefix = f"{hint}{number}_"
    whole = outer.prefix + prefix
    if params is None:
        return whole, ParameterDict(outer.params.prefix + prefix, outer.params._shared)
    return whole, ParameterDict(params.prefix, params)


@contextmanager
def name_scope(block: Any, empty: bool) -> Iterator[Any]:
    """A scope in which blocks and nodes of symbols get a block's prefix.

    Args:
        empty: whether its own part of the prefix is empty, which makes no scope: names go on as
            they would outside.
    """
    if empty:
        yield block
        return
    outer = _current.block
    _current.block = block
    try:
        with Prefix(block.prefix):
            yield block
    finally:
        _current.block = outer


class BlockScope:
    """The scope of a block, and how prefixes are made in it, as MXNet's ``_BlockScope``.

    Args:
        block: what has a prefix, and knows whether its own part of it is empty.
    """

    create = staticmethod(prefix_and_params)

    def __init__(self, block: Any) -> None:
        self._scope = name_scope(block, block._empty_prefix)

    def __enter__(self) -> BlockScope:
        self._scope.__enter__()
        return self

    def __exit__(self, *exc: Any) -> None:
        self._scope.__exit__(*exc)
