"""Lab 9: each `if` becomes a call of `cond`, with its branches as functions."""

from __future__ import annotations

import ast
import copy
import inspect
import textwrap
import types
from collections.abc import Iterable, Iterator
from typing import Any

_JUMPS = (ast.Return, ast.Break, ast.Continue)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def convert(function: types.FunctionType, operators: Any) -> types.FunctionType:
    """Returns a function that does the same, whose choices are calls of `operators.cond`."""
    lines, first = inspect.getsourcelines(function)
    module = ast.parse(textwrap.dedent("".join(lines)))
    ast.increment_lineno(module, first - 1)
    node, code = module.body[0], function.__code__
    if not isinstance(node, ast.FunctionDef):
        raise NotImplementedError(f"{function.__name__} is not made by `def`")
    change = _Change()
    body = change.statements(change.with_end(node.body, node))
    elsewhere = (one.names for one in _inside(node.body) if isinstance(one, ast.Global))
    known = inspect.signature(function).parameters
    missing = change.names.difference(code.co_freevars, known, *elsewhere)
    starts = (f"{name} = operators__.undefined({name!r})" for name in sorted(missing))
    node.body = [*(_parsed(line, node) for line in starts), *body]

    # Inside of another function, so that the names around it are found there.
    outer: Any = ast.parse(f"def outer__({', '.join(['operators__', *code.co_freevars])}): pass")
    outer.body[0].body = [node]
    made = compile(ast.fix_missing_locations(outer), code.co_filename, "exec")
    made = _code_in(_code_in(made, "outer__"), code.co_name)
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    cells["operators__"] = types.CellType(operators)
    closure = tuple(cells[name] for name in made.co_freevars)
    result = types.FunctionType(
        made, function.__globals__, function.__name__, function.__defaults__, closure
    )
    result.__kwdefaults__, result.__qualname__ = function.__kwdefaults__, function.__qualname__
    return result


class _Change(ast.NodeTransformer):
    """Rewrites the statements of a function.

    Attributes:
        names: the variables that branches assign.
    """

    def __init__(self) -> None:
        self.names: set[str] = set()
        self._returning: set[ast.If] = set()

    def with_end(self, body: list[ast.stmt], around: ast.AST) -> list[ast.stmt]:
        """Returns statements the last of which returns.

        What follows an `if` with a `return` in it moves into both of its branches.
        """
        for place, one in enumerate(body):
            if isinstance(one, ast.Return):
                return body[: place + 1]
            if isinstance(one, ast.If) and any(isinstance(x, ast.Return) for x in _inside([one])):
                rest = body[place + 1 :]
                one.body = self.with_end(one.body + copy.deepcopy(rest), one)
                one.orelse = self.with_end(one.orelse + rest, one)
                self._returning.add(one)
                return body[: place + 1]
        return [*body, ast.copy_location(ast.Return(ast.Constant(None)), around)]

    def statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Returns statements, each rewritten."""
        made: list[ast.stmt] = []
        for one in body:
            new: Any = self.visit(one)
            made += new if isinstance(new, list) else [new]
        return made

    def visit_If(self, node: ast.If) -> Any:
        """Makes an `if` a choice; one that something jumps out of stays what it is."""
        inside, returns = list(_inside([node])), node in self._returning
        if not returns and any(isinstance(one, _JUMPS) for one in inside):
            return self.generic_visit(node)
        stored = (one for one in inside if isinstance(getattr(one, "ctx", None), ast.Store))
        names = sorted({one.id for one in stored if isinstance(one, ast.Name)})
        self.names |= set(names)
        values = "".join(f"{name}, " for name in names)
        given = ", ".join(f"{name}={name}" for name in names)
        then, other = (_parsed(f"def {n}({given}): pass", node) for n in ("then__", "other__"))
        call = "operators__.cond(0, then__, other__, {!r})".format
        if returns:
            choice = _parsed(f"return {call(['the result'])}[0]", node)
        else:
            choice = _parsed(f"{values and f'{values}= '}{call(names)}", node)
        made = next(one for one in ast.walk(choice) if isinstance(one, ast.Call))
        made.args[0] = self.visit(node.test)
        for branch, body in ((then, node.body), (other, node.orelse)):
            branch.body = self.statements(body)
            if not returns:
                branch.body.append(_parsed(f"return ({values})", node))
                continue
            for one in _inside(branch.body):
                if isinstance(one, ast.Return):
                    one.value = ast.Tuple([one.value or ast.Constant(None)], ast.Load())
        return [then, other, choice]

    def visit_Call(self, node: ast.Call) -> Any:
        """Rewrites a call, so that the function that is called is converted, too."""
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in ("super", "locals", "globals"):
            return node
        call = ast.Attribute(ast.Name("operators__", ast.Load()), "call", ast.Load())
        return ast.copy_location(ast.Call(call, [node.func, *node.args], node.keywords), node)

    def visit_FunctionDef(self, node: Any) -> Any:
        """Leaves what is defined inside: it is converted when it is called."""
        return node

    visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = visit_FunctionDef


def _inside(body: Iterable[ast.AST]) -> Iterator[Any]:
    """Yields the nodes of statements without those of functions that they define."""
    for one in body:
        yield one
        if not isinstance(one, _SCOPES):
            yield from _inside(ast.iter_child_nodes(one))


def _parsed(line: str, like: ast.AST) -> Any:
    """Returns a line of ours as a statement that lies where one of the user's does."""
    (made,) = ast.parse(line).body
    for part in ast.walk(made):
        ast.copy_location(part, like)
    return made


def _code_in(code: types.CodeType, name: str) -> types.CodeType:
    """Returns the code of a function that is defined in another code."""
    parts = (part for part in code.co_consts if isinstance(part, types.CodeType))
    return next(part for part in parts if part.co_name == name)
