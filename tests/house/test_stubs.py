"""The stubs that type checkers read are those of the registry, and say what the functions take."""

import ast
import importlib
import inspect
import json
import subprocess
import sys

import pytest
from places import ROOT

from hybridnet.ops.core import FluentMethods, registry, signature_of

FOLDER = ROOT / "hybridnet"
#: Stub -> the module that imports all of it.
HOMES = {
    "ndarray/_operators.pyi": "ndarray",
    "ndarray/_contrib_operators.pyi": "ndarray.contrib",
    "ndarray/_image_operators.pyi": "ndarray.image",
    "ndarray/_linalg_operators.pyi": "ndarray.linalg",
    "ndarray/_random_operators.pyi": "ndarray.random",
    "ndarray/sparse/_operators.pyi": "ndarray.sparse",
    "numpy/_functions.pyi": "numpy",
    "numpy/_linalg_functions.pyi": "numpy.linalg",
    "numpy_extension/_operators.pyi": "numpy_extension",
    "numpy_extension/_image_operators.pyi": "numpy_extension.image",
    "symbol/_operators.pyi": "symbol",
    "symbol/_contrib_operators.pyi": "symbol.contrib",
    "symbol/_image_operators.pyi": "symbol.image",
    "symbol/_linalg_operators.pyi": "symbol.linalg",
    "symbol/_numpy_functions.pyi": "symbol.numpy",
    "symbol/_random_operators.pyi": "symbol.random",
    "symbol/_sparse_operators.pyi": "symbol.sparse",
}
METHODS = "ops/core/_methods.pyi"
#: The names of the arguments of functions that take what another library's take.
ANYTHING = ["args", "kwargs"]
#: What Python has a literal for.
PLAIN = (bool, int, float, str, tuple, type(None))


def functions_in(body):
    """Returns the signatures of each function by its name: several where it is overloaded."""
    found = {}
    for node in body:
        if isinstance(node, ast.FunctionDef):
            found.setdefault(node.name, []).append(arguments_of(node.args))
    return found


def arguments_of(args):
    """Returns (name, kind, default) of each argument of a definition; see `told`."""
    kind = inspect.Parameter
    plain = [*args.posonlyargs, *args.args]
    defaults = [None] * (len(plain) - len(args.defaults)) + args.defaults
    pairs = zip(plain, defaults, strict=True)
    found = [(one.arg, kind.POSITIONAL_OR_KEYWORD, written(value)) for one, value in pairs]
    if args.vararg:
        found.append((args.vararg.arg, kind.VAR_POSITIONAL, kind.empty))
    pairs = zip(args.kwonlyargs, args.kw_defaults, strict=True)
    found += [(one.arg, kind.KEYWORD_ONLY, written(value)) for one, value in pairs]
    if args.kwarg:
        found.append((args.kwarg.arg, kind.VAR_KEYWORD, kind.empty))
    return found


def written(default):
    return inspect.Parameter.empty if default is None else ast.literal_eval(default)


def told(signature):
    """Returns what a signature at run time says, with three dots for a default of another kind."""
    found = []
    for one in signature.parameters.values():
        known = isinstance(one.default, PLAIN) or one.default is one.empty
        found.append((one.name, one.kind, one.default if known else ...))
    return found


def test_they_are_what_the_command_writes():
    code = "import json, hybridnet.stubs as s; print(json.dumps(s.stubs()))"
    # In a process of its own, where no test has registered an operator.
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    texts = json.loads(made.stdout)
    there = {p.relative_to(FOLDER).as_posix(): p.read_text() for p in FOLDER.rglob("*.pyi")}
    assert texts.keys() == there.keys() == {*HOMES, METHODS}
    changed = [path for path, text in texts.items() if text != there[path]]
    assert not changed, f"run python -m hybridnet.stubs: {changed} are not of these operators"


@pytest.mark.parametrize("path", HOMES)
def test_their_functions_are_there_and_take_what_they_say(path):
    module = importlib.import_module(f"hybridnet.{HOMES[path]}")
    for name, signatures in functions_in(ast.parse((FOLDER / path).read_text()).body).items():
        function = getattr(module, name)
        if [argument for argument, *_ in signatures[0]] != ANYTHING:
            assert told(inspect.signature(function)) in signatures, name


@pytest.mark.parametrize("path", [path for path, home in HOMES.items() if "numpy" not in home])
def test_every_operator_of_a_module_is_in_its_stub(path):
    module = importlib.import_module(f"hybridnet.{HOMES[path]}")
    tree = ast.parse((FOLDER / path).read_text()).body
    imports = [node for node in tree if isinstance(node, ast.ImportFrom)]
    again = {alias.asname for node in imports for alias in node.names}
    operators = vars(module)["_functions"].operators
    built_in = {name for name, op in operators.items() if op.built_in}
    assert built_in <= functions_in(tree).keys() | again


def test_methods_take_what_their_operators_take():
    tree = ast.parse((FOLDER / METHODS).read_text()).body
    methods = functions_in(next(node for node in tree if isinstance(node, ast.ClassDef)).body)
    found = {
        name: getattr(value, "__qualname__", "") for name, value in vars(FluentMethods).items()
    }
    made = {name for name, qualified in found.items() if qualified == f"Operand.{name}"}
    assert methods.keys() == {*made, "mean"}
    for name, (signature,) in methods.items():
        _, *others = told(signature_of(registry.get(name)))
        assert signature[1:] == others
