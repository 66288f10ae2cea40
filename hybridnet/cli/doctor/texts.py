"""Findings in the text of a file: settings, numbers made of arrays, operators in C++."""

from __future__ import annotations

import ast
import re
from typing import Final

import numpy as np

from .findings import Findings, Group, Spot
from .project import Project, Unreadable
from .sources import Source

#: MXNet's environment variables that hybridnet reads, too.
HONOURED: Final = frozenset({
    "MXNET_BACKWARD_DO_MIRROR", "MXNET_ELIMINATE_COMMON_EXPR", "MXNET_ENGINE_TYPE",
    "MXNET_GLUON_REPO", "MXNET_HOME", "MXNET_KVSTORE_BIGARRAY_BOUND",
    "MXNET_KVSTORE_SLICE_THRESHOLD", "MXNET_UPDATE_ON_KVSTORE",
})  # fmt: skip
_REFUSES_ARRAYS: Final = np.lib.NumpyVersion(np.__version__) >= "2.4.0"
_SETTING: Final = re.compile(r"MXNET_[A-Z0-9_]+")
#: Where one is set in a shell script, a Dockerfile or a file of settings.
_SET: Final = re.compile(r"(?m)^(?:.*[ \t;&|(])?(MXNET_[A-Z0-9_]+)=")
_SCRIPTS: Final = (".sh", ".bash", ".env", ".slurm", ".sbatch", ".yml", ".yaml")
_CPP: Final = (".cc", ".cpp", ".cxx", ".cu", ".h", ".hpp", ".cuh")
_CYTHON: Final = ".pyx"
_OPERATOR: Final = re.compile(
    rb'(?m)^\s*(?:#\s*include\s*[<"](?:mxnet|nnvm|mshadow)/|#\s*include\s*[<"][./\w]*lib_api\.h'
    rb"|MXNET_REGISTER_\w+\(|NNVM_REGISTER_OP\()"
)


def look_at_code(source: Source, findings: Findings) -> None:
    """Finds settings among the strings of a file of Python, and numbers made of whole arrays."""
    for node in ast.walk(source.tree):
        match node:
            case ast.Constant(value=str(text)) if _SETTING.fullmatch(text):
                _setting(text, source.place(node.lineno), findings)
            case ast.Call(
                func=ast.Name(id="float" | "int" as kind),
                args=[ast.Call(func=ast.Attribute(attr="asnumpy"))],
            ) if _REFUSES_ARRAYS:
                said = "of NumPy's array is refused since NumPy 2.4: x.asscalar() or x.item()"
                findings.add(Group.CHANGE, said, source.place(node.lineno), f"{kind}(x.asnumpy())")


def look_at_texts(project: Project, findings: Findings) -> None:
    """Looks through scripts of shells and files of C++."""
    for path in project.files:
        if path.suffix == _CYTHON:
            text = (
                "is Cython: build it (python setup.py build_ext --inplace), or install the project"
            )
            findings.add(Group.CHANGE, text, project.place(path), path.name)
        is_script = path.suffix in _SCRIPTS or path.name.startswith("Dockerfile")
        if not is_script and path.suffix not in _CPP:
            continue
        try:
            data = project.read(path)
        except Unreadable as error:
            findings.add(Group.NOTE, str(error), project.place(path), path.name)
            continue
        if is_script:
            text = data.decode("utf-8", "replace")
            for found in _SET.finditer(text):
                line = text.count("\n", 0, found.start(1)) + 1
                _setting(found[1], project.place(path, line), findings)
        elif written := _OPERATOR.search(data):
            line = data.count(b"\n", 0, written.end()) + 1
            text = (
                "needs MXNet's C++ headers, which hybridnet has not: write operators as lowerings "
                "on JAX (docs/extending.md) or as mx.operator.CustomOp"
            )
            findings.add(Group.STOPS, text, project.place(path, line), path.name)


def _setting(name: str, place: Spot, findings: Findings) -> None:
    text = "read here, too" if name in HONOURED else "nothing reads it here"
    findings.add(Group.NOTE, text, place, name)
