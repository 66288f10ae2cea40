"""ONNX files: models written, read and checked by the package onnx, an extra.

All that ONNX's own classes are needed for is here; the rest works on plain names and arrays.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.errors import FormatError
from hybridnet.base.files import atomic_write
from hybridnet.base.lazy import onnx
from hybridnet.base.remote import is_remote, read_file

from .draft import Network, OnnxStep, Port

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto

#: The version of ONNX's operators that models are written in: of onnx 1.16, 2024.
OPSET: Final = 21
#: That of the file format.
IR_VERSION: Final = 10
#: A message of protobuf's is smaller; weights of larger models go to a file beside it.
_MAX_BYTES: Final = 2**31 - 2**20


def write_model(
    network: Network,
    path: str,
    size_names: Mapping[tuple[str, int], str],
    with_shapes: bool,
) -> None:
    """Writes a model, once onnx's checker has passed it.

    Args:
        network: the model.
        path: of the file.
        size_names: names of sizes that are open, by input and dimension.
        with_shapes: whether the shapes of inner values are written, too.
    """
    draft = network.draft
    weights = [onnx.numpy_helper.from_array(array, name) for name, array in draft.constants.items()]
    graph = onnx.helper.make_graph(
        [_node(step, number) for number, step in enumerate(draft.steps)],
        "hybridnet",
        [_value(value, size_names) for value in network.inputs],
        [_value(value, {}) for value in network.outputs],
        weights,
    )
    model = onnx.helper.make_model(
        graph,
        producer_name="hybridnet",
        ir_version=IR_VERSION,
        opset_imports=[onnx.helper.make_opsetid("", OPSET)],
    )
    large = sum(array.nbytes for array in draft.constants.values()) > _MAX_BYTES
    if large:
        onnx.save_model(model, path, save_as_external_data=True, location=f"{_base(path)}.data")
        onnx.checker.check_model(path)
        return
    if with_shapes:
        model = onnx.shape_inference.infer_shapes(model)
    onnx.checker.check_model(model, full_check=True)
    with atomic_write(path) as file:
        file.write(model.SerializeToString())


def _base(path: str) -> str:
    return os.path.basename(path)


def _node(step: OnnxStep, number: int) -> NodeProto:
    attrs = {
        name: onnx.helper.np_dtype_to_tensor_dtype(value) if isinstance(value, np.dtype) else value
        for name, value in step.attrs.items()
    }
    name = step.outputs[0] or f"{step.op}_{number}"
    return onnx.helper.make_node(step.op, step.inputs, step.outputs, name=name, **attrs)


def _value(value: Port, size_names: Mapping[tuple[str, int], str]) -> ValueInfoProto:
    sizes = [
        size_names.get((value.name, place)) if size is None else size
        for place, size in enumerate(value.sizes)
    ]
    code = onnx.helper.np_dtype_to_tensor_dtype(value.dtype)
    return onnx.helper.make_tensor_value_info(value.name, code, sizes)


def read_model(path: str | os.PathLike[str]) -> ModelProto:
    """Reads a model, with the weights that lie beside it.

    Raises:
        FormatError: it is none.
        OSError: it cannot be read.
    """
    name = os.fspath(path)
    data = read_file(name)
    if not data:
        raise FormatError(f"{name}: must be an ONNX model, got an empty file")
    try:
        model = onnx.load_model_from_string(data)
        if not is_remote(name):
            onnx.load_external_data_for_model(model, os.path.dirname(name))
    except (ImportError, MemoryError):  # not the file's fault
        raise
    except Exception as error:  # protobuf has one kind of its own for each of its builds
        raise FormatError(f"{name}: must be an ONNX model: {error}") from error
    if not model.graph.output:
        raise FormatError(f"{name}: must be an ONNX model, got a file without a graph")
    return model


def array_of(tensor: TensorProto) -> NumpyArray:
    """Returns a tensor of a model as an array."""
    array: NumpyArray = onnx.numpy_helper.to_array(tensor)
    return array


def attributes_of(node: NodeProto) -> dict[str, Any]:
    """Returns the attributes of a node of a model: numbers, texts, arrays, or lists of them."""
    return {one.name: _attribute(onnx.helper.get_attribute_value(one)) for one in node.attribute}


def _attribute(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, (list, tuple)) or type(value).__name__.startswith("Repeated"):
        return [_attribute(one) for one in value]
    if type(value).__name__ == "TensorProto":
        return array_of(value)
    return value
