"""`import_model` and its kin: ONNX files become symbols with parameters, or blocks."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from typing import Any

from hybridnet import ndarray
from hybridnet import symbol as symbols
from hybridnet.base.array_types import NumpyArray
from hybridnet.base.context import Context
from hybridnet.base.errors import FormatError
from hybridnet.gluon import SymbolBlock
from hybridnet.ndarray import NDArray
from hybridnet.symbol import Symbol

from ..protos import read_model
from .arrival import ImportModelError
from .network import Reader, inputs_of, sizes_of
from .rules import ARRIVALS as ARRIVALS

Path = str | os.PathLike[str]


def import_model(model_file: Path) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray]]:
    """Reads an ONNX model.

    Args:
        model_file: the path of the file.

    Returns:
        The symbol, whose variables are the model's inputs and the parameters; the parameters by
        name; and the auxiliary states by name.

    Raises:
        ImportModelError: a node has no form here; the message names it, and what to do.
        FormatError: the file is no ONNX model, or damaged.
        ModuleNotFoundError: the package onnx is missing.
        OSError: the file cannot be read.
    """
    name, model = os.fspath(model_file), read_model(model_file)
    with _damage(name):
        reader = Reader(model, name)
        symbol = reader.read()
        arguments, states = reader.by_kind(symbol)
        return symbol, _arrays(arguments), _arrays(states)


@contextlib.contextmanager
def _damage(name: str) -> Iterator[None]:
    """Raises what fails as a model is read as a FormatError, which names its file.

    What is wrong with a model comes out as errors of protobuf, of onnx, of NumPy and of our own
    operators, of any kind. Only what has no form here, and what is no fault of the file, is told
    as it is.
    """
    try:
        yield
    except (FormatError, ImportModelError, ImportError, MemoryError):
        raise
    except Exception as error:
        said = " ".join(f"{type(error).__name__}: {error}".split())
        raise FormatError(f"{name}: must be a whole ONNX model: {said}") from error


def _arrays(found: Mapping[str, NumpyArray]) -> dict[str, NDArray]:
    return {name: ndarray.array(array, dtype=array.dtype) for name, array in found.items()}


def get_model_metadata(model_file: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Returns what goes into an ONNX model and comes out of it.

    Args:
        model_file: the path of the file.

    Returns:
        'input_tensor_data': the name, shape and element type (ONNX's code) of each input that is
        no weight; 'output_tensor_data': the name and shape of each output. A size that is left
        open is 0.

    Raises:
        FormatError: the file is no ONNX model.
        ModuleNotFoundError: the package onnx is missing.
        OSError: the file cannot be read.
    """
    graph = read_model(model_file).graph
    return {
        "input_tensor_data": [
            (value.name, sizes_of(value), value.type.tensor_type.elem_type)
            for value in inputs_of(graph)
        ],
        "output_tensor_data": [(value.name, sizes_of(value)) for value in graph.output],
    }


def import_to_gluon(model_file: Path, ctx: Context | list[Context]) -> SymbolBlock:
    """Reads an ONNX model as a block, with its parameters in place.

    Args:
        model_file: the path of the file.
        ctx: where the parameters go: one context or several.

    Raises:
        ImportModelError: a node has no form here; the message names it, and what to do.
        FormatError: the file is no ONNX model, or damaged.
        ModuleNotFoundError: the package onnx is missing.
        OSError: the file cannot be read.
    """
    model = read_model(model_file)
    reader = Reader(model, os.fspath(model_file))
    symbol = reader.read()
    wanted = set(symbol.list_inputs())
    names = [value.name for value in inputs_of(model.graph) if value.name in wanted]
    block = SymbolBlock(symbol, [symbols.var(name) for name in names])
    params = block.collect_params()
    for name, array in reader.params.items():
        if name in params:
            params[name].shape = array.shape
            params[name].initialize_with(ndarray.array(array, dtype=array.dtype), ctx)
    return block
