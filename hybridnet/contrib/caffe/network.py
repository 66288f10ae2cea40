"""`import_caffe`: layers of Caffe, one after another, become a symbol and its parameters."""

from __future__ import annotations

import os

from hybridnet import ndarray
from hybridnet import symbol as symbols
from hybridnet.base.array_types import NumpyArray
from hybridnet.base.errors import ParameterError
from hybridnet.ndarray import NDArray
from hybridnet.symbol import Symbol

from .files import CaffeLayer, read_net, read_weights
from .layers import ENDS, SOURCES, Place, translate

PathLike = str | os.PathLike[str]
Arrays = dict[str, NDArray]


def import_caffe(
    prototxt: PathLike, caffemodel: PathLike | None = None
) -> tuple[Symbol, Arrays, Arrays]:
    """Reads a network of Caffe's.

    Layers that read data become variables; those that only measure (`Accuracy`) are left out, and
    losses become MXNet's output operators, whose labels are variables. A `BatchNorm` and the
    `Scale` after it become one operator. Sizes are rounded up in pooling, as Caffe does.

    Args:
        prototxt: the description, of deployment or of training; of the latter the layers are taken
            that are there in the phase TEST.
        caffemodel: the weights; None: there are none, and the symbol is to be initialized.

    Returns:
        The symbol, whose outputs are the blobs that no layer reads; the parameters by name; and
        the auxiliary states by name.

    Raises:
        ParameterError: a layer has no form here; the message names it.
        FormatError: a file is damaged, or of another network.
        ModuleNotFoundError: the package protobuf is missing.
        OSError: a file cannot be read.
    """
    net = read_net(prototxt)
    weights = {} if caffemodel is None else read_weights(caffemodel)
    blobs: dict[str, Symbol] = {}
    shapes: dict[str, tuple[int, ...]] = {}
    params: dict[str, NumpyArray] = {}
    for name, shape in net.inputs.items():
        blobs[name] = symbols.var(name)
        if shape:
            shapes[name] = shape
    read: set[str] = set()
    layers = _with_scales(net.layers)
    for layer, scale in layers:
        if layer.type in SOURCES:
            _feed(layer, blobs, shapes)
            continue
        if layer.type in ENDS:
            read.update(set(layer.bottoms) - {layer.bottoms[0]})
            continue
        place = Place(layer, scale, _bottoms(layer, blobs), weights, params, shapes)
        made = translate(place)
        read.update(layer.bottoms)
        tops = (scale or layer).tops
        read -= set(tops)
        for name, value in zip(tops, made, strict=False):
            blobs[name] = value
    outputs = [value for name, value in blobs.items() if name not in read]
    outputs = [value for value in outputs if not value.edges[0].node.is_variable]
    symbol = outputs[0] if len(outputs) == 1 else symbols.Group(outputs)
    states = set(symbol.list_auxiliary_states())
    arrays = {name: ndarray.array(array) for name, array in params.items()}
    return (
        symbol,
        {name: array for name, array in arrays.items() if name not in states},
        {name: array for name, array in arrays.items() if name in states},
    )


def _feed(layer: CaffeLayer, blobs: dict[str, Symbol], shapes: dict[str, tuple[int, ...]]) -> None:
    """Makes variables of what a layer reads from files or is given."""
    told = layer.message.input_param.shape if layer.type == "Input" else ()
    for index, name in enumerate(layer.tops):
        blobs[name] = symbols.var(name)
        if told:
            shapes[name] = tuple(told[min(index, len(told) - 1)].dim)


def _bottoms(layer: CaffeLayer, blobs: dict[str, Symbol]) -> list[Symbol]:
    found = []
    for name in layer.bottoms:
        if name not in blobs:
            raise ParameterError(
                f"import_caffe: layer {layer.name!r} ({layer.type}) reads the blob {name!r}, which "
                "no layer before it makes"
            )
        found.append(blobs[name])
    return found


def _with_scales(layers: list[CaffeLayer]) -> list[tuple[CaffeLayer, CaffeLayer | None]]:
    """Pairs each BatchNorm with the Scale of channels that alone reads what it makes."""
    pairs: list[tuple[CaffeLayer, CaffeLayer | None]] = []
    taken: set[str] = set()
    for number, layer in enumerate(layers):
        if layer.name in taken:
            continue
        scale = None
        if layer.type == "BatchNorm":
            readers = [one for one in layers[number + 1 :] if layer.tops[0] in one.bottoms]
            first = readers[0] if readers else None
            in_place = first is not None and first.tops == layer.tops
            if first is not None and _scales_channels(first) and (in_place or len(readers) == 1):
                scale = first
                taken.add(first.name)
        pairs.append((layer, scale))
    return pairs


def _scales_channels(layer: CaffeLayer) -> bool:
    if layer.type != "Scale" or len(layer.bottoms) != 1:
        return False
    param = layer.message.scale_param
    return bool(param.axis == 1 and param.num_axes == 1)
