"""A source tree as the rules of the house see it: its modules, and what each of them imports."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

#: Folders at the top of a tree, which import as hybridnet, hybridnet.engine and hybridnet.kvstore.
TOPS: Final = ("engine", "kvstore", "hybridnet")
#: Short public names and the packages they stand for.
ALIASES: Final = {"nd": "ndarray", "sym": "symbol", "np": "numpy", "npx": "numpy_extension"}
#: What every floor imports JAX through; see there.
LAZY: Final = "hybridnet.base.lazy"


@dataclass(frozen=True)
class Import:
    """One name that a module imports.

    Attributes:
        line: where.
        module: the full name of the module that is imported, or that the name comes from.
        name: what is imported from it; "" for the module itself.
        bound: what it is called here; "" where that is nothing, as for ``import_module("x")``.
        inside: the function that it stands in; "" at the top of a module.
        typing: it stands under ``if TYPE_CHECKING``, so it does not happen.
    """

    line: int
    module: str
    name: str
    bound: str
    inside: str
    typing: bool

    def __str__(self) -> str:
        return f"{self.module}.{self.name}" if self.name else self.module


@dataclass(frozen=True)
class Source:
    """One file of the house.

    Attributes:
        path: its path in the tree, with slashes.
        module: its full name; that of a package for an ``__init__.py``.
        folder: its folder as a module name, `module` itself for an ``__init__.py``.
        floor: the first part of its path: "ops", "executor" ...; "" for ``hybridnet/__init__.py``.
        tree: what it says.
        imports: every name that it imports, wherever in the file.
    """

    path: str
    module: str
    folder: str
    floor: str
    tree: ast.Module
    imports: tuple[Import, ...]

    @property
    def is_init(self) -> bool:
        return self.path.endswith("__init__.py")


class House:
    """All modules of a source tree.

    Args:
        root: the folder that holds ``hybridnet``, ``engine`` and ``kvstore``, or some of these.
    """

    def __init__(self, root: Path) -> None:
        paths = [path for top in TOPS for path in sorted((root / top).rglob("*.py"))]
        #: Full module name -> file.
        self.paths = {_module_of(path.relative_to(root)): path for path in paths}
        self.sources: dict[str, Source] = {}
        for module, path in self.paths.items():
            inner = path.relative_to(root)
            folder = module if path.name == "__init__.py" else module.rpartition(".")[0]
            floor = (module.split(".") + [""])[1]
            tree = ast.parse(path.read_text())
            found = tuple(self._imports(tree, folder))
            self.sources[module] = Source(inner.as_posix(), module, folder, floor, tree, found)

    def folder_of(self, module: str) -> str:
        """Returns the folder that a module's file lies in, as a module name."""
        return self.sources[module].folder

    def _imports(self, tree: ast.Module, folder: str) -> Iterator[Import]:
        for node, inside, typing in _walk(tree, "", False):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    bound = alias.asname or alias.name.split(".")[0]
                    yield Import(node.lineno, self._real(alias.name), "", bound, inside, typing)
            elif isinstance(node, ast.ImportFrom):
                source = node.module or ""
                if node.level:
                    base = folder.split(".")[: len(folder.split(".")) - node.level + 1]
                    source = ".".join([*base, source] if source else base)
                source = self._real(source)
                for alias in node.names:
                    bound = alias.asname or alias.name
                    whole = self._real(f"{source}.{alias.name}")
                    module, name = (whole, "") if whole in self.paths else (source, alias.name)
                    yield Import(alias.lineno, module, name, bound, inside, typing)
            elif isinstance(node, ast.Call) and _is_import_module(node.func):
                match node.args[:1]:
                    case [ast.Constant(value=str(name))]:
                        yield Import(node.lineno, self._real(name), "", "", inside, typing)

    def _real(self, module: str) -> str:
        parts = module.split(".")
        if parts[0] == "hybridnet" and len(parts) > 1 and module not in self.paths:
            parts[1] = ALIASES.get(parts[1], parts[1])
        return ".".join(parts)

    @cached_property
    def lazy(self) -> dict[str, str]:
        """Name in `LAZY` -> the module outside that it stands for."""
        source = self.sources.get(LAZY)
        found = {}
        for node in ast.walk(source.tree) if source else ():
            match node:
                case ast.Assign(
                    targets=[ast.Name(id=name)],
                    value=ast.Call(
                        func=ast.Name(id="_LazyModule"), args=[ast.Constant(value=module)]
                    ),
                ):
                    found[name] = str(module)
        return found

    def outside(self, one: Import) -> str | None:
        """Returns the module outside the house that an import gets, at once or lazily.

        A lazy name counts wherever it is taken from, `LAZY` or a module that has it from there.
        """
        if one.module.split(".")[0] != "hybridnet":
            return str(one)
        if one.module == LAZY:
            return self.lazy.get(one.name) if one.name else next(iter(self.lazy.values()), None)
        for other in self.sources[one.module].imports if one.module in self.sources else ():
            if other.bound == one.name and other.module == LAZY:
                return self.lazy.get(other.name)
        return None

    def used_attributes(self, source: Source) -> Iterator[tuple[int, str, str]]:
        """Yields (line, module, name) for ``module.name`` of the house's modules, where private."""
        bound: dict[str, str] = {}
        for one in source.imports:
            if one.module.split(".")[0] == "hybridnet" and not one.name and one.bound:
                is_top = one.bound == "hybridnet" and one.module not in ("", "hybridnet")
                bound[one.bound] = "hybridnet" if is_top else one.module
        yield from _attributes(source.tree, bound, self.paths.__contains__)


def _module_of(path: Path) -> str:
    parts = list(path.with_suffix("").parts)
    if parts[0] != "hybridnet":
        parts.insert(0, "hybridnet")
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _walk(node: ast.AST, inside: str, typing: bool) -> Iterator[tuple[ast.AST, str, bool]]:
    """Yields every node, the function that it is in, and whether it is there for types only."""
    for child in ast.iter_child_nodes(node):
        yield child, inside, typing
        match child:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield from _walk(child, name, typing)
            case ast.Lambda():
                yield from _walk(child, inside or "lambda", typing)
            case ast.If(test=ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING")):
                for one in child.body:
                    yield one, inside, True
                    yield from _walk(one, inside, True)
                for one in child.orelse:
                    yield one, inside, typing
                    yield from _walk(one, inside, typing)
            case _:
                yield from _walk(child, inside, typing)


def _is_import_module(function: ast.expr) -> bool:
    match function:
        case ast.Attribute(attr="import_module") | ast.Name(id="import_module" | "__import__"):
            return True
    return False


def _attributes(
    node: ast.AST, bound: dict[str, str], is_module: Callable[[str], bool]
) -> Iterator[tuple[int, str, str]]:
    """Follows names that stand for modules, but for those that a function uses for its own."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        own = {one.arg for one in ast.walk(node.args) if isinstance(one, ast.arg)}
        own |= {
            one.id
            for one in ast.walk(node)
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
        }
        bound = {name: module for name, module in bound.items() if name not in own}
    if isinstance(node, ast.Attribute):
        module = _dotted(node.value, bound, is_module)
        if module is not None and is_private(node.attr):
            yield node.lineno, module, node.attr
    for child in ast.iter_child_nodes(node):
        yield from _attributes(child, bound, is_module)


def _dotted(node: ast.expr, bound: dict[str, str], is_module: Callable[[str], bool]) -> str | None:
    """Returns the module that an expression such as ``hybridnet.ops.nn`` is."""
    if isinstance(node, ast.Name):
        return bound.get(node.id)
    if isinstance(node, ast.Attribute):
        base = _dotted(node.value, bound, is_module)
        if base is not None and is_module(f"{base}.{node.attr}"):
            return f"{base}.{node.attr}"
    return None


def is_private(name: str) -> bool:
    """Says whether a name is its owner's own: ``_x``, but not ``__x__``."""
    return name.startswith("_") and not (name.startswith("__") and name.endswith("__"))
