"""Which names a file uses of the packages that it imports, found in its tree.

A name stands for what is bound to it in its scope: by imports, and by assignments such as
``F = mx.nd``. Where it may stand for anything else, nothing is said of it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, final

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
#: What a hybrid block's `forward` gets as its first argument.
_FRONTS: Final = ("mxnet.nd", "mxnet.sym")
_SCOPES: Final = (
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef),
    *(ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
)


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


#: What binds its name.
_NAMED: Final = (
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef),
    *(ast.ExceptHandler, ast.MatchAs, ast.MatchStar),
)
#: A path, an expression to be looked at later, or None for anything else.
Bound = str | ast.expr | tuple[str, ...] | None


@dataclass
class _Scope:
    node: ast.AST
    outer: _Scope | None
    bound: dict[str, list[Bound]] = field(default_factory=dict)
    elsewhere: set[str] = field(default_factory=set)  # `global` and `nonlocal`

    def find(self, name: str) -> tuple[_Scope, list[Bound]] | None:
        """Returns what a name is bound to, and where; None: nowhere."""
        scope: _Scope | None = self
        while scope is not None:
            # Functions do not see the names of the class around them.
            is_seen = scope is self or not isinstance(scope.node, ast.ClassDef)
            if is_seen and name in scope.bound and name not in scope.elsewhere:
                return scope, scope.bound[name]
            scope = scope.outer
        return None


def find_uses(tree: ast.Module) -> list[Use]:
    """Returns the uses of imported names in a file, and of names that nothing binds.

    The path of the latter is that of Python's own: ``builtins.xrange``.

    Raises:
        RecursionError: the tree is too deep.
    """
    binder = _Binder(tree)
    binder.visit(tree)
    reader = _Reader(binder)
    reader.visit(tree)
    return reader.uses


class _Binder(ast.NodeVisitor):
    """First turn: what each scope binds."""

    def __init__(self, tree: ast.Module) -> None:
        self.module = self.scope = _Scope(tree, None)
        self.scopes: dict[ast.AST, _Scope] = {tree: self.scope}
        self.stars: list[str] = []
        self.added: set[str] = set()  # attributes that the file sets: mx.nd.mine = f

    def bind(self, name: str, value: Bound = None) -> None:
        self.scope.bound.setdefault(name, []).append(value)
        scope = self.scope
        while name in self.scope.elsewhere and scope.outer is not None:  # any of those around
            scope = scope.outer
            scope.bound.setdefault(name, []).append(None)

    def generic_visit(self, node: ast.AST) -> None:
        if isinstance(node, _NAMED) and node.name:
            self.bind(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            self.bind(node.rest)
        if not isinstance(node, _SCOPES):
            super().generic_visit(node)
            return
        self.scope = self.scopes[node] = _Scope(node, self.scope)
        super().generic_visit(node)
        if isinstance(node, ast.FunctionDef) and node.name == "hybrid_forward":
            for front in node.args.args[1:2]:
                self.scope.bound[front.arg][0] = _FRONTS  # what the body binds comes after
        assert self.scope.outer is not None
        self.scope = self.scope.outer

    def visit_Import(self, node: ast.Import) -> None:
        for one in node.names:
            top = one.name.partition(".")[0]
            self.bind(one.asname or top, one.name if one.asname else top)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for one in node.names:
            if one.name == "*":
                self.stars.append(node.module if node.module and not node.level else "")
            else:
                path = None if node.level or not node.module else f"{node.module}.{one.name}"
                self.bind(one.asname or one.name, path)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.bind(target.id, node.value)
            else:
                self.visit(target)

    def visit_Global(self, node: ast.Global | ast.Nonlocal) -> None:
        self.scope.elsewhere.update(node.names)

    visit_Nonlocal = visit_Global

    def visit_Name(self, node: ast.Name) -> None:
        if not isinstance(node.ctx, ast.Load):
            self.bind(node.id)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if isinstance(node.ctx, ast.Store):
            self.added.add(node.attr)
        self.visit(node.value)

    def visit_arg(self, node: ast.arg) -> None:
        self.bind(node.arg)
        self.generic_visit(node)


class _Reader(ast.NodeVisitor):
    """Second turn: what is used, with what was bound in mind."""

    def __init__(self, binder: _Binder) -> None:
        self.binder = binder
        self.scope = binder.module
        self.guards = 0
        self.uses: list[Use] = []

    def generic_visit(self, node: ast.AST) -> None:
        if node is self.scope.node or node not in self.binder.scopes:
            super().generic_visit(node)
            return
        outer, self.scope = self.scope, self.binder.scopes[node]
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
        names = _chain(node)
        if names is None or not isinstance(getattr(node, "ctx", None), ast.Load):
            return False
        if not self.binder.added.isdisjoint(names[1:]):
            return True
        if self.scope.find(names[0]) is None:
            rest = ".".join(names)
            paths = tuple(f"{star}.{rest}" for star in self.binder.stars if star)
            if not self.binder.stars:
                self._use(node, (f"builtins.{names[0]}",))
            elif paths:
                self._use(node, paths, keywords=keywords, maybe=True)
        elif paths := tuple(dict.fromkeys(_paths(node, self.scope, 0) or ())):
            self._use(node, paths, keywords=keywords)
        return True

    def _use(self, node: Any, paths: tuple[str, ...], **given: Any) -> None:
        self.uses.append(Use(paths, node.lineno, guarded=bool(self.guards), **given))


def _chain(node: ast.expr) -> list[str] | None:
    """Returns the names in ``a.b.c``; None: it is another expression."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return [node.id, *reversed(names)] if isinstance(node, ast.Name) else None


#: How many assignments are followed: x = mx; y = x; z = y.nd.
_MOST_STEPS: Final = 5


def _paths(node: ast.expr, scope: _Scope, steps: int) -> list[str] | None:
    """Returns the paths that an expression may stand for; None: it may be something else."""
    if isinstance(node, ast.IfExp):
        both = [_paths(one, scope, steps) for one in (node.body, node.orelse)]
        return None if None in both else [path for one in both for path in one or ()]
    names = _chain(node)
    found = scope.find(names[0]) if names and steps < _MOST_STEPS else None
    if names is None or found is None:
        return None
    home, values = found
    paths = list(_each(values, home, steps + 1))
    return None if None in paths else [".".join([path or "", *names[1:]]) for path in paths]


def _each(values: Sequence[Bound], scope: _Scope, steps: int) -> Iterator[str | None]:
    for value in values:
        if isinstance(value, ast.expr):
            yield from _paths(value, scope, steps) or (None,)
        elif isinstance(value, tuple):
            yield from value
        else:
            yield value


def _mentions(node: ast.AST | None, names: frozenset[str]) -> bool:
    """Whether an expression has one of some names in it; a bare ``except`` has all."""
    if node is None:
        return True
    return any(getattr(one, "id", getattr(one, "attr", "")) in names for one in ast.walk(node))
