"""The scopes of a file, and what each binds its names to, by imports and assignments."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, final

#: What a hybrid block's `forward` gets as its first argument.
_FRONTS: Final = ("mxnet.nd", "mxnet.sym")
_SCOPES: Final = (
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef),
    *(ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
)
#: What binds its name.
_NAMED: Final = (
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef),
    *(ast.ExceptHandler, ast.MatchAs, ast.MatchStar),
)
#: A path, an expression to be looked at later, or None for anything else.
Bound = str | ast.expr | tuple[str, ...] | None


@final
@dataclass
class NameScope:
    """A module, class, function or comprehension, and the names in it.

    Attributes:
        node: it.
        outer: the scope around it.
        bound: all that each name is bound to in it, wherever that is.
        elsewhere: the names that it says are ``global`` or ``nonlocal``.
    """

    node: ast.AST
    outer: NameScope | None
    bound: dict[str, list[Bound]] = field(default_factory=dict)
    elsewhere: set[str] = field(default_factory=set)

    def find(self, name: str) -> tuple[NameScope, list[Bound]] | None:
        """Returns what a name is bound to, and where; None: nowhere."""
        scope: NameScope | None = self
        while scope is not None:
            # Functions do not see the names of the class around them.
            is_seen = scope is self or not isinstance(scope.node, ast.ClassDef)
            if is_seen and name in scope.bound and name not in scope.elsewhere:
                return scope, scope.bound[name]
            scope = scope.outer
        return None


@final
@dataclass(frozen=True)
class Bindings:
    """The names that a file binds, by scope.

    Attributes:
        scopes: each by its node.
        stars: the modules of ``from ... import *``, "" for one of the project's own.
        added: what the file sets in modules or objects: ``mx.nd.mine`` of ``mx.nd.mine = f``.
    """

    scopes: dict[ast.AST, NameScope]
    stars: list[str]
    added: set[str]


def bindings_of(tree: ast.Module) -> Bindings:
    """Returns what is bound in a file.

    Raises:
        RecursionError: the tree is too deep.
    """
    binder = _Binder(tree)
    binder.visit(tree)
    return Bindings(binder.scopes, binder.stars, binder.added)


class _Binder(ast.NodeVisitor):
    def __init__(self, tree: ast.Module) -> None:
        self.scope = NameScope(tree, None)
        self.scopes: dict[ast.AST, NameScope] = {tree: self.scope}
        self.stars: list[str] = []
        self.added: set[str] = set()

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
        self.scope = self.scopes[node] = NameScope(node, self.scope)
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
            self.added.add(".".join(chain(node) or ()))
        self.visit(node.value)

    def visit_arg(self, node: ast.arg) -> None:
        self.bind(node.arg)
        self.generic_visit(node)


def chain(node: ast.expr) -> list[str] | None:
    """Returns the names in ``a.b.c``; None: it is another expression."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return [node.id, *reversed(names)] if isinstance(node, ast.Name) else None


#: How many assignments are followed: x = mx; y = x; z = y.nd.
_MOST_STEPS: Final = 5


def paths_of(node: ast.expr, scope: NameScope, steps: int = 0) -> list[str] | None:
    """Returns the paths that an expression may stand for; None: it may be something else.

    Args:
        node: the expression.
        scope: where it stands.
        steps: how many assignments were followed to it.
    """
    if isinstance(node, ast.IfExp):
        both = [paths_of(one, scope, steps) for one in (node.body, node.orelse)]
        return None if None in both else [path for one in both for path in one or ()]
    names = chain(node)
    found = scope.find(names[0]) if names and steps < _MOST_STEPS else None
    if names is None or found is None:
        return None
    home, values = found
    paths = list(_each(values, home, steps + 1))
    return None if None in paths else [".".join([path or "", *names[1:]]) for path in paths]


def _each(values: Sequence[Bound], scope: NameScope, steps: int) -> Iterator[str | None]:
    for value in values:
        if isinstance(value, ast.expr):
            yield from paths_of(value, scope, steps) or (None,)
        elif isinstance(value, tuple):
            yield from value
        else:
            yield value
