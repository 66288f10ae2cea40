"""Converts functions: control flow in their source becomes calls of operators.

The conversion is diastatic-malt's (TensorFlow's AutoGraph by itself); what it makes is compiled
here, under the name and the lines of the user's own file. So tracebacks, warnings, profiles and the
places of operators name the user's lines, with nothing to translate.
"""

from __future__ import annotations

import ast
import linecache
import types
from typing import Any, Final, final

from malt.converters import (
    break_statements,
    call_trees,
    conditional_expressions,
    continue_statements,
    control_flow,
    functions,
    logical_expressions,
    return_statements,
    variables,
)
from malt.core import converter, unsupported_features_checker
from malt.impl.api import PyToPy
from malt.lang import directives
from malt.pyct import (
    anno,
    cfg,
    inspect_utils,
    naming,
    origin_info,
    parser,
    qual_names,
    transformer,
    transpiler,
)
from malt.pyct.static_analysis import (
    activity,
    liveness,
    reaching_definitions,
    reaching_fndefs,
)

from .compiled import class_of, compiled, defined, factory, lambda_of
from .expressions import FRAMED
from .prepare import REBOUND, call_operator, prepare

_OPTIONS: Final = converter.STANDARD_OPTIONS


@final
class _Calls(call_trees.CallTreeTransformer):
    """Calls go through `converted_call`, but for those that look at their caller."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Name) and node.func.id in FRAMED:
            made: ast.AST = self.generic_visit(node)
        else:
            made = super().visit_Call(node)
        return made


@final
class _Logic(logical_expressions.LogicalExpressionTransformer):
    """As the library's, but ``a < f() < c`` computes each part once."""

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        if len(node.ops) == 1:
            made: ast.AST = super().visit_Compare(node)
            return made
        self.generic_visit(node)
        names: list[ast.expr] = [ast.Constant(type(operator).__name__) for operator in node.ops]
        thunks: list[ast.expr] = [self._as_lambda(part) for part in node.comparators]
        lists = ast.Tuple(names, ast.Load()), ast.Tuple(thunks, ast.Load())
        return call_operator("chain", node.left, *lists)


@final
class _Choices(conditional_expressions.ConditionalExpressionTransformer):
    """As the library's, but expressions inside of others are seen too."""

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        made: ast.AST = super().visit_IfExp(node)
        return made


@final
class _Blocks(control_flow.ControlFlowTransformer):
    """As the library's, but variables of functions around are always read later."""

    def _get_block_vars(self, node: ast.AST, modified: object) -> tuple[Any, Any, int]:
        names, undefined, count = super()._get_block_vars(node, modified)
        scope = self.state[control_flow._Function].scope
        lasting = [name for name in names[count:] if name in scope.nonlocals | scope.globals]
        dead = [name for name in names[count:] if name not in lasting]
        return [*names[:count], *lasting, *dead], undefined, count + len(lasting)


def _analyzed(node: object, ctx: object) -> Any:
    """Notes in a syntax tree what the conversion of control flow asks for."""
    graphs = cfg.build(node)
    node = qual_names.resolve(node)
    node = activity.resolve(node, ctx, None)
    node = reaching_definitions.resolve(node, ctx, graphs)
    node = reaching_fndefs.resolve(node, ctx, graphs)
    return liveness.resolve(node, ctx, graphs)


@final
class _Transpiler(PyToPy):
    """The library's conversion with our own steps in it."""

    def __init__(self, function: types.FunctionType) -> None:
        super().__init__()
        self._function = function

    def get_transformed_name(self, node: ast.AST) -> str:
        """Another name than the user's, which may stand for something else inside."""
        return "ag__" + str(transpiler.GenericTranspiler.get_transformed_name(self, node))

    def transform_ast(self, node: Any, ctx: object) -> Any:
        """Rewrites a function."""
        code = self._function.__code__
        first = code.co_varnames[0] if code.co_argcount else None
        prepare(node, class_of(self._function), first, _same_line)
        for part in ast.walk(node):
            rebound = vars(part).get(REBOUND)
            if rebound is not None:
                names_of = ast.Tuple([ast.Constant(name) for name in rebound], ast.Load())
                options = {directives.set_loop_options: {REBOUND: names_of}}
                anno.setanno(part, anno.Basic.DIRECTIVES, options)
        unsupported_features_checker.verify(node)
        node = self.initial_analysis(node, ctx)
        node = functions.transform(node, ctx)
        jumps = {type(part) for part in ast.walk(node)} & {ast.Break, ast.Continue}
        if ast.Break in jumps:  # each step reads all of the function
            node = break_statements.transform(node, ctx)
        if jumps:  # `break` became `continue`
            node = continue_statements.transform(node, ctx)
        node = return_statements.transform(node, ctx)
        node = qual_names.resolve(node)
        node = _Calls(ctx).visit(node)
        node = _analyzed(node, ctx)
        node = _Blocks(ctx).visit(node)
        node = _Choices(ctx).visit(node)
        node = _Logic(ctx).visit(node)
        return variables.transform(node, ctx)

    def convert(self) -> tuple[Any, str]:
        """Returns the converted syntax tree, and its name."""
        function = self._function
        features = inspect_utils.getfutureimports(function)
        node, source = _parsed(function, features)
        namespace = inspect_utils.getnamespace(function)
        namer = naming.Namer(namespace)
        name: str = namer.new_symbol(self.get_transformed_name(node), ())
        info = transformer.EntityInfo(
            name=name,
            source_code=source,
            source_file="<fragment>",
            future_features=features,
            namespace=namespace,
        )
        program = converter.ProgramContext(options=_OPTIONS)
        node = self._erase_arg_defaults(node)
        return self.transform_ast(node, transformer.Context(info, namer, program)), name


def _parsed(function: types.FunctionType, features: object) -> tuple[Any, str]:
    """Returns the syntax tree of a function, with the places of its nodes, and its source."""
    if function.__name__ != "<lambda>":
        node, source = parser.parse_entity(function, future_features=features)
        origin_info.resolve_entity(node, source, function)
        return node, source
    file = function.__code__.co_filename
    source = "".join(linecache.getlines(file, function.__globals__))
    node = lambda_of(function.__code__, source)
    origin_info.resolve(node, source, file, node.lineno, node.col_offset)
    return node, source


def _same_line(made: ast.AST, like: ast.AST) -> None:
    """Notes that what was made has no other place than what it stands for."""
    origin = anno.getanno(like, anno.Basic.ORIGIN, default=None)
    for part in ast.walk(made):
        if origin is not None and anno.getanno(part, anno.Basic.ORIGIN, default=None) is None:
            anno.setanno(part, anno.Basic.ORIGIN, origin)


def convert_whole(function: types.FunctionType) -> types.CodeType:
    """Returns the code of what makes a function that does the same through operators.

    Raises:
        Exception: of many kinds, where its source is not there or cannot be converted.
    """
    node, name = _Transpiler(function).convert()
    code = function.__code__
    module, body = factory(name, code.co_freevars)
    body.insert(0, defined(node, name))
    _place(module, code.co_firstlineno, 0)
    return compiled(module, code)


def _place(node: ast.AST, line: int, width: int) -> None:
    """Gives each node the line of the user's that it comes from, else that of the node around."""
    origin = anno.getanno(node, anno.Basic.ORIGIN, default=None)
    if isinstance(origin, origin_info.OriginInfo):
        line, width = origin.loc.lineno, len(origin.source_code_line)
    elif isinstance(node, (ast.stmt, ast.ExceptHandler)):
        found = (anno.getanno(part, anno.Basic.ORIGIN, default=None) for part in ast.walk(node))
        first = next((place for place in found if isinstance(place, origin_info.OriginInfo)), None)
        if first is not None:  # that of its first part that has one
            line, width = first.loc.lineno, len(first.source_code_line)
    if "lineno" in node._attributes:
        at: Any = node
        at.lineno = at.end_lineno = line
        at.col_offset, at.end_col_offset = 0, width
    for child in ast.iter_child_nodes(node):
        _place(child, line, width)
