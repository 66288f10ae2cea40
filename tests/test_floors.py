"""Floors inside packages: which folder may import which, no circles, and private names at home."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

#: Package -> its folders, lowest first, and the folders that each may import from besides itself.
#: "" is the modules of the package itself.
FLOORS = {
    "hybridnet/ops": {
        "core": (),
        "state": ("core",),
        "random": ("core",),
        "math": ("core",),
        "linalg": ("core",),
        "shape": ("core",),
        "sparse": ("core",),
        "optimizer": ("core",),
        "numpy": ("core", "math", "random"),
        "nn/conv": ("core",),
        "nn/rnn": ("core", "random", "nn/conv"),
        "nn": ("core", "math", "random", "nn/conv", "nn/rnn"),
        "vision": ("core", "random", "nn/conv"),
        "": (
            *("core", "state", "random", "math", "linalg", "shape", "sparse", "optimizer"),
            *("numpy", "nn", "vision"),
        ),
    },
    "hybridnet/compat/tf1": {
        # TensorFlow's own small modules, which everything speaks in.
        "dtypes": (),
        "errors": (),
        "nest": (),
        "graph": ("dtypes", "errors"),
        "session": ("dtypes", "errors", "graph"),
        "operations": ("dtypes", "errors", "nest", "graph"),
        "operations/nn": ("graph", "operations"),
        "operations/sparse": ("dtypes", "graph", "operations", "session"),
        "variables": ("dtypes", "errors", "graph", "operations", "session"),
        "queues": ("dtypes", "errors", "graph", "operations"),
        "summaries": ("dtypes", "graph", "session"),
        "training": (
            *("dtypes", "errors", "graph", "session", "operations", "variables", "queues"),
        ),
        "": (
            *("dtypes", "errors", "nest", "graph", "session", "operations", "operations/nn"),
            *("operations/sparse", "variables", "queues", "summaries", "training"),
        ),
    },
}


def modules(package: str) -> dict[str, Path]:
    """Returns the modules of a package by their names."""
    found = {}
    for path in sorted((ROOT / package).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def folder_of(package: str, path: Path) -> str:
    """Returns the row of the table that a module belongs to."""
    inside = path.relative_to(ROOT / package).with_suffix("").as_posix()
    if inside in FLOORS[package]:
        return inside
    folder = path.parent.relative_to(ROOT / package).as_posix()
    return "" if folder == "." else folder


def _is_typing(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def _statements(node: ast.AST):
    """Yields the imports that run, wherever they stand."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        if not _is_typing(child):
            yield from _statements(child)


def imports(path: Path, known: dict[str, Path]):
    """Yields (line, module, names taken from it) for each import from a module in `known`."""
    package = path.relative_to(ROOT).parent.parts
    for node in _statements(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, one.name, []) for one in node.names if one.name in known)
            continue
        base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
        module = ".".join(one for one in (base, node.module) if one)
        for alias in node.names:
            if f"{module}.{alias.name}" in known:
                yield node.lineno, f"{module}.{alias.name}", []
            elif module in known:
                yield node.lineno, module, [alias.name]


@pytest.mark.parametrize("package", FLOORS)
def test_folders_import_those_below(package):
    known = modules(package)
    rows = FLOORS[package]
    for path in known.values():
        folder = folder_of(package, path)
        assert folder in rows, f"{path.relative_to(ROOT)} is in no row of the table"
        if path.name == "__init__.py":  # names what is in its folder
            continue
        for line, module, names in imports(path, known):
            where = f"{path.relative_to(ROOT)}:{line} imports {module} {names}"
            target = folder_of(package, known[module])
            assert target == folder or target in rows[folder], where
            if known[module].parent != path.parent:
                parts = module.removeprefix(package.replace("/", ".")).split(".")
                assert not any(one.startswith("_") for one in (*parts, *names)), where


@pytest.mark.parametrize("package", FLOORS)
def test_folders_form_no_circle(package):
    seen: set[str] = set()
    for folder, below in FLOORS[package].items():
        assert seen.issuperset(below), f"{folder} stands below one that it imports"
        seen.add(folder)


@pytest.mark.parametrize("package", FLOORS)
def test_modules_form_no_circle(package):
    known = modules(package)
    left = {
        name: {module for _, module, _ in imports(path, known)} - {name}
        for name, path in known.items()
        if path.name != "__init__.py"
    }
    while left:
        free = [name for name, wanted in left.items() if not wanted & left.keys()]
        assert free, f"these import one another: {sorted(left)}"
        for name in free:
            del left[name]
