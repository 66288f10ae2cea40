"""``hybridnet convert``: models of others become a symbol and its parameters, in two files."""

from __future__ import annotations

import argparse
import os
from typing import Any


def add_convert(commands: Any) -> None:
    """Adds the command to the parser's commands."""
    parser = commands.add_parser("convert", help="convert models of Caffe, or ONNX models")
    kinds = parser.add_subparsers(dest="kind", required=True, metavar="KIND")

    one = kinds.add_parser("caffe", help="a .prototxt and a .caffemodel")
    one.add_argument("prototxt", metavar="NET.prototxt", help="the network's description")
    one.add_argument("caffemodel", metavar="NET.caffemodel", help="its weights")
    one.add_argument("prefix", metavar="OUT-PREFIX", help="the beginning of both files' names")
    one.set_defaults(run=_convert_caffe)

    one = kinds.add_parser("onnx", help="an ONNX model")
    one.add_argument("model", metavar="NET.onnx", help="the model")
    one.add_argument("prefix", metavar="OUT-PREFIX", help="the beginning of both files' names")
    one.set_defaults(run=_convert_onnx)


def _convert_caffe(options: argparse.Namespace) -> None:
    # Brings in JAX; help must not wait.
    from hybridnet.contrib.caffe import import_caffe

    _save(options.prefix, *import_caffe(options.prototxt, options.caffemodel))


def _convert_onnx(options: argparse.Namespace) -> None:
    from hybridnet.onnx import import_model

    _save(options.prefix, *import_model(options.model))


def _save(prefix: str, symbol: Any, arguments: Any, states: Any) -> None:
    from hybridnet.model import save_checkpoint

    save_checkpoint(prefix, 0, symbol, arguments, states)
    data = [name for name in symbol.list_inputs() if name not in {**arguments, **states}]
    print(f"{prefix}-symbol.json\t{len(symbol.list_inputs())} variables, fed: {', '.join(data)}")
    size = os.path.getsize(f"{prefix}-0000.params")
    print(f"{prefix}-0000.params\t{len(arguments) + len(states)} arrays, {size} bytes")
