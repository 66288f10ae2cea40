"""Converts the expressions of a function, and leaves its `if`s and loops to Python.

That is all there is to convert where these are known while tracing (see `known`), and it is tens of
times faster than a full conversion, which must find out what happens to each variable: expressions
become calls of operators one by one.
"""

from __future__ import annotations

import ast
import types
from typing import Final, final

from .compiled import class_of, compiled, defined, factory
from .prepare import call_operator, prepare

#: These look at the frame that calls them.
FRAMED: Final = frozenset({"super", "locals", "globals", "vars", "dir", "eval", "exec"})
_LEFT: Final = FRAMED | {"print", "breakpoint"}


def convert_expressions(
    function: types.FunctionType, node: ast.FunctionDef | ast.Lambda
) -> types.CodeType:
    """Returns the code of what makes the converted function.

    Args:
        node: its syntax tree, which is changed.

    Raises:
        NotImplementedError: something in it cannot be converted.
    """
    code = function.__code__
    first = code.co_varnames[0] if code.co_argcount else None
    # The defaults are those of the user's function, which are there already.
    node.args.defaults = [ast.Constant(None) for _ in node.args.defaults]
    node.args.kw_defaults = [value and ast.Constant(None) for value in node.args.kw_defaults]
    if isinstance(node, ast.FunctionDef):
        node.decorator_list = []
    prepare(node, class_of(function), first, _same_place)
    _Expressions().generic_visit(node)
    name = f"ag__{code.co_name.strip('<>')}"
    module, body = factory(name, code.co_freevars)
    for part in ast.walk(module):
        if "lineno" in part._attributes:
            _put(part, code.co_firstlineno)
    body.insert(0, ast.copy_location(defined(node, name), node))
    ast.fix_missing_locations(module)
    return compiled(module, code)


def _put(node: ast.AST, line: int) -> None:
    place = vars(node)
    place["lineno"] = place["end_lineno"] = line
    place["col_offset"] = place["end_col_offset"] = 0


def _same_place(made: ast.AST, like: ast.AST) -> None:
    """Gives what was made the place of what it stands for."""
    for part in ast.walk(made):
        if "lineno" in part._attributes and not hasattr(part, "lineno"):
            ast.copy_location(part, like)


def _thunk(body: ast.expr) -> ast.Lambda:
    return ast.Lambda(ast.arguments([], [], None, [], [], None, []), body)


@final
class _Expressions(ast.NodeTransformer):
    """Puts calls of operators into the place of expressions."""

    def _operator(self, like: ast.expr, operator: str, *args: ast.expr) -> ast.Call:
        made = call_operator(operator, *args)
        _same_place(made, like)
        return made

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        function = node.func
        if isinstance(function, ast.Name) and function.id in _LEFT:
            return node
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            path = (function.value.id, function.attr)
            if path[0] == "ag__" or path in (("pdb", "set_trace"), ("ipdb", "set_trace")):
                return node
        args = ast.Tuple(node.args, ast.Load())
        words: ast.expr = ast.Constant(None)
        if node.keywords:
            words = ast.Call(ast.Name("dict", ast.Load()), [], node.keywords)
        return self._operator(node, "converted_call", function, args, words)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        return self._operator(node, "if_exp", node.test, _thunk(node.body), _thunk(node.orelse))

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        operator = "and_" if isinstance(node.op, ast.And) else "or_"
        made = node.values[-1]
        for value in node.values[-2::-1]:
            made = self._operator(node, operator, _thunk(value), _thunk(made))
        return made

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.op, ast.Not):
            return node
        return self._operator(node, "not_", node.operand)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if len(node.ops) == 1:
            return node
        names: list[ast.expr] = [ast.Constant(type(operator).__name__) for operator in node.ops]
        thunks: list[ast.expr] = [_thunk(part) for part in node.comparators]
        lists = ast.Tuple(names, ast.Load()), ast.Tuple(thunks, ast.Load())
        return self._operator(node, "chain", node.left, *lists)

    # What is defined inside is converted by this.

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        self.generic_visit(node)
        return self._operator(node, "autograph_artifact", node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        mark = ast.Attribute(ast.Name("ag__", ast.Load()), "autograph_artifact", ast.Load())
        _same_place(mark, node)
        node.decorator_list.append(mark)
        return node
