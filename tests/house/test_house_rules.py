"""The rules of the house bite: each finds the breach that is planted, and leaves what is right."""

import textwrap

import house_rules as rules
import pytest
from house_source import House

LAZY = """
    from typing import TYPE_CHECKING

    if TYPE_CHECKING:
        import jax
        import jax.numpy as jnp
    else:
        jax = _LazyModule("jax")
        jnp = _LazyModule("jax.numpy")
"""
ROWS = {"engine": (), "base": (), "ops": ("base",), "graph": ("ops",), "cli": ("graph",)}
JAX = {"jax": {"base", "ops"}}


@pytest.fixture
def plant(tmp_path):
    """Makes a source tree of files by their paths, in hybridnet/ but for those in engine/.

    Every folder is a package, and base has its lazy names.
    """

    def made(files):
        for path, text in {"base/lazy.py": LAZY, **files}.items():
            file = tmp_path / ("" if path.startswith("engine/") else "hybridnet") / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(textwrap.dedent(text))
        for folder in {one.parent for one in tmp_path.rglob("*.py")}:
            while folder != tmp_path:
                (folder / "__init__.py").touch()
                folder = folder.parent
        return House(tmp_path)

    return made


def floors(house):
    return rules.floors(house, ROWS, ["cli"])


def folders(house):
    return rules.folders(house, {"ops": {"nn": ("core",), "math": ("core",), "core": (), ".": ()}})


def outside(house):
    return rules.outside(house, JAX)


def inside_functions(house):
    return rules.inside_functions(house, {})


def faces(house):
    return rules.faces(house, {"ops": ()})


def borrowed(house):
    return rules.borrowed(house, {"compat/tf1": ("session",)})


#: What is wrong -> the rule that says so, the files, and how its message begins.
BREACHES = {
    "a floor imports from above": (
        floors,
        {
            "ops/nn.py": "\nfrom hybridnet.graph.node import Node",
            "graph/node.py": "",
        },
        "ops/nn.py:2: imports hybridnet.graph.node.Node, but graph is not below ops. Move",
    ),
    "by its short name": (
        lambda house: rules.floors(house, {"base": (), "ndarray": ("base",)}),
        {"base/a.py": "from hybridnet import nd", "ndarray/a.py": ""},
        "base/a.py:1: imports hybridnet.ndarray, but ndarray is not below base. Move",
    ),
    "in a relative way": (
        floors,
        {"ops/nn.py": "from ..graph import node", "graph/node.py": ""},
        "ops/nn.py:1: imports hybridnet.graph.node, but graph is not below ops. Move",
    ),
    "for types only": (
        floors,
        {
            "ops/nn.py": "if TYPE_CHECKING:\n    import hybridnet.graph.node",
            "graph/node.py": "",
        },
        "ops/nn.py:2: imports hybridnet.graph.node, but graph is not below ops. Move",
    ),
    "by a string": (
        floors,
        {
            "engine/a.py": "def f():\n    importlib.import_module('hybridnet.graph')",
            "graph/a.py": "",
        },
        "engine/a.py:2: imports hybridnet.graph, but graph is not below engine. Move",
    ),
    "a floor imports the whole": (
        floors,
        {"ops/nn.py": "import hybridnet"},
        "ops/nn.py:1: imports hybridnet, but hybridnet itself is not below ops. Move",
    ),
    "a floor is in no row": (
        floors,
        {"attic.py": ""},
        "attic.py:1: attic is in no row of the table. Give the floor a row",
    ),
    "the floors are a circle": (
        lambda house: rules.floors(house, {"base": ("base",)}),
        {},
        "the table of floors: base is below itself. Take out one",
    ),
    "a row names what is not there": (
        lambda house: rules.floors(house, {"base": ("cellar",)}),
        {},
        "the table of floors: base is above cellar, which has no row. Give cellar a row",
    ),
    "a folder imports from above": (
        folders,
        {"ops/core/a.py": "from ..nn import b", "ops/nn/b.py": ""},
        "ops/core/a.py:1: imports hybridnet.ops.nn.b, but nn is not below core in ops. Move",
    ),
    "a folder imports from beside": (
        folders,
        {
            "ops/math/a.py": "from hybridnet.ops.nn.b import c",
            "ops/nn/b.py": "",
        },
        "ops/math/a.py:1: imports hybridnet.ops.nn.b.c, but nn is not below math in ops. Move",
    ),
    "a file imports from a folder above": (
        folders,
        {"ops/a.py": "from .nn import b", "ops/nn/b.py": ""},
        "ops/a.py:1: imports hybridnet.ops.nn.b, but nn is not below . in ops. Move",
    ),
    "a folder imports from the package itself": (
        folders,
        {"ops/nn/a.py": "from hybridnet.ops import b"},
        "ops/nn/a.py:1: imports hybridnet.ops.b, but __init__ is not below nn in ops. Move",
    ),
    "a folder imports from a folder in it": (
        lambda house: rules.folders(house, {"ops": {"nn": (), "nn/conv": ("nn",)}}),
        {"ops/nn/a.py": "from .conv import b", "ops/nn/conv/b.py": "from .. import a"},
        "ops/nn/a.py:1: imports hybridnet.ops.nn.conv.b, but nn/conv is not below nn in ops. Move",
    ),
    "a new folder beside files": (
        lambda house: rules.folders(house, {"ops": {".": ()}}),
        {"ops/attic/__init__.py": "", "ops/a.py": ""},
        "ops/attic/__init__.py:1: attic is in no row of the table of ops. Give it a row",
    ),
    "a folder is in no row": (
        lambda house: rules.folders(house, {"ops": {"core": ()}}),
        {"ops/attic.py": ""},
        "ops/attic.py:1: attic is in no row of the table of ops. Give it a row",
    ),
    "a package has folders and no table": (
        lambda house: rules.folders(house, {}),
        {"ops/nn/a.py": ""},
        "ops/nn/__init__.py:1: lies in ops, which has folders but no table. Give 'ops' a",
    ),
    "folders are a circle": (
        lambda house: rules.folders(house, {"ops": {"nn": ("nn",)}}),
        {},
        "the table of ops: nn is below itself. Take out one",
    ),
    "the engine by its folder": (
        rules.by_folder,
        {"ops/nn.py": "import engine.pool"},
        "ops/nn.py:1: imports engine.pool by its folder, which would be a second copy. "
        "Import hybridnet.engine.pool",
    ),
    "JAX": (
        outside,
        {"graph/a.py": "import jax.numpy as jnp"},
        "graph/a.py:1: imports jax.numpy, which is jax, and graph may not. Ask a floor",
    ),
    "JAX by its lazy name": (
        outside,
        {"graph/a.py": "from hybridnet.base.lazy import jnp"},
        "graph/a.py:1: imports hybridnet.base.lazy.jnp, which is jax, and graph may not.",
    ),
    "JAX by the module of lazy names": (
        outside,
        {"graph/a.py": "from hybridnet.base import lazy"},
        "graph/a.py:1: imports hybridnet.base.lazy, which is jax, and graph may not.",
    ),
    "JAX by way of a module that has it": (
        outside,
        {
            "ops/b.py": "from hybridnet.base.lazy import jax",
            "graph/a.py": "from hybridnet.ops.b import jax",
        },
        "graph/a.py:1: imports hybridnet.ops.b.jax, which is jax, and graph may not.",
    ),
    "a module that nobody named": (
        outside,
        {"ops/a.py": "def f():\n    import_module('torch')"},
        "ops/a.py:2: imports torch, and torch is not among the modules that the house use",
    ),
    "a permission that nobody uses": (
        lambda house: rules.outside(house, {**JAX, "numpy": {"ops": "counts"}}),
        {},
        "the table of modules: ops may import numpy, and does not. Take it off the list",
    ),
    "a private name": (
        rules.private,
        {"ops/a.py": "from hybridnet.base.b import _c", "base/b.py": "_c = 1"},
        "ops/a.py:1: imports hybridnet.base.b._c, which is private to base/. Use what",
    ),
    "a private module": (
        rules.private,
        {"ops/a.py": "from hybridnet.base import _b", "base/_b.py": ""},
        "ops/a.py:1: imports hybridnet.base._b, which is private to base/. Use what",
    ),
    "a name of a private module": (
        rules.private,
        {"ops/nn/a.py": "from .._b import c", "ops/_b.py": "c = 1"},
        "ops/nn/a.py:1: imports hybridnet.ops._b.c, which is private to ops/. Use what",
    ),
    "a private attribute": (
        rules.private,
        {
            "ops/a.py": "from hybridnet.base import b as it\n\nit._c()",
            "base/b.py": "",
        },
        "ops/a.py:3: uses hybridnet.base.b._c, which is private to base/. Use what",
    ),
    "a private attribute by the full name": (
        rules.private,
        {
            "ops/a.py": "import hybridnet.base.b\n\ndef f():\n    hybridnet.base.b._c = 1",
            "base/b.py": "",
        },
        "ops/a.py:4: uses hybridnet.base.b._c, which is private to base/. Use what",
    ),
    "a module inside of a floor": (
        faces,
        {"graph/a.py": "from hybridnet.ops.b import c", "ops/b.py": ""},
        "graph/a.py:1: imports hybridnet.ops.b.c, which is inside of ops. Import it from",
    ),
    "a module of a face's name, inside of a folder": (
        faces,
        {"graph/a.py": "from ..ops.nn import core", "ops/nn/core.py": ""},
        "graph/a.py:1: imports hybridnet.ops.nn.core, which is inside of ops. Import it from",
    ),
    "a face that nobody uses": (
        lambda house: rules.faces(house, {"ops": ("core",)}),
        {"ops/core.py": ""},
        "the faces of ops: hybridnet.ops.core is shown, and nobody outside imports from it.",
    ),
    "a face of many modules": (
        lambda house: rules.faces(house, {"ops": tuple(f"m{k}" for k in range(13))}),
        {"graph/a.py": "".join(f"from hybridnet.ops.m{k} import a\n" for k in range(13))},
        "the faces of ops: 13 modules are shown, and 12 may be. Show names of several in one",
    ),
    "one module more than a package borrows": (
        borrowed,
        {
            "compat/tf1/graph/a.py": "\nfrom hybridnet.session import Session, step",
            "session/__init__.py": "from .session import Session",
            "session/step.py": "",
        },
        "compat/tf1/graph/a.py:2: imports hybridnet.session.step, and compat/tf1 may not import",
    ),
    "what is borrowed for types only": (
        lambda house: rules.borrowed(house, {"compat/tf1": ()}),
        {"compat/tf1/a.py": "if TYPE_CHECKING:\n    from ...ops import nn", "ops/nn.py": ""},
        "compat/tf1/a.py:2: imports hybridnet.ops.nn, and compat/tf1 may not import from ops/nn",
    ),
    "what a package does not borrow": (
        borrowed,
        {"compat/tf1/a.py": "from . import b", "compat/tf1/b.py": ""},
        "what compat/tf1 borrows: hybridnet.session is in the table, and compat/tf1 imports",
    ),
    "a package that borrows much": (
        lambda house: rules.borrowed(house, {"compat": tuple(f"m{k}" for k in range(13))}),
        {"compat/a.py": "".join(f"from hybridnet.m{k} import a\n" for k in range(13))},
        "what compat borrows: 13 modules are imported, and 12 may be. Have the faces below show",
    ),
    "an attribute of another folder's": (
        rules.attributes,
        {
            "graph/a.py": "def f(x):\n    return x._held",
            "ops/b.py": "class B:\n    def __init__(self):\n        self._held = 1",
        },
        "graph/a.py:2: uses the attribute _held, which is private to ops/. Use what",
    ),
    "a method of another folder's": (
        rules.attributes,
        {"graph/a.py": "f = lambda x: x._go()", "ops/b.py": "class B:\n    def _go(self): ..."},
        "graph/a.py:1: uses the attribute _go, which is private to ops/. Use what",
    ),
    "a circle": (
        rules.circles,
        {
            "ops/a.py": "from . import b",
            "ops/b.py": "def f():\n    from .c import d",
            "ops/c.py": "import hybridnet.ops.a",
        },
        "ops/a.py:1: 3 files need each other: ops/a.py:1 imports hybridnet.ops.b, "
        "ops/b.py:2 imports hybridnet.ops.c, ops/c.py:1 imports hybridnet.ops.a. "
        "Put what",
    ),
    "a circle by types": (
        rules.circles,
        {
            "ops/a.py": "from . import b",
            "ops/b.py": "if TYPE_CHECKING:\n    from .a import c",
        },
        "ops/a.py:1: 2 files need each other: ops/a.py:1 imports hybridnet.ops.b, "
        "ops/b.py:2 imports hybridnet.ops.a. Put what",
    ),
    "a circle with the package": (
        rules.circles,
        {
            "ops/__init__.py": "from .a import b",
            "ops/a.py": "from hybridnet.ops import c",
        },
        "ops/__init__.py:1: 2 files need each other:",
    ),
    "a circle beside a known one": (
        lambda house: rules.circles(house, ["hybridnet/ops/a.py: hybridnet.ops.b"]),
        {
            "ops/a.py": "from . import b, c",
            "ops/b.py": "from . import a",
            "ops/c.py": "from . import a",
        },
        "ops/a.py:1: 2 files need each other: ops/a.py:1 imports hybridnet.ops.c,",
    ),
    "a known circle that is mended": (
        lambda house: rules.circles(house, ["hybridnet/ops/a.py: hybridnet.ops.b"]),
        {"ops/a.py": "from . import b", "ops/b.py": ""},
        "ops/a.py: hybridnet.ops.b is listed as an import that closes a circle, and closes none.",
    ),
    "an import in a function": (
        inside_functions,
        {"ops/a.py": "class A:\n    def f(self):\n        from math import pi"},
        "ops/a.py:3: imports math.pi inside f. Import it at the top",
    ),
    "an import in a lambda": (
        inside_functions,
        {"ops/a.py": "f = lambda: importlib.import_module('math')"},
        "ops/a.py:1: imports math inside lambda. Import it at the top",
    ),
    "a reason for an import that is gone": (
        lambda house: rules.inside_functions(house, {"hybridnet/ops/a.py: math": "slow"}),
        {"ops/a.py": "import math"},
        "ops/a.py: math is listed as an import inside a function, and is none. Take it off",
    ),
    "namesakes in a floor": (
        rules.class_names,
        {"ops/a.py": "class Step: ...", "ops/nn/b.py": "\nclass Step: ..."},
        "ops/nn/b.py:2: class Step has namesakes in its floor: ops/a.py:1. Give",
    ),
    "three namesakes in the house": (
        rules.class_names,
        {f"{floor}/a.py": "class Step: ..." for floor in ("base", "graph", "ops")},
        "ops/a.py:1: class Step has namesakes in the house: base/a.py:1, graph/a.py:1. Give",
    ),
}


@pytest.mark.parametrize(("rule", "files", "message"), BREACHES.values(), ids=BREACHES)
def test_a_breach_is_found_and_nothing_else(plant, rule, files, message):
    messages = [str(one).replace("hybridnet/", "") for one in rule(plant(files))]
    assert len(messages) == 1, messages
    assert messages[0].startswith(message)


RIGHT = {
    "floors": (
        floors,
        {
            "graph/node.py": "import numpy\nfrom hybridnet.base import lazy\nfrom ..ops import nn",
            "ops/nn.py": "from . import norm",
            "ops/nn/norm.py": "",
            "cli/main.py": "import hybridnet",
            "__init__.py": "from .graph import node",
        },
    ),
    "folders": (
        folders,
        {
            "ops/__init__.py": "from .nn import a",
            "ops/nn/a.py": "from ..core import b\nfrom hybridnet.base import lazy\nfrom . import c",
            "ops/nn/c.py": "",
            "ops/core/b.py": "if TYPE_CHECKING:\n    from hybridnet.ops.nn.a import d",
            "ops/d.py": "",
        },
    ),
    "folders in folders": (
        lambda house: rules.folders(house, {"ops": {"nn": ("nn/conv",), "nn/conv": ()}}),
        {"ops/nn/a.py": "from .conv import b", "ops/nn/conv/b.py": "from . import c"},
    ),
    "outside": (
        outside,
        {
            "ops/a.py": "import math\nimport jax\nfrom hybridnet.base.lazy import jnp",
            "graph/a.py": "import json",
        },
    ),
    "private": (
        rules.private,
        {
            "ops/a.py": """
                from hybridnet import __version__
                from hybridnet.base import b
                from . import _c
                from ._c import _d

                _c._e()
                b.__name__

                def f(b):
                    return b._x
            """,
            "base/b.py": "",
            "ops/_c.py": "_d = 1",
        },
    ),
    "faces": (
        lambda house: rules.faces(house, {"ops": (".", "core")}),
        {
            "ops/__init__.py": "from .fold import fold",
            "ops/fold.py": "from . import inner",
            "ops/inner.py": "",
            "graph/a.py": "from ..ops import fold\nfrom hybridnet.ops.core import registry",
            "ops/core.py": "",
            "graph/b.py": "from hybridnet.base import lazy",
        },
    ),
    "borrowed": (
        borrowed,
        {
            "compat/tf1/graph/a.py": "from hybridnet.session import runner\nfrom ..b import c\n",
            "compat/tf1/b.py": "from hybridnet import session",
            "compat/mxnet.py": "from hybridnet.session.runner import Runner",
            "session/__init__.py": "from . import runner",
            "session/runner.py": "",
        },
    ),
    "attributes": (
        lambda house: rules.attributes(house, ["_fields"]),
        {
            "graph/a.py": "import os\nos._exit(1)\ndef f(x):\n    return x._fields, x._own",
            "graph/b.py": "class B:\n    _own: int",
            "ops/b.py": "class B:\n    _fields = ()\n    def _exit(self): ...",
        },
    ),
    "circles": (
        rules.circles,
        {"ops/a.py": "from . import b", "ops/b.py": "from .c import d", "ops/c.py": ""},
    ),
    "known circles": (
        lambda house: rules.circles(house, ["hybridnet/ops/b.py: hybridnet.ops.a"]),
        {"ops/a.py": "from . import b", "ops/b.py": "from . import a"},
    ),
    "inside functions": (
        lambda house: rules.inside_functions(house, {"hybridnet/ops/a.py: math": "slow"}),
        {"ops/a.py": "try:\n    import os\nexcept ImportError: ...\ndef f():\n    import math"},
    ),
    "class names": (
        lambda house: rules.class_names(house, ["compat"]),
        {f"{floor}/a.py": "class Step: ..." for floor in ("base", "ops", "compat")},
    ),
}


@pytest.mark.parametrize(("rule", "files"), RIGHT.values(), ids=RIGHT)
def test_what_is_right_is_left(plant, rule, files):
    assert [str(one) for one in rule(plant(files))] == []


def test_known_breaches_are_those_that_there_are(plant):
    """The list must shrink with what is mended, and does not hide what is new."""
    house = plant({"ops/a.py": "def f():\n    import math\n    import os"})
    found = rules.inside_functions(house, {})
    keys = {"hybridnet/ops/a.py: math", "hybridnet/ops/a.py: os"}
    assert rules.news(found, keys, "KNOWN") == ""
    new = rules.news(found, {"hybridnet/ops/a.py: os"}, "KNOWN")
    assert new.startswith("hybridnet/ops/a.py:2: imports math inside f. Import it at the top")
    assert new.endswith("key: hybridnet/ops/a.py: math")
    gone = rules.news(found, {*keys, "hybridnet/ops/b.py: re"}, "KNOWN")
    assert gone == "KNOWN: 'hybridnet/ops/b.py: re' is mended. Take it off the list."
