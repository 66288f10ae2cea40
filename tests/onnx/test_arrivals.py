"""Operators of ONNX that no exporter of ours writes so: onnxruntime says what they compute."""

import numpy as np
import onnx
import pytest
from onnx_models import close, run_model

from hybridnet import nd
from hybridnet.onnx import import_model

RNG = np.random.default_rng(0)


def floats(*shape):
    return RNG.normal(size=shape).astype("float32")


def ints(*numbers):
    return np.array(numbers, np.int64)


IMAGE = floats(1, 4, 5, 6)
SCALES = np.array([1, 1, 2, 2], "float32")
#: Name -> operator, data, weights by place ("" where one is left out), attributes.
CASES = {
    "same padding": ("Conv", IMAGE, [floats(2, 4, 3, 3)], {"auto_pad": "SAME_UPPER"}),
    "uneven padding": ("Conv", IMAGE, [floats(2, 4, 3, 3)], {"pads": [0, 1, 2, 0]}),
    "uneven max": ("MaxPool", IMAGE, [], {"kernel_shape": [2, 2], "pads": [0, 0, 1, 1]}),
    "rounded up": (
        "MaxPool", IMAGE, [],
        {"kernel_shape": [2, 2], "strides": [2, 2], "pads": [1, 1, 1, 1], "ceil_mode": 1},
    ),
    "uneven mean": (
        "AveragePool", IMAGE, [],
        {"kernel_shape": [2, 2], "pads": [0, 0, 1, 1], "count_include_pad": 1},
    ),
    "cubes": ("LpPool", IMAGE, [], {"kernel_shape": [2, 2], "p": 3}),
    "product": ("Gemm", floats(3, 2), [floats(3, 4), floats(1, 4)], {"transA": 1, "alpha": 0.5}),
    "matrices": ("MatMul", floats(2, 3, 4), [floats(4, 5)], {}),
    "batches": ("MatMul", floats(2, 3, 4), [floats(2, 4, 5)], {}),
    "flattened": ("Flatten", IMAGE, [], {"axis": 2}),
    "a row": ("Gather", IMAGE, [np.array(-1)], {"axis": 2}),
    "rows from the end": ("Gather", IMAGE, [ints(0, -1)], {"axis": 1}),
    "backward": ("Slice", IMAGE, [ints(-1), ints(-(2**40)), ints(3), ints(-2)], {}),
    "parts": ("Split", IMAGE, [ints(1, 3)], {"axis": 1}),
    "triangle": ("Trilu", floats(3, 4), [np.array(1)], {"upper": 0}),
    "scattered": ("ScatterND", floats(4, 2), [ints(2, 0).reshape(2, 1), floats(2, 2)], {}),
    "groups": ("GroupNormalization", IMAGE, [floats(4), floats(4)], {"num_groups": 2}),
    "two axes": ("LayerNormalization", IMAGE, [floats(5, 6), floats(5, 6)], {"axis": 2}),
    "hard swish": ("HardSwish", IMAGE, [], {}),
    "mish": ("Mish", IMAGE, [], {}),
    "near gelu": ("Gelu", IMAGE, [], {"approximate": "tanh"}),
    "slopes of places": ("PRelu", IMAGE, [floats(5, 1)], {}),
    "remainder": ("Mod", IMAGE, [np.full(1, 0.7, "float32")], {"fmod": 1}),
    "channels last": ("DepthToSpace", IMAGE, [], {"blocksize": 2, "mode": "CRD"}),
    "widened": ("Expand", floats(1, 1, 3), [ints(2, 2, 1)], {}),
    "doubled": (
        "Resize", IMAGE, ["", SCALES],
        {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"},
    ),
    "nearest": ("Resize", IMAGE, ["", "", ints(1, 4, 7, 4)], {"nearest_mode": "ceil"}),
    "linear": ("Resize", IMAGE, ["", SCALES], {"mode": "linear"}),
    "log of sum of exp": ("ReduceLogSumExp", IMAGE, [ints(1, -1)], {"keepdims": 0}),
    "nothing": ("ReduceSum", IMAGE, [ints()], {"noop_with_empty_axes": 1}),
    "backward in time": (
        "LSTM", floats(4, 2, 3), [floats(1, 8, 3), floats(1, 8, 2), floats(1, 16)],
        {"hidden_size": 2, "direction": "reverse"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_onnxruntime_computes_the_same(name, tmp_path):
    op, data, given, attrs = CASES[name]
    helper = onnx.helper
    outputs = ["y", "y_h", "y_c"] if op == "LSTM" else ["y", "z"] if op == "Split" else ["y"]
    places = [array if isinstance(array, str) else f"w{i}" for i, array in enumerate(given)]
    graph = helper.make_graph(
        [helper.make_node(op, ["x", *places], outputs, name="node", **attrs)],
        "test",
        [helper.make_tensor_value_info("x", 1, data.shape)],
        [helper.make_tensor_value_info(output, 1, None) for output in outputs],
        [
            onnx.numpy_helper.from_array(array, place)
            for place, array in zip(places, given, strict=True)
            if place
        ],
    )
    versions = [helper.make_opsetid("", 21)]
    onnx.save(helper.make_model(graph, opset_imports=versions, ir_version=10), tmp_path / "m.onnx")
    symbol, arguments, states = import_model(tmp_path / "m.onnx")
    got = [one.asnumpy() for one in symbol.eval(x=nd.array(data), **arguments, **states)]
    close(got, run_model(str(tmp_path / "m.onnx"), {"x": data}))
