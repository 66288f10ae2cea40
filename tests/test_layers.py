"""Who may import whom: every import of the house is parsed and held against this table.

The floors, lowest first. A package may import from itself, from what its row names, and from what
those may import; never from above.
"""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

#: Floor -> the floors just below it.
BELOW = {
    "engine": (),
    "kvstore": ("engine",),
    "base": (),
    "native": ("base",),
    "ops": ("native",),
    "graph": ("ops", "engine"),
    "passes": ("graph",),
    "runtime": ("passes", "engine"),
    "tape": ("runtime",),
    "ndarray": ("tape",),
    "context": ("runtime",),
    "random": ("ndarray",),
    "autograd": ("ndarray", "symbol"),
    "operator": ("ndarray",),
    "tuning": ("symbol",),
    "util": ("base",),
    "numpy": ("ndarray", "util"),
    "numpy_extension": ("numpy", "random"),
    "registry": ("base",),
    "lr_scheduler": ("registry",),
    "initializer": ("random", "registry"),
    "optimizer": ("lr_scheduler", "ndarray"),
    "kv": ("kvstore", "optimizer"),
    "metric": ("ndarray", "registry"),
    "name": ("base",),
    "attribute": ("base",),
    # The symbolic front end reaches arrays through its executor, and nowhere else.
    "executor": ("ndarray",),
    "symbol": ("executor", "name", "attribute", "numpy"),
    "tracing": ("ndarray", "autograd"),
    "exported": ("tracing", "symbol"),
    "io": ("ndarray",),
    "gluon": ("tracing", "symbol", "autograd", "initializer", "kv"),
    "checkpoint": ("gluon", "session"),
    "model": ("symbol", "ndarray"),
    "profiler": ("runtime",),
    "visualization": ("symbol",),
    "session": ("symbol", "executor"),
    "compat": ("session", "checkpoint"),
    "cli": ("gluon", "model", "io", "metric"),
    "compat_report": ("ops",),
    "test_utils": ("gluon", "io", "optimizer"),
}
#: Modules outside the house that only these floors may import.
OUTSIDE = {
    "jax": {"base", "ops", "graph", "runtime", "ndarray", "tracing", "exported", "cli"},
    "jaxlib": {"cli"},
    "numpy": set(BELOW) - {"engine"},
    "malt": {"tracing"},
    "matplotlib": {"cli"},
    "rich": {"cli"},
}
#: Floors that may import nothing but the standard library and their own.
STDLIB_ONLY = ("engine",)


def allowed(floor: str) -> set[str]:
    below = set(BELOW[floor])
    for one in BELOW[floor]:
        below |= allowed(one)
    return below


def modules():
    for top in ("engine", "kvstore", "hybridnet"):
        for path in sorted((ROOT / top).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            floor = parts[0] if parts[0] != "hybridnet" else parts[1]
            if parts[0] == "hybridnet" and floor in ("__init__", "__main__", "data"):
                continue
            yield pytest.param(path, floor, id="/".join(parts))


def imports(path: Path):
    """Yields (line, absolute module name) for every import, wherever in the file it stands."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    package = list(parts[:-1])
    if package[0] != "hybridnet":
        package = ["hybridnet", *package]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                base = package[: len(package) - node.level + 1]
                module = ".".join([*base, node.module] if node.module else base)
            else:
                module = node.module or ""
            if module == "hybridnet":
                for alias in node.names:
                    yield node.lineno, f"hybridnet.{alias.name}"
            else:
                yield node.lineno, module


#: Short public names and the floors they stand for.
ALIASES = {"nd": "ndarray", "sym": "symbol"}


@pytest.mark.parametrize(("path", "floor"), list(modules()))
def test_imports_go_down(path, floor):
    assert floor in BELOW, f"{floor} is in no row of the table"
    for line, module in imports(path):
        where = f"{path.relative_to(ROOT)}:{line} imports {module}"
        top, _, rest = module.partition(".")
        if top == "hybridnet":
            target = rest.split(".")[0]
            target = ALIASES.get(target, target)
            if target in ("", "__version__"):
                assert floor == "cli", where
                continue
            assert target == floor or target in allowed(floor), where
        elif top in OUTSIDE:
            assert floor in OUTSIDE[top], where
            assert floor not in STDLIB_ONLY, where


def test_nobody_imports_the_engine_by_its_folder():
    for param in modules():
        path = param.values[0]
        for line, module in imports(path):
            assert module.split(".")[0] not in ("engine", "kvstore"), f"{path}:{line}"


def test_the_table_has_no_cycle_and_no_stranger():
    for floor in BELOW:
        assert floor not in allowed(floor)
    present = {param.values[1] for param in modules()}
    assert present <= set(BELOW)
