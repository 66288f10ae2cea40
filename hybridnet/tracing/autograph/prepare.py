"""Rewrites a user's function before the library that converts control flow sees it.

That library (diastatic-malt) leaves some of Python out, or treats it in a way that does not suit
arrays that are changed in place. Here such statements become others that say the same:

- `else` of a loop becomes an `if` after it, on a flag that `break` clears;
- ``:=`` in a condition becomes an assignment before it;
- ``x[i] = value`` becomes a call, so that x is not taken for a variable that is assigned anew;
- ``assert`` and ``raise`` become calls;
- ``super()`` gets its arguments, and ``self.__name`` its full name.
"""

from __future__ import annotations

import ast
from typing import Any, Final, TypeVar, final

#: The option of a loop that names the variables to which its body assigns other objects.
REBOUND: Final = "rebound"

_Node = TypeVar("_Node", bound=ast.AST)


def prepare(node: ast.AST, class_name: str | None, first: str | None, at: Any) -> None:
    """Rewrites a function, in place.

    Args:
        class_name: of the class it is a method of, if any.
        first: the name of its first parameter, if any.
        at: gets a new node and that which it stands for, and notes that their lines are the same.

    Raises:
        NotImplementedError: something in it cannot be converted.
    """
    if isinstance(node, ast.FunctionDef):
        _without_annotations(node)
    _Rewriter(class_name, first, at).generic_visit(node)


def _without_annotations(node: ast.FunctionDef) -> None:
    """Annotations may name what is not known where the converted function is made."""
    node.returns = None
    arguments = node.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    for argument in (*every, arguments.vararg, arguments.kwarg):
        if argument is not None:
            argument.annotation = None


def _name(identifier: str, context: ast.expr_context | None = None) -> ast.Name:
    return ast.Name(identifier, context or ast.Load())


def call_operator(operator: str, *args: ast.expr) -> ast.Call:
    """Returns a call of one of our operators."""
    return ast.Call(ast.Attribute(_name("ag__"), operator, ast.Load()), list(args), [])


def full_name(attribute: str, class_name: str | None) -> str:
    """Returns the name of an attribute for Python, which is longer for those like ``__name``."""
    hidden = attribute.startswith("__") and not attribute.endswith("__")
    if not hidden or class_name is None:
        return attribute
    return f"_{class_name.lstrip('_')}{attribute}"


def _lambda(body: ast.expr) -> ast.Lambda:
    return ast.Lambda(ast.arguments([], [], None, [], [], None, []), body)


@final
class _Rewriter(ast.NodeTransformer):
    """The rewriting of one function; see the module's docstring."""

    def __init__(self, class_name: str | None, first: str | None, at: Any) -> None:
        self._class = class_name
        self._first = first
        self._at = at
        self._count = 0

    def _new(self, what: str) -> str:
        self._count += 1
        return f"{what}__{self._count}"

    def _put(self, made: _Node, like: ast.AST) -> _Node:
        self._at(made, like)
        return made

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        node.attr = full_name(node.attr, self._class)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load):
            return node
        return self._put(call_operator("get_item", node.value, _key(node.slice)), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        is_super = isinstance(node.func, ast.Name) and node.func.id == "super"
        if is_super and not node.args and self._first is not None:
            node.args = [self._put(_name(name), node) for name in ("__class__", self._first)]
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        outer, self._first = self._first, None  # `super()` there is about another first parameter
        self.generic_visit(node)
        self._first = outer
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        outer, self._class = self._class, node.name
        self.generic_visit(node)
        self._class = outer
        return node

    def visit_Match(self, node: ast.Match) -> ast.AST:
        raise NotImplementedError("`match` statements are not converted; use if and elif")

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        raise NotImplementedError("asynchronous functions are not converted")

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        source = ast.Constant(ast.unparse(node.test))
        self.generic_visit(node)
        message = node.msg or ast.Constant(None)
        return self._put(
            ast.Expr(call_operator("assert_stmt", node.test, _lambda(message), source)), node
        )

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        self.generic_visit(node)
        if node.exc is not None:
            node.exc = self._put(call_operator("raised", node.exc), node)
        return node

    def visit_Assign(self, node: ast.Assign) -> Any:
        node.value = self.visit(node.value)
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Subscript):
            return self._put(self._store(node.targets[0], node.value), node)
        parts: list[ast.stmt] = []
        node.targets = [self._without_items(target, parts) for target in node.targets]
        return [node, *(self._put(part, node) for part in parts)] if parts else node

    def _without_items(self, target: ast.expr, parts: list[ast.stmt]) -> ast.expr:
        """Returns a target of an assignment with names in the place of items, stored later."""
        if isinstance(target, ast.Subscript):
            held = self._new("item")
            parts.append(self._store(target, _name(held)))
            return self._put(_name(held, ast.Store()), target)
        if isinstance(target, (ast.Tuple, ast.List)):
            target.elts = [self._without_items(element, parts) for element in target.elts]
            return target
        if isinstance(target, ast.Starred):
            target.value = self._without_items(target.value, parts)
            return target
        visited: ast.expr = self.visit(target)
        return visited

    def _store(self, target: ast.Subscript, value: ast.expr) -> ast.Expr:
        owner, keys = self._path(target)
        return ast.Expr(call_operator("set_item", owner, keys, value))

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        if not isinstance(node.target, ast.Subscript):
            self.generic_visit(node)
            return node
        owner, keys = self._path(node.target)
        operator, value = ast.Constant(type(node.op).__name__), self.visit(node.value)
        return self._put(ast.Expr(call_operator("update_item", owner, keys, operator, value)), node)

    def _path(self, target: ast.Subscript) -> tuple[ast.expr, ast.expr]:
        """Returns what ``owner[a][b]`` begins with, and the keys as a tuple."""
        keys: list[ast.expr] = []
        owner: ast.expr = target
        while isinstance(owner, ast.Subscript):
            keys.append(_key(self.visit(owner.slice)))
            owner = owner.value
        return self.visit(owner), ast.Tuple(keys[::-1], ast.Load())

    def visit_If(self, node: ast.If) -> Any:
        before = self._assigned_first(node)
        self.generic_visit(node)
        return [*before, node]

    def _assigned_first(self, node: ast.If) -> list[ast.stmt]:
        """Returns what the condition assigns by ``:=``, as statements before the `if`."""
        found = _Assigned()
        node.test = found.visit(node.test)
        return [self._put(self.visit(statement), node) for statement in found.statements]

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        return self._lazy(node, node.values)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        return self._lazy(node, [node.body, node.orelse])

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        return self._lazy(node, node.comparators if len(node.ops) > 1 else [])

    def _lazy(self, node: ast.expr, parts: list[ast.expr]) -> ast.AST:
        """An expression of which parts become functions of their own."""
        if any(map(_assigns, parts)):
            raise NotImplementedError(
                "`:=` is not converted where it may not be reached, in `and`, `or` and conditional "
                "expressions; assign the variable before"
            )
        self.generic_visit(node)
        return node

    def visit_While(self, node: ast.While) -> Any:
        if _assigns(node.test):
            if node.orelse:
                raise NotImplementedError("`while` with `:=` and `else` is not converted")
            leave = ast.If(ast.UnaryOp(ast.Not(), node.test), [ast.Break()], [])
            node.body.insert(0, self._put(leave, node))
            node.test = ast.Constant(True)
        return self._loop(node)

    def visit_For(self, node: ast.For) -> Any:
        return self._loop(node)

    def _loop(self, node: ast.While | ast.For) -> Any:
        rebound = sorted(_rebound(node))
        self.generic_visit(node)
        vars(node)[REBOUND] = rebound
        if not node.orelse:
            return node
        orelse, node.orelse = node.orelse, []
        if not any(_breaks(statement) for statement in node.body):
            return [node, *orelse]
        flag = self._new("finished")
        node.body = [self._flagged(statement, flag) for statement in node.body]
        before = self._put(ast.Assign([_name(flag, ast.Store())], ast.Constant(True)), node)
        rebound.append(flag)
        return [before, node, self._put(ast.If(_name(flag), orelse, []), node)]

    def _flagged(self, node: Any, flag: str) -> Any:
        """Makes each `break` of this loop clear the flag first."""
        if isinstance(node, ast.Break):
            clear = ast.Assign([_name(flag, ast.Store())], ast.Constant(False))
            return self._put(ast.If(ast.Constant(True), [clear, node], []), node)
        if not isinstance(node, (ast.While, ast.For, ast.FunctionDef, ast.ClassDef)):
            for name, field in ast.iter_fields(node):
                if isinstance(field, list):
                    setattr(node, name, [self._flagged(part, flag) for part in field])
        return node


class _Assigned(ast.NodeTransformer):
    """Takes ``name := value`` out of an expression, where it is always reached.

    Attributes:
        statements: the assignments, in their order.
    """

    def __init__(self) -> None:
        self.statements: list[ast.stmt] = []

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.AST:
        self.generic_visit(node)
        self.statements.append(ast.Assign([node.target], node.value))
        return _name(node.target.id)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        node.values[0] = self.visit(node.values[0])
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        node.test = self.visit(node.test)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node


def _key(node: ast.expr) -> ast.expr:
    """Returns an index as an expression of its own: slices are calls then."""
    if isinstance(node, ast.Slice):
        ends = [end or ast.Constant(None) for end in (node.lower, node.upper, node.step)]
        return call_operator("slice_", *ends)
    if isinstance(node, ast.Tuple):
        return ast.Tuple([_key(element) for element in node.elts], ast.Load())
    return node


def _assigns(node: ast.AST) -> bool:
    """Whether an expression holds a ``:=``."""
    return any(isinstance(part, ast.NamedExpr) for part in ast.walk(node))


def _breaks(node: ast.AST) -> bool:
    """Whether a statement holds a `break` of the loop around it."""
    if isinstance(node, ast.Break):
        return True
    if isinstance(node, (ast.While, ast.For)):
        return any(map(_breaks, node.orelse))
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return False
    return any(map(_breaks, ast.iter_child_nodes(node)))


def _rebound(loop: ast.While | ast.For) -> set[str]:
    """Returns the variables to which a loop assigns other objects, by more than ``x += y``."""
    found = set()
    augmented = {node.target for node in ast.walk(loop) if isinstance(node, ast.AugAssign)}
    for node in ast.walk(loop):
        if not isinstance(getattr(node, "ctx", None), ast.Store):
            continue
        if isinstance(node, ast.Attribute) or (
            isinstance(node, ast.Name) and node not in augmented
        ):
            found.add(ast.unparse(node))
    return found
