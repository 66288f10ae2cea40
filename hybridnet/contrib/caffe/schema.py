"""The messages of Caffe's files that are read here: names, numbers and defaults of their fields.

Descriptors are made from these tables when the first file is read. Fields that are not listed,
which only solvers and data layers have, are passed over in text and binary files alike.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from hybridnet.base.lazy import protobuf

#: Enumeration -> values by name.
_ENUMS: Final[dict[str, dict[str, int]]] = {
    "Phase": {"TRAIN": 0, "TEST": 1},
    "PoolMethod": {"MAX": 0, "AVE": 1, "STOCHASTIC": 2},
    "RoundMode": {"CEIL": 0, "FLOOR": 1},
    "NormRegion": {"ACROSS_CHANNELS": 0, "WITHIN_CHANNEL": 1},
    "EltwiseOp": {"PROD": 0, "SUM": 1, "MAX": 2},
    "ReductionOp": {"SUM": 1, "ASUM": 2, "SUMSQ": 3, "MEAN": 4},
    "Normalization": {"FULL": 0, "VALID": 1, "BATCH_SIZE": 2, "NONE": 3},
    "LayerType": {
        "NONE": 0, "ACCURACY": 1, "BNLL": 2, "CONCAT": 3, "CONVOLUTION": 4, "DATA": 5,
        "DROPOUT": 6, "EUCLIDEAN_LOSS": 7, "FLATTEN": 8, "HDF5_DATA": 9, "HDF5_OUTPUT": 10,
        "IM2COL": 11, "IMAGE_DATA": 12, "INFOGAIN_LOSS": 13, "INNER_PRODUCT": 14, "LRN": 15,
        "MULTINOMIAL_LOGISTIC_LOSS": 16, "POOLING": 17, "RELU": 18, "SIGMOID": 19, "SOFTMAX": 20,
        "SOFTMAX_LOSS": 21, "SPLIT": 22, "TANH": 23, "WINDOW_DATA": 24, "ELTWISE": 25, "POWER": 26,
        "SIGMOID_CROSS_ENTROPY_LOSS": 27, "HINGE_LOSS": 28, "MEMORY_DATA": 29, "ARGMAX": 30,
        "THRESHOLD": 31, "DUMMY_DATA": 32, "SLICE": 33, "MVN": 34, "ABSVAL": 35, "SILENCE": 36,
        "CONTRASTIVE_LOSS": 37, "EXP": 38, "DECONVOLUTION": 39,
    },
}  # fmt: skip

#: What the old enumeration calls a layer -> its name today; others differ in capitals alone.
LAYER_TYPES: Final = {
    "ABSVAL": "AbsVal", "ACCURACY": "Accuracy", "ARGMAX": "ArgMax", "BNLL": "BNLL",
    "CONCAT": "Concat", "CONVOLUTION": "Convolution", "DATA": "Data",
    "DECONVOLUTION": "Deconvolution", "DROPOUT": "Dropout", "DUMMY_DATA": "DummyData",
    "ELTWISE": "Eltwise", "EUCLIDEAN_LOSS": "EuclideanLoss", "EXP": "Exp", "FLATTEN": "Flatten",
    "HDF5_DATA": "HDF5Data", "HINGE_LOSS": "HingeLoss", "IMAGE_DATA": "ImageData",
    "INNER_PRODUCT": "InnerProduct", "LRN": "LRN", "MEMORY_DATA": "MemoryData",
    "POOLING": "Pooling", "POWER": "Power", "RELU": "ReLU", "SIGMOID": "Sigmoid",
    "SIGMOID_CROSS_ENTROPY_LOSS": "SigmoidCrossEntropyLoss", "SILENCE": "Silence",
    "SLICE": "Slice", "SOFTMAX": "Softmax", "SOFTMAX_LOSS": "SoftmaxWithLoss", "SPLIT": "Split",
    "TANH": "TanH", "WINDOW_DATA": "WindowData",
}  # fmt: skip

_PARAMETERS: Final = {  # parameters of layers: field -> message, number now, number in the old form
    "argmax_param": ("ArgMaxParameter", 103, 23),
    "batch_norm_param": ("BatchNormParameter", 139, 0),
    "bias_param": ("BiasParameter", 141, 0),
    "concat_param": ("ConcatParameter", 104, 9),
    "convolution_param": ("ConvolutionParameter", 106, 10),
    "crop_param": ("CropParameter", 144, 0),
    "dropout_param": ("DropoutParameter", 108, 12),
    "eltwise_param": ("EltwiseParameter", 110, 24),
    "elu_param": ("ELUParameter", 140, 0),
    "exp_param": ("ExpParameter", 111, 41),
    "flatten_param": ("FlattenParameter", 135, 0),
    "inner_product_param": ("InnerProductParameter", 117, 17),
    "input_param": ("InputParameter", 143, 0),
    "log_param": ("LogParameter", 134, 0),
    "loss_param": ("LossParameter", 101, 42),
    "lrn_param": ("LRNParameter", 118, 18),
    "permute_param": ("PermuteParameter", 202, 0),
    "pooling_param": ("PoolingParameter", 121, 19),
    "power_param": ("PowerParameter", 122, 21),
    "prelu_param": ("PReLUParameter", 131, 0),
    "reduction_param": ("ReductionParameter", 136, 0),
    "relu_param": ("ReLUParameter", 123, 30),
    "reshape_param": ("ReshapeParameter", 133, 0),
    "scale_param": ("ScaleParameter", 142, 0),
    "slice_param": ("SliceParameter", 126, 31),
    "softmax_param": ("SoftmaxParameter", 125, 39),
    "tile_param": ("TileParameter", 138, 0),
}

#: Message -> its fields: name, number, type (a star: any number of them), default.
_MESSAGES: Final[dict[str, str]] = {
    "BlobShape": "dim 1 int64*",
    "BlobProto": """shape 7 BlobShape; data 5 float*; diff 6 float*; double_data 8 double*;
        double_diff 9 double*; num 1 int64; channels 2 int64; height 3 int64; width 4 int64""",
    "NetStateRule": """phase 1 Phase; min_level 2 int64; max_level 3 int64; stage 4 string*;
        not_stage 5 string*""",
    "LayerParameter": """name 1 string; type 2 string; bottom 3 string*; top 4 string*;
        blobs 7 BlobProto*; include 8 NetStateRule*; exclude 9 NetStateRule*; """
    + "; ".join(f"{name} {number} {kind}" for name, (kind, number, _) in _PARAMETERS.items()),
    "V1LayerParameter": """bottom 2 string*; top 3 string*; name 4 string; type 5 LayerType;
        blobs 6 BlobProto*; include 32 NetStateRule*; exclude 33 NetStateRule*; """
    + "; ".join(f"{name} {old} {kind}" for name, (kind, _, old) in _PARAMETERS.items() if old),
    "NetParameter": """name 1 string; layers 2 V1LayerParameter*; input 3 string*;
        input_dim 4 int64*; input_shape 8 BlobShape*; layer 100 LayerParameter*""",
    "ArgMaxParameter": "out_max_val 1 bool; top_k 2 uint64 1; axis 3 int64",
    "BatchNormParameter": """use_global_stats 1 bool; moving_average_fraction 2 float 0.999;
        eps 3 float 1e-5""",
    "BiasParameter": "axis 1 int64 1; num_axes 2 int64 1",
    "ConcatParameter": "axis 2 int64 1; concat_dim 1 uint64 1",
    "ConvolutionParameter": """num_output 1 uint64; bias_term 2 bool true; pad 3 uint64*;
        kernel_size 4 uint64*; group 5 uint64 1; stride 6 uint64*; pad_h 9 uint64 0;
        pad_w 10 uint64 0; kernel_h 11 uint64; kernel_w 12 uint64; stride_h 13 uint64;
        stride_w 14 uint64; axis 16 int64 1; dilation 18 uint64*""",
    "CropParameter": "axis 1 int64 2; offset 2 uint64*",
    "DropoutParameter": "dropout_ratio 1 float 0.5",
    "EltwiseParameter": "operation 1 EltwiseOp SUM; coeff 2 float*",
    "ELUParameter": "alpha 1 float 1",
    "ExpParameter": "base 1 float -1; scale 2 float 1; shift 3 float 0",
    "FlattenParameter": "axis 1 int64 1; end_axis 2 int64 -1",
    "InnerProductParameter": """num_output 1 uint64; bias_term 2 bool true; axis 5 int64 1;
        transpose 6 bool false""",
    "InputParameter": "shape 1 BlobShape*",
    "LogParameter": "base 1 float -1; scale 2 float 1; shift 3 float 0",
    "LossParameter": "ignore_label 1 int64; normalize 2 bool; normalization 3 Normalization VALID",
    "LRNParameter": """local_size 1 uint64 5; alpha 2 float 1; beta 3 float 0.75;
        norm_region 4 NormRegion ACROSS_CHANNELS; k 5 float 1""",
    "PermuteParameter": "order 1 uint64*",
    "PoolingParameter": """pool 1 PoolMethod MAX; kernel_size 2 uint64; stride 3 uint64 1;
        pad 4 uint64 0; kernel_h 5 uint64; kernel_w 6 uint64; stride_h 7 uint64; stride_w 8 uint64;
        pad_h 9 uint64 0; pad_w 10 uint64 0; global_pooling 12 bool false;
        round_mode 13 RoundMode CEIL""",
    "PowerParameter": "power 1 float 1; scale 2 float 1; shift 3 float 0",
    "PReLUParameter": "channel_shared 2 bool false",
    "ReductionParameter": "operation 1 ReductionOp SUM; axis 2 int64 0; coeff 3 float 1",
    "ReLUParameter": "negative_slope 1 float 0",
    "ReshapeParameter": "shape 1 BlobShape; axis 2 int64 0; num_axes 3 int64 -1",
    "ScaleParameter": "axis 1 int64 1; num_axes 2 int64 1; bias_term 4 bool false",
    "SliceParameter": "slice_dim 1 uint64 1; slice_point 2 uint64*; axis 3 int64 1",
    "SoftmaxParameter": "axis 2 int64 1",
    "TileParameter": "axis 1 int64 1; tiles 2 int64",
}


@cache
def net_message() -> Any:
    """Returns the class of the message that a network is.

    Raises:
        ModuleNotFoundError: the package protobuf is missing.
    """
    file = protobuf.descriptor_pb2.FileDescriptorProto(
        name="hybridnet_caffe.proto", package="caffe", syntax="proto2"
    )
    for name, values in _ENUMS.items():
        # Values share the names of what an enumeration lies in: each lies in one of its own.
        enum = file.message_type.add(name=_scope(name)).enum_type.add(name=name)
        for key, number in values.items():
            enum.value.add(name=key, number=number)
    for name, rows in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for row in rows.split(";"):
            _add_field(message, row.split())
    pool = protobuf.descriptor_pool.DescriptorPool()
    pool.Add(file)
    found = pool.FindMessageTypeByName("caffe.NetParameter")
    return protobuf.message_factory.GetMessageClass(found)


def _add_field(message: Any, row: list[str]) -> None:
    kinds = protobuf.descriptor_pb2.FieldDescriptorProto
    name, number, kind, *default = row
    field = message.field.add(name=name, number=int(number))
    field.label = kinds.LABEL_REPEATED if kind.endswith("*") else kinds.LABEL_OPTIONAL
    kind = kind.removesuffix("*")
    if kind[0].islower():
        field.type = getattr(kinds, f"TYPE_{kind.upper()}")
    else:
        is_enum = kind in _ENUMS
        field.type = kinds.TYPE_ENUM if is_enum else kinds.TYPE_MESSAGE
        field.type_name = f".caffe.{_scope(kind)}.{kind}" if is_enum else f".caffe.{kind}"
    if default:
        (field.default_value,) = default


def _scope(enumeration: str) -> str:
    return f"Of{enumeration}"
