"""Stub files: what type checkers and editors read of functions that are made as modules are loaded.

    python -m hybridnet.stubs

writes them, beside the modules. Run it when an operator came, went or takes something else;
`tests/house/test_stubs.py` fails until then.

A module imports all of its stub where only checkers look (``if TYPE_CHECKING``), and keeps its
``__getattr__`` from them, which would answer to any name. What is written by hand stays in the
module, and is checked there.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from hybridnet import ndarray, numpy, numpy_extension, symbol
from hybridnet.numpy import creation, elementwise, fallback, reduction
from hybridnet.numpy_extension import operators as of_extension
from hybridnet.ops.core import FluentMethods, Functions, Operator, registry
from hybridnet.ops.core.stub import Flavor, definition, method_definition, operator_definition
from hybridnet.ops.random import DISTRIBUTIONS

__all__ = ["FOLDER", "stubs"]

#: What the paths of stubs begin at.
FOLDER: Final = Path(__file__).parent
_HEAD: Final = "# Written by `python -m hybridnet.stubs`, which overwrites what is changed here.\n"
_ARRAYS: Final = Flavor("NDArray", "NDArray", "list[NDArray]")
_SYMBOLS: Final = Flavor("Symbol", "Symbol", "Symbol", of_symbols=True)
_EITHER: Final = Flavor("ArrayLike", "ndarray", "list[ndarray]")
_METHODS: Final = Flavor("Operand", "Self", "Any")
_PARTS: Final = ("contrib", "image", "linalg", "random", "sparse")

#: Where the names that stubs use come from, in ruff's order.
_SOURCES: Final = {
    "collections.abc": "Sequence",
    "typing": "Any Literal Self overload",
    "hybridnet.base.array_types": "Axes Dims DTypeLike Places Real Reals Sizes Switch Whole Wholes",
    "hybridnet.base.context": "Context",
    "hybridnet.ndarray.ndarray": "NDArray",
    "hybridnet.numpy.multiarray": "ndarray",
    "hybridnet.numpy.operands": "ArrayLike",
    "hybridnet.ops.core.handle": "Operand",
    "hybridnet.symbol.symbol": "Symbol",
}
_STDLIB: Final = ("collections.abc", "typing")
_WIDTH: Final = 100  # columns


def stubs() -> dict[str, str]:
    """Returns the text of each stub file by its path in `FOLDER`."""
    return {
        **dict(_front_end(ndarray, _ARRAYS)),
        **dict(_front_end(symbol, _SYMBOLS)),
        **dict(_numpy()),
        "ops/core/_methods.pyi": _methods(),
    }


def _front_end(package: ModuleType, flavor: Flavor) -> Iterator[tuple[str, str]]:
    """Yields the stubs of `nd` or `sym` and of the modules in it."""
    folder = package.__name__.removeprefix("hybridnet.")
    main = _operators_of(package)
    yield f"{folder}/_operators.pyi", _module(_definitions(main, flavor))
    for part in _PARTS:
        module = getattr(package, part)
        found = _operators_of(module)
        again = {name for name, op in found.items() if main.get(name) is op}
        lines = [
            f"from {package.__name__}._operators import {name} as {name}\n"
            for name in sorted(again, key=_ruffs_order)
        ]
        parts = _definitions({name: found[name] for name in found.keys() - again}, flavor)
        if part == "random":
            parts += _drawing_functions(module, flavor)
        stub = f"{part}/_operators" if hasattr(module, "__path__") else f"_{part}_operators"
        yield f"{folder}/{stub}.pyi", _module(parts, lines)


def _operators_of(module: ModuleType) -> dict[str, Operator]:
    """Returns the operators that have functions in a module, by the names of these."""
    functions: Functions = vars(module)["_functions"]
    return {name: op for name, op in functions.operators.items() if op.built_in}


def _definitions(found: Mapping[str, Operator], flavor: Flavor) -> list[str]:
    return [operator_definition(op, name, flavor) for name, op in sorted(found.items())]


def _drawing_functions(module: ModuleType, flavor: Flavor) -> list[str]:
    """Returns the functions of a module `random` whose parameters are numbers or operands."""
    usual = f"float | {flavor.operand} | Any"
    return [
        _written(name, getattr(module, name), flavor.result, usual)
        for name in sorted(DISTRIBUTIONS)
    ]


def _numpy() -> Iterator[tuple[str, str]]:
    """Yields the stubs of `np` and `npx`."""
    made = {
        **elementwise.unary_functions,
        **elementwise.binary_functions,
        **{name: getattr(numpy, name) for name in creation.NAMES},
        **{name: f for name, f in vars(reduction).items() if hasattr(f, "__signature__")},
    }
    parts = [_written(name, made[name], "ndarray", "ArrayLike") for name in sorted(made)]
    parts += map(_on_host, fallback.FALLBACKS)
    yield "numpy/_functions.pyi", _module(parts)
    yield "numpy/_linalg_functions.pyi", _module([*map(_on_host, fallback.LINALG_FALLBACKS)])

    found = {name: registry.get(row) for name, row in of_extension.NAMES.items()}
    yield "numpy_extension/_operators.pyi", _module(_definitions(found, _EITHER))
    images = _operators_of(numpy_extension.image)
    yield "numpy_extension/_image_operators.pyi", _module(_definitions(images, _EITHER))

    public = {name: getattr(numpy, name) for name in numpy.__all__ if name not in symbol.np.__all__}
    names = sorted(name for name, value in public.items() if inspect.isroutine(value))
    yield "symbol/_numpy_functions.pyi", _module([_open(n, f"`np.{n}` on symbols.") for n in names])


def _methods() -> str:
    """Returns the stub of the methods that arrays and symbols have of operators."""
    parts = [
        method_definition(registry.get(name), name, _METHODS)
        for name, method in vars(FluentMethods).items()
        if name == "mean" or getattr(method, "__qualname__", "") == f"Operand.{name}"
    ]
    head = 'class OperatorMethods(Operand):\n    """The methods that apply an operator."""\n\n'
    return _module([head + _joined(parts)])


def _written(name: str, function: Callable[..., Any], result: str, operand: str) -> str:
    """Returns the definition of a function whose arguments are annotated where it is made.

    Args:
        name: the name that it is called by.
        function: the function.
        result: the type of what it returns.
        operand: that of arguments without an annotation.
    """

    def annotation(argument: inspect.Parameter) -> str:
        if argument.annotation is argument.empty:
            return operand
        return re.sub(r"\b(K|Self)\b", result, argument.annotation)

    doc = inspect.getdoc(function) or ""
    return definition(name, inspect.signature(function), annotation, result, doc)


def _on_host(name: str) -> str:
    return _open(name, f"Runs NumPy's {name} on the host.")


def _open(name: str, doc: str) -> str:
    """Returns the definition of a function that takes what another library's of its name does."""
    return f'def {name}(*args: Any, **kwargs: Any) -> Any:\n    """{doc}"""\n'


def _module(parts: list[str], imports: Iterable[str] = ()) -> str:
    """Returns the text of a stub: what it imports, and its definitions."""
    body = _joined(parts)
    used = {node.id for node in ast.walk(ast.parse(body)) if isinstance(node, ast.Name)}
    groups: dict[bool, list[str]] = {True: [], False: []}
    for module, names in _SOURCES.items():
        if found := [name for name in names.split() if name in used]:
            groups[module in _STDLIB].append(_import(module, found))
    groups[False] = sorted([*groups[False], *imports], key=lambda line: line.split()[1])
    head = "\n".join("".join(lines) for lines in groups.values() if lines)
    return "\n".join(filter(None, [_HEAD, head, body]))


def _ruffs_order(name: str) -> tuple[bool, list[object]]:
    """The key by which ruff sorts names that are imported: classes first, numbers as numbers."""
    parts = re.split(r"(\d+)", name)
    return name[0].islower(), [int(part) if part.isdigit() else part for part in parts]


def _joined(parts: list[str]) -> str:
    """Returns definitions one after another, with the empty lines that ruff wants."""
    lines = [part + "\n" if part.endswith('"""\n') else part for part in parts]
    return "".join(lines).rstrip("\n") + "\n" if lines else ""


def _import(module: str, names: list[str]) -> str:
    line = f"from {module} import {', '.join(names)}\n"
    if len(line) <= _WIDTH + 1:
        return line
    return f"from {module} import (\n" + "".join(f"    {name},\n" for name in names) + ")\n"


def main() -> None:
    """Writes the stubs; removes what is none any more."""
    written = stubs()
    for old in FOLDER.rglob("*.pyi"):
        if old.relative_to(FOLDER).as_posix() not in written:
            old.unlink()
    for path, text in written.items():
        (FOLDER / path).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
