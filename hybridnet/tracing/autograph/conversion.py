"""Converts functions, each in the cheapest way that gives the same."""

from __future__ import annotations

import ast
import types
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final, final
from weakref import WeakKeyDictionary

from hybridnet.base.locks import free_in_children
from hybridnet.engine import RLock

from .compiled import class_of, function_of, parsed
from .expressions import convert_expressions
from .known import KnownFlow, known_flow

_lock: Final = free_in_children(RLock())


@final
class _Forms:
    """The forms that a code was converted to: in full, and its expressions only.

    Args:
        function: one of this code.
    """

    def __init__(self, function: types.FunctionType) -> None:
        self._whole: types.CodeType | None = None
        self._expressions: types.CodeType | None = None
        self._known: KnownFlow | None = None
        self._node: ast.FunctionDef | ast.Lambda | None = None
        # The full conversion says what is wrong with a source that cannot be read.
        with suppress(OSError, SyntaxError, NotImplementedError):
            self._node = parsed(function)
            self._known = known_flow(self._node, class_of(function))

    def get(
        self, function: types.FunctionType, args: Sequence[object], kwargs: Mapping[str, object]
    ) -> types.CodeType:
        """Returns the code of what makes the converted function for a call."""
        if self._known is not None and self._known.holds(function, args, kwargs):
            if self._node is not None:
                node, self._node = self._node, None  # the conversion changes it
                with suppress(NotImplementedError):
                    self._expressions = convert_expressions(function, node)
            if self._expressions is not None:
                return self._expressions
        if self._whole is None:
            from . import transpile  # the library that converts is loaded when it is needed

            self._whole = transpile.convert_whole(function)
        return self._whole


#: By a code and its file.
_forms: Final[WeakKeyDictionary[types.CodeType, dict[str, _Forms]]] = WeakKeyDictionary()


def convert(
    function: types.FunctionType,
    args: Sequence[object],
    kwargs: Mapping[str, object],
    operators: object,
) -> types.FunctionType:
    """Returns a function that does the same through operators, for arguments like these.

    Each code is converted once, and where arrays decide what others do not decide, twice.

    Raises:
        Exception: of many kinds, where its source is not there or cannot be converted.
    """
    code = function.__code__
    with _lock:
        kept = _forms.setdefault(code, {})
        forms = kept.get(code.co_filename)
        if forms is None:
            forms = kept[code.co_filename] = _Forms(function)
        made = forms.get(function, args, kwargs)
    return function_of(made, function, operators)
