"""Finds the source of a function, and makes a function of its changed syntax tree.

What is made has the name, the lines, the variables around and the defaults of the user's own.
"""

from __future__ import annotations
import __future__

import ast
import inspect
import linecache
import re
import types
from collections.abc import Callable, Sequence
from typing import Any, Final

# Names of functions that stand for parts of the user's.
_PART_NAMES: Final = re.compile(
    r"(if_body|else_body|loop_body|loop_test|extra_test|[gs]et_state)(_\d+)?"
)
# The flags of features from the future, of which each has bits of its own.
_FEATURES: Final = sum(
    {getattr(__future__, name).compiler_flag for name in __future__.all_feature_names}
)


def parsed(function: types.FunctionType) -> ast.FunctionDef | ast.Lambda:
    """Returns the syntax tree of a function, with the lines of its file.

    Raises:
        OSError: its source is not there.
        NotImplementedError: it is no plain function.
    """
    code = function.__code__
    if function.__name__ == "<lambda>":
        return lambda_of(code, "".join(linecache.getlines(code.co_filename, function.__globals__)))
    lines, first = inspect.findsource(function)  # its own, if it wraps another
    lines = inspect.getblock(lines[first:])
    inside = lines[0][:1].isspace()  # of a class or function: it must be inside of something
    module = ast.parse("".join(["if 1:\n", *lines] if inside else lines))
    body = module.body[0].body if isinstance(module.body[0], ast.If) else module.body
    node = body[0]
    if not isinstance(node, ast.FunctionDef):
        raise NotImplementedError(f"{function.__qualname__} is no plain function")
    ast.increment_lineno(node, first - inside)
    return node


def class_of(function: types.FunctionType) -> str | None:
    """Returns the name of the class that a function is defined in; None if in none."""
    names = function.__qualname__.split(".")
    return names[-2] if len(names) > 1 and names[-2] != "<locals>" else None


def lambda_of(code: types.CodeType, source: str) -> ast.Lambda:
    """Returns the innermost lambda in a file in which the instructions of a code are.

    Raises:
        OSError: there is none.
    """
    places = [(line, column) for line, _, column, _ in code.co_positions() if line and column]
    names = code.co_varnames[: code.co_argcount]
    found = None
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Lambda) or node.end_lineno is None:
            continue
        begin, end = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset or 0)
        arguments = [*node.args.posonlyargs, *node.args.args]
        fits = tuple(argument.arg for argument in arguments) == names
        if fits and places and begin <= min(places) and max(places) <= end:
            found = node  # those inside others are found later
    if found is None:
        raise OSError("its source is not in its file")
    return found


def has_source(function: types.FunctionType) -> bool:
    """Whether the source of a function is there."""
    try:
        return bool(inspect.getsourcelines(function))
    except (OSError, TypeError):
        return False


def factory(name: str, freevars: Sequence[str]) -> tuple[ast.Module, list[ast.stmt]]:
    """Returns the code of a function that gets the operators and returns the converted one.

    Returns:
        the module, and the statements to which the definition is to be put first.
    """
    lines = ["def outer():", *(f"    {freevar} = None" for freevar in freevars)]
    lines += ["    def inner(ag__):", f"        return {name}", "    return inner"]
    module = ast.parse("\n".join(lines))
    outer: Any = module.body[0]
    return module, outer.body[-2].body


def defined(node: ast.FunctionDef | ast.Lambda, name: str) -> ast.stmt:
    """Returns the statement that gives a function its name."""
    if isinstance(node, ast.Lambda):
        return ast.Assign([ast.Name(name, ast.Store())], node)
    node.name = name
    return node


def compiled(module: ast.Module, code: types.CodeType) -> types.CodeType:
    """Compiles what `factory` made, for the code of the user's function."""
    flags = code.co_flags & _FEATURES
    made = compile(module, code.co_filename, "exec", flags=flags, dont_inherit=True)
    (outer,) = _codes(made)
    (inner,) = _codes(outer)
    return _named(inner, code.co_name)


def function_of(
    made: types.CodeType, function: types.FunctionType, operators: object
) -> types.FunctionType:
    """Returns the converted function, from the code of what makes it."""
    code = function.__code__
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    closure = tuple(cells[name] for name in made.co_freevars)
    maker: Callable[..., Any] = types.FunctionType(made, function.__globals__, closure=closure)
    converted: types.FunctionType = maker(operators)
    converted.__code__ = converted.__code__.replace(
        co_name=code.co_name, co_qualname=code.co_qualname
    )
    converted.__defaults__ = function.__defaults__
    converted.__kwdefaults__ = function.__kwdefaults__
    converted.__name__, converted.__qualname__ = function.__name__, function.__qualname__
    converted.__module__, converted.__doc__ = function.__module__, function.__doc__
    return converted


def _codes(code: types.CodeType) -> list[types.CodeType]:
    return [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]


def _named(code: types.CodeType, name: str) -> types.CodeType:
    """Gives functions that stand for parts of the user's the name of the user's."""
    constants = []
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            inner = constant.co_name
            if _PART_NAMES.fullmatch(inner):
                constant = constant.replace(co_name=name)
                inner = name
            elif inner.startswith("ag__"):
                inner = name
            constant = _named(constant, inner)
        constants.append(constant)
    return code.replace(co_consts=tuple(constants))
