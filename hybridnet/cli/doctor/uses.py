"""Which names a file uses of the packages that it imports, found in its tree.

A name stands for what is bound to it in its scope: by imports, and by assignments such as
``F = mx.nd``. Where it may stand for anything else, nothing is said of it.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final, final

from .scopes import bindings_of, chain, paths_of

#: Errors by which code asks whether a name is there.
_ASKING: Final = frozenset({
    "ImportError", "ModuleNotFoundError", "AttributeError", "NameError", "Exception",
    "BaseException",
})  # fmt: skip
#: What the condition of a branch mentions that is for some versions or systems only.
_VERSIONS: Final = frozenset({
    "hasattr", "getattr", "__version__", "version_info", "PY2", "PY3", "TYPE_CHECKING",
    "platform",
})  # fmt: skip


@final
@dataclass(frozen=True)
class Use:
    """A name that a file uses.

    Attributes:
        paths: what it may be, each from its package: ``mxnet.nd.array``.
        line: where.
        imported: whether an import statement asks for it, which may name modules.
        keywords: those that it is called with, if it is called.
        guarded: whether the code can do without it, as inside of ``try`` with ``except
            ImportError``, or is for another version.
        maybe: whether the name may be another's: it may have come by ``from ... import *``.
        statement: the import statement that it is in.
    """

    paths: tuple[str, ...]
    line: int
    imported: bool = False
    keywords: tuple[str, ...] = ()
    guarded: bool = False
    maybe: bool = False
    statement: str = ""


def find_uses(tree: ast.Module) -> list[Use]:
    """Returns the uses of imported names in a file, and of names that nothing binds.

    The path of the latter is that of Python's own: ``builtins.xrange``.

    Raises:
        RecursionError: the tree is too deep.
    """
    reader = _Reader(tree)
    reader.visit(tree)
    return reader.uses


class _Reader(ast.NodeVisitor):
    def __init__(self, tree: ast.Module) -> None:
        self.bindings = bindings_of(tree)
        self.scope = self.bindings.scopes[tree]
        self.guards = 0
        self.uses: list[Use] = []

    def generic_visit(self, node: ast.AST) -> None:
        if node is self.scope.node or node not in self.bindings.scopes:
            super().generic_visit(node)
            return
        outer, self.scope = self.scope, self.bindings.scopes[node]
        super().generic_visit(node)
        self.scope = outer

    def visit_Try(self, node: ast.Try | ast.TryStar) -> None:
        asks = any(_mentions(one.type, _ASKING) for one in node.handlers)
        self._visit_all([*node.body, *node.orelse], asks)
        self._visit_all(node.handlers, True)  # what runs only after an error
        self._visit_all(node.finalbody, False)

    visit_TryStar = visit_Try

    def visit_If(self, node: ast.If | ast.IfExp) -> None:
        self.visit(node.test)
        body = node.body if isinstance(node.body, list) else [node.body]
        other = node.orelse if isinstance(node.orelse, list) else [node.orelse]
        self._visit_all([*body, *other], _mentions(node.test, _VERSIONS))

    visit_IfExp = visit_If

    def _visit_all(self, nodes: Sequence[ast.AST], guarded: bool) -> None:
        self.guards += guarded
        for node in nodes:
            self.visit(node)
        self.guards -= guarded

    def visit_Import(self, node: ast.Import) -> None:
        for one in node.names:
            self._use(node, (one.name,), imported=True, statement=f"import {one.name}")

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.level or not node.module:
            return
        for one in node.names:
            path = node.module if one.name == "*" else f"{node.module}.{one.name}"
            statement = f"from {node.module} import {one.name}"
            self._use(node, (path,), imported=True, statement=statement)

    def visit_Call(self, node: ast.Call) -> None:
        keywords = tuple(one.arg for one in node.keywords if one.arg)
        if not self._read(node.func, keywords):
            self.visit(node.func)
        for part in (*node.args, *node.keywords):
            self.visit(part)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if not self._read(node):
            self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        self._read(node)

    def _read(self, node: ast.expr, keywords: tuple[str, ...] = ()) -> bool:
        """Notes a use, if that is what an expression is; tells whether it is one of names only."""
        names = chain(node)
        if names is None or not isinstance(getattr(node, "ctx", None), ast.Load):
            return False
        if not self.bindings.added.isdisjoint(accumulate(names, "{}.{}".format)):
            return True
        if self.scope.find(names[0]) is None:
            rest = ".".join(names)
            paths = tuple(f"{star}.{rest}" for star in self.bindings.stars if star)
            if not self.bindings.stars:
                self._use(node, (f"builtins.{names[0]}",))
            elif paths:
                self._use(node, paths, keywords=keywords, maybe=True)
        elif paths := tuple(dict.fromkeys(paths_of(node, self.scope) or ())):
            self._use(node, paths, keywords=keywords)
        return True

    def _use(self, node: Any, paths: tuple[str, ...], **given: Any) -> None:
        self.uses.append(Use(paths, node.lineno, guarded=bool(self.guards), **given))


def _mentions(node: ast.AST | None, names: frozenset[str]) -> bool:
    """Whether an expression has one of some names in it; a bare ``except`` has all."""
    if node is None:
        return True
    return any(getattr(one, "id", getattr(one, "attr", "")) in names for one in ast.walk(node))
