"""`export_model`: a symbol with its parameters becomes an ONNX file, with MXNet's arguments."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from hybridnet import ndarray
from hybridnet import symbol as symbols
from hybridnet.base.array_types import DTypeLike, Shape
from hybridnet.base.dtype import as_dtype
from hybridnet.base.errors import ParameterError
from hybridnet.ndarray import NDArray
from hybridnet.symbol import Symbol

from ..protos import OPSET, write_model
from .network import draft_of, inputs_of
from .rules import TRANSLATIONS
from .sizes import known_of

Path = str | os.PathLike[str]


def get_operator_support(opset_version: int | None = None) -> list[str]:
    """Returns the names of the operators that `export_model` translates, in alphabetical order.

    Args:
        opset_version: None, or the version that models are written in (`onnx.OPSET`) or a later
            one.

    Raises:
        ParameterError: it is an earlier one.
    """
    if opset_version is not None and opset_version < OPSET:
        raise ParameterError(
            f"get_operator_support: opset_version must be {OPSET} or more, as models are written "
            f"in version {OPSET}, got {opset_version}; onnx.version_converter makes older ones"
        )
    return sorted(TRANSLATIONS)


def export_model(
    sym: Symbol | Path,
    params: Path | Mapping[str, NDArray] | Sequence[Mapping[str, NDArray]],
    in_shapes: Sequence[Sequence[int]] | None = None,
    in_types: DTypeLike | Sequence[DTypeLike] = np.float32,
    onnx_file_path: Path = "model.onnx",
    verbose: bool = False,
    dynamic: bool = False,
    dynamic_input_shapes: Sequence[Sequence[int | str | None]] | None = None,
    run_shape_inference: bool = False,
    input_type: DTypeLike | Sequence[DTypeLike] | None = None,
    input_shape: Sequence[Sequence[int]] | None = None,
) -> str:
    """Writes a network as an ONNX model that infers; what is for training alone is left out.

    Args:
        sym: the network, or the path of its ``-symbol.json`` file.
        params: its parameters and auxiliary states by name ('arg:' and 'aux:' before a name do no
            harm), the two dictionaries of both, or the path of its ``.params`` file.
        in_shapes: the shapes of the inputs that are no parameters, in the order of
            `Symbol.list_inputs`; those of labels may be there or not, and so are then the inputs.
        in_types: their dtype, or a list of one for each.
        onnx_file_path: where the model is written; it appears whole or not at all.
        verbose: log each node that is translated.
        dynamic: leave sizes of the inputs open, so that the model takes others, too.
        dynamic_input_shapes: for each input its sizes, None or a name for those that are open. By
            default all are, but for those that the network's weights or `Flatten` fix.
        run_shape_inference: write the shapes of all inner values, too.
        input_type: an older name of `in_types`.
        input_shape: an older name of `in_shapes`.

    Returns:
        The path of the model, which onnx's checker has passed.

    Raises:
        ExportError: an operator has no form in ONNX; the message names the node, and what to do.
        ParameterError: the arguments do not fit the network.
        ModuleNotFoundError: the package onnx is missing.
        OSError: a file cannot be read or written.
    """
    network, arrays = _loaded(sym, params)
    given = input_shape if input_shape is not None else in_shapes
    names = inputs_of(network, arrays)
    if len(given or ()) > len(names):
        names = inputs_of(network, arrays, with_labels=True)
    shapes = _shapes(names, given)
    dtypes = _dtypes(names, input_type if input_type is not None else in_types)
    marks = _open_sizes(names, shapes, dynamic, dynamic_input_shapes)
    wanted = set(network.list_inputs())
    stored = {name: array for name, array in arrays.items() if name in wanted}
    known = known_of(
        network,
        {**shapes, **{name: array.shape for name, array in stored.items()}},
        {**dtypes, **{name: array.dtype for name, array in stored.items()}},
        {name: [not isinstance(size, int) for size in sizes] for name, sizes in marks.items()},
    )
    drafted = draft_of(network, stored, names, known, verbose)
    names_of_sizes = {
        (name, place): size
        for name, sizes in marks.items()
        for place, size in enumerate(sizes)
        if isinstance(size, str)
    }
    path = os.fspath(onnx_file_path)
    write_model(drafted, path, names_of_sizes, run_shape_inference)
    logging.info("export_model: wrote %s for inputs of %s", path, list(shapes.values()))
    return path


def _loaded(sym: Any, params: Any) -> tuple[Symbol, dict[str, NDArray]]:
    """Returns the network and its arrays by name."""
    if isinstance(sym, (str, os.PathLike)):
        sym = symbols.load(os.fspath(sym))
    if not isinstance(sym, Symbol):
        raise ParameterError(
            "export_model: sym must be a Symbol or the path of one, got "
            f"{type(sym).__name__}; a block is exported by net.export(...) first"
        )
    if isinstance(params, (str, os.PathLike)):
        params = ndarray.load(os.fspath(params))
    parts = params if isinstance(params, (list, tuple)) else [params]
    if not all(isinstance(part, Mapping) for part in parts):
        raise ParameterError(
            "export_model: params must be a dictionary of arrays, a list of two, or the path of a "
            f".params file with names, got {type(params).__name__}"
        )
    arrays: dict[str, NDArray] = {}
    for part in parts:
        for key, value in part.items():
            array = value.data() if hasattr(value, "list_data") else value
            if not isinstance(array, NDArray):
                array = ndarray.array(array, dtype=np.asarray(array).dtype)
            arrays[key.removeprefix("arg:").removeprefix("aux:")] = array
    return sym, arrays


def _shapes(names: Sequence[str], given: Sequence[Sequence[int]] | None) -> dict[str, Shape]:
    told = [tuple(shape) for shape in given or ()]
    if len(told) != len(names):
        raise ParameterError(
            "export_model: in_shapes must have a shape for each input "
            f"({', '.join(names) or 'there are none'}), got {told}; what else params lacks must be "
            "there"
        )
    return dict(zip(names, told, strict=True))


def _dtypes(
    names: Sequence[str], given: DTypeLike | Sequence[DTypeLike]
) -> dict[str, np.dtype[np.generic]]:
    told: list[Any] = list(given) if isinstance(given, (list, tuple)) else [given] * len(names)
    if len(told) != len(names):
        raise ParameterError(
            f"export_model: in_types must have a dtype for each input ({', '.join(names)}), got "
            f"{told}"
        )
    return {name: as_dtype(dtype) for name, dtype in zip(names, told, strict=True)}


def _open_sizes(
    names: Sequence[str], shapes: Mapping[str, Shape], dynamic: bool, given: Any
) -> dict[str, tuple[int | str | None, ...]]:
    """Returns for each input its sizes, None or a name for those that are left open."""
    if not dynamic:
        if given is not None:
            raise ParameterError("export_model: dynamic_input_shapes needs dynamic=True")
        return cast(dict[str, tuple[int | str | None, ...]], dict(shapes))
    if given is None:
        return {name: (None,) * len(shape) for name, shape in shapes.items()}
    told = [tuple(sizes) for sizes in given]
    if [len(sizes) for sizes in told] != [len(shapes[name]) for name in names]:
        raise ParameterError(
            "export_model: dynamic_input_shapes must have a size for each dimension of in_shapes "
            f"{list(shapes.values())}, got {told}"
        )
    return dict(zip(names, told, strict=True))
