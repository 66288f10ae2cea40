"""Programs for TensorFlow's 1.x API, run by TensorFlow and by ours: plain data and NumPy.

Each is a function of ``tf``, in one of the files ``tf1_*_cases.py``; `make_tf1.py` keeps the
answers of TensorFlow in ``tf1.json.gz``. It runs in a graph of its own and returns a nest of

- tensors, whose names, dtypes, static shapes and values are compared; all are fetched in one run,
  after the variables are initialized,
- `static` tensors, of which all but the values is compared,
- arrays, numbers, texts and None, compared as they are,

or ``feeding(nest, {tensor: array})``. `error_of` gives the name of an error.
"""

from __future__ import annotations

import gzip
import importlib
import inspect
import json
import re
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

__all__ = [
    "FILE", "SCRIPTS", "all_cases", "answers", "case", "error_of", "feeding", "numbers", "run",
    "run_script", "signatures", "static",
]  # fmt: skip

FILE = Path(__file__).resolve().parent / "tf1.json.gz"
#: Whole scripts, as users have them.
SCRIPTS = {"mnist": ("mnist", {}), "vgg19": ("vgg19", {}), "vgg19-short": ("vgg19", {"DEPTH": "2"})}
Program = Callable[[Any], Any]
_CASES: dict[str, Program] = {}


@dataclass(frozen=True)
class _Feeding:
    nest: Any
    feeds: Mapping[Any, Any]


@dataclass(frozen=True)
class _Static:
    tensor: Any


def case(program: Program) -> Program:
    """Adds a program."""
    family = program.__module__.split(".")[-1].removeprefix("tf1_").removesuffix("_cases")
    name = f"{family}-{program.__name__}"
    assert name not in _CASES, name
    _CASES[name] = program
    return program


def feeding(nest: Any, feeds: Mapping[Any, Any]) -> _Feeding:
    """What a case returns whose tensors are fetched with these values fed."""
    return _Feeding(nest, feeds)


def static(tensor: Any) -> _Static:
    """A tensor whose value is not compared, as it is random."""
    return _Static(tensor)


def error_of(function: Callable[[], Any]) -> str:
    """Returns the name of the error that a call raises; of ours that of Python's that they are."""
    try:
        function()
    except Exception as error:  # which one is what the case is about
        name = type(error).__name__
        return {"ShapeError": "ValueError", "DTypeError": "TypeError"}.get(name, name)
    return "no error"


def numbers(*shape: int, low: float = -1.0, high: float = 1.0, dtype: str = "float32") -> Any:
    """Returns random numbers, the same for the same arguments; whole ones for whole dtypes."""
    random = np.random.RandomState(zlib.crc32(f"{shape} {low} {high}".encode()))
    found = random.uniform(low, high, shape)
    if np.dtype(dtype).kind in "iub":
        found = np.floor(found)
    return np.round(found, 3).astype(dtype)


@cache
def all_cases() -> dict[str, Program]:
    """Returns the programs by family and name."""
    for file in sorted(FILE.parent.glob("tf1_*_cases.py")):
        importlib.import_module(f"oracle.{file.stem}")
    return dict(_CASES)


def run_script(name: str, package: str, **constants: str) -> dict[str, Any]:
    """Runs a script of ``tf1_scripts`` and returns its ``RESULT``.

    Args:
        name: the script's.
        package: what it imports in the place of TensorFlow.
        constants: other values for texts that it sets at its head.
    """
    file = FILE.parent / "tf1_scripts" / f"{name}.py"
    text = file.read_text().replace("tensorflow.compat.v1", package)
    for key, value in constants.items():
        text = re.sub(rf'^{key} = ".*"$', f'{key} = "{value}"', text, flags=re.M)
    module = {"__file__": str(file), "__name__": name}
    exec(compile(text, str(file), "exec"), module)
    found: dict[str, Any] = module["RESULT"]  # type: ignore[assignment]
    return found


def signatures(tf: Any) -> dict[str, list[str]]:
    """Returns the names of the parameters of all functions and classes that our page lists."""
    found = {}
    page = FILE.parents[2] / "docs" / "tensorflow.md"
    for space, names in re.findall(r"^\| `tf([.\w]*)` \| (.*) \|$", page.read_text(), flags=re.M):
        owner = tf
        for part in space.split(".")[1:]:
            owner = getattr(owner, part, None)
        for name in re.findall(r"`(\w+)`", names):
            one = getattr(owner, name, None)
            if callable(one):
                called = one.__init__ if inspect.isclass(one) else one
                listed = [each for each in inspect.signature(called).parameters if each != "self"]
                found[f"tf{space}.{name}"] = listed
    return found


@cache
def answers() -> dict[str, Any]:
    """Returns TensorFlow's answers by name of the case."""
    found: dict[str, Any] = json.loads(gzip.decompress(FILE.read_bytes()))
    return found


def run(tf: Any, program: Program) -> Any:
    """Runs a program; returns what it gave as JSON."""
    with tf.Graph().as_default():
        made = program(tf)
        nest, feeds = (made.nest, made.feeds) if isinstance(made, _Feeding) else (made, {})
        fetched: list[Any] = []
        described = _described(nest, fetched)
        if fetched:
            with tf.Session() as session:
                if tf.global_variables():
                    session.run(tf.global_variables_initializer())
                values = session.run(fetched, feeds)
            described = _filled(described, [_plain(one) for one in values])
        return described


def _described(nest: Any, fetched: list[Any]) -> Any:
    """Returns a nest as JSON, with a number for each value that is to be fetched."""
    if isinstance(nest, _Static):
        return {"tensor": _facts(nest.tensor)}
    if hasattr(nest, "op") and hasattr(nest, "graph"):
        fetched.append(nest)
        return {"tensor": _facts(nest), "value": len(fetched) - 1}
    if isinstance(nest, dict):
        return {"dict": {str(key): _described(one, fetched) for key, one in nest.items()}}
    if isinstance(nest, (list, tuple)):
        return [_described(one, fetched) for one in nest]
    return _plain(nest)


def _facts(tensor: Any) -> str:
    return repr(tensor)


def _filled(described: Any, values: list[Any]) -> Any:
    if isinstance(described, list):
        return [_filled(one, values) for one in described]
    if isinstance(described, dict) and "dict" in described:
        return {"dict": {key: _filled(one, values) for key, one in described["dict"].items()}}
    if isinstance(described, dict) and "value" in described:
        return {**described, "value": values[described["value"]]}
    return described


def _plain(value: Any) -> Any:
    """Returns a value as JSON."""
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    array = np.asarray(value)
    if array.dtype.kind in "OSU":
        return {"dtype": "object", "shape": list(array.shape), "data": [
            one.decode() if isinstance(one, bytes) else str(one) for one in array.reshape(-1)
        ]}  # fmt: skip
    if array.dtype.kind == "c":
        array = np.stack([array.real, array.imag], -1)
    if array.dtype.kind in "biu":
        data = [int(one) for one in array.reshape(-1)]
    else:
        data = [float(f"{one:.7g}") for one in array.reshape(-1).astype(np.float64)]
    return {"dtype": str(np.asarray(value).dtype), "shape": list(array.shape), "data": data}
