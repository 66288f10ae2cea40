"""Caffe's files: a network's description in text, and its weights, as plain layers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.errors import FormatError
from hybridnet.base.lazy import protobuf
from hybridnet.base.remote import read_file

from .schema import LAYER_TYPES, net_message

PathLike = str | os.PathLike[str]


@final
@dataclass(frozen=True)
class CaffeLayer:
    """A layer of a network.

    Attributes:
        name: unique in the network.
        type: such as 'Convolution'.
        bottoms: what it reads.
        tops: what it makes; in place where a name is among `bottoms`, too.
        message: its parameters, such as ``message.convolution_param``.
    """

    name: str
    type: str
    bottoms: tuple[str, ...]
    tops: tuple[str, ...]
    message: Any


@final
@dataclass(frozen=True)
class Net:
    """A network as its file describes it.

    Attributes:
        layers: those of the phase that tests, in order.
        inputs: what is fed, and its shape where the file tells.
    """

    layers: list[CaffeLayer]
    inputs: dict[str, tuple[int, ...]] = field(default_factory=dict)


def read_net(path: PathLike) -> Net:
    """Reads a ``.prototxt``.

    Raises:
        FormatError: it describes no network.
        ModuleNotFoundError: the package protobuf is missing.
        OSError: it cannot be read.
    """
    name = os.fspath(path)
    message = net_message()()
    try:
        text = read_file(path).decode()
        protobuf.text_format.Parse(text, message, allow_unknown_field=True)
    except (UnicodeDecodeError, protobuf.text_format.ParseError) as error:
        raise FormatError(f"{name}: must be a network of Caffe's in text: {error}") from error
    layers = [layer for layer in _layers(message) if _is_of_test(layer.message)]
    if not layers:
        raise FormatError(f"{name}: must be a network of Caffe's in text, got one without layers")
    return Net(layers, _inputs(message))


def _layers(message: Any) -> list[CaffeLayer]:
    new = [(one, one.type) for one in message.layer]
    old = [(one, _name_of_old(one)) for one in message.layers]
    return [
        CaffeLayer(one.name, kind, tuple(one.bottom), tuple(one.top), one)
        for one, kind in new or old
    ]


def _name_of_old(message: Any) -> str:
    values = message.DESCRIPTOR.fields_by_name["type"].enum_type.values_by_number
    name: str = values[message.type].name
    return LAYER_TYPES.get(name, name)


def _is_of_test(message: Any) -> bool:
    """Whether a layer is there when a network is tested."""
    test = 1
    if message.include:
        return any(not rule.HasField("phase") or rule.phase == test for rule in message.include)
    return not any(rule.HasField("phase") and rule.phase == test for rule in message.exclude)


def _inputs(message: Any) -> dict[str, tuple[int, ...]]:
    names = list(message.input)
    if message.input_shape:
        shapes = [tuple(shape.dim) for shape in message.input_shape]
    else:
        dims = list(message.input_dim)
        shapes = [tuple(dims[4 * i : 4 * i + 4]) for i in range(len(names))]
    return dict(zip(names, [*shapes, *[()] * (len(names) - len(shapes))], strict=True))


def read_weights(path: PathLike) -> dict[str, list[NumpyArray]]:
    """Reads a ``.caffemodel``; returns the arrays of each layer that has some, by its name.

    Raises:
        FormatError: it is none.
        ModuleNotFoundError: the package protobuf is missing.
        OSError: it cannot be read.
    """
    name = os.fspath(path)
    try:
        message = net_message().FromString(read_file(path))
    except protobuf.message.DecodeError as error:
        raise FormatError(f"{name}: must be a .caffemodel: {error}") from error
    found: dict[str, list[NumpyArray]] = {}
    layers: Sequence[Any] = [*message.layer, *message.layers]
    for layer in layers:
        if layer.blobs:
            found[layer.name] = [
                _array(blob, f"{name}, layer {layer.name!r}") for blob in layer.blobs
            ]
    if not found:
        raise FormatError(f"{name}: must be a .caffemodel, got a file without weights")
    return found


def _array(blob: Any, where: str) -> NumpyArray:
    """Returns the numbers of a blob; its ``diff``, the gradients of training, is passed over."""
    values = np.array(blob.data or blob.double_data, np.float32)
    if blob.HasField("shape"):
        shape = tuple(blob.shape.dim)
    else:
        shape = (blob.num, blob.channels, blob.height, blob.width)
    if any(size < 0 for size in shape) or int(np.prod(shape, dtype=object)) != values.size:
        raise FormatError(f"{where}: a blob of shape {shape} has {values.size} numbers")
    return values.reshape(shape)
