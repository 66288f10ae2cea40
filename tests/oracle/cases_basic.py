"""Cases of the basic operators; see `case.py`."""

from __future__ import annotations

import functools
from typing import Any

from case import Cases
from case import given as _v
from case import random as _x

CASES = Cases("basic")
_case = CASES.add

_NONE: tuple[int, ...] = ()
_POINTS = _v(-2.5, -2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5)
_INTS = _v(-7, -3, -1, 0, 2, 5, dtype="int32")

# Functions of one array: where they are smooth, and at the points where they are not.
for _op, _low, _high in [
    *((op, -3.0, 3.0) for op in ("exp", "expm1", "sin", "cos", "tanh", "sinh", "cosh")),
    *((op, -3.0, 3.0) for op in ("arctan", "arcsinh", "degrees", "radians", "erf", "sigmoid")),
    *((op, -3.0, 3.0) for op in ("softsign", "square", "negative", "cbrt")),
    *((op, 0.1, 4.0) for op in ("sqrt", "rsqrt", "rcbrt", "reciprocal", "log", "log10", "log2")),
    ("tan", -1.2, 1.2),
    *((op, -0.9, 0.9) for op in ("arcsin", "arccos", "arctanh", "erfinv", "log1p")),
    ("arccosh", 1.2, 4.0),
    *((op, 0.3, 4.0) for op in ("gamma", "gammaln")),
]:
    _case(_op, _x(2, 5, low=_low, high=_high))
for _op in ("gamma", "gammaln"):
    _case(_op, _v(-0.5, -1.5, -2.3))
_case("reciprocal", _v(-2.0, -0.5, 4.0))
_case("exp", _x(3, dtype="float64"))
_case("tanh", _x(3, dtype="float16"))
for _op in ("abs", "sign", "rint", "ceil", "floor", "trunc", "fix", "round", "relu"):
    _case(_op, _POINTS)
for _op in ("logical_not", "zeros_like", "ones_like", "_copy", "BlockGrad"):
    _case(_op, _POINTS)
_case("hard_sigmoid", _v(-3.0, -2.0, 0.0, 2.0, 3.0))
for _op in ("abs", "sign", "negative", "square", "logical_not", "relu"):
    _case(_op, _INTS)
_case("hard_sigmoid", _x(3, low=-3, high=3), alpha=0.3, beta=0.4)
_case("smooth_l1", _POINTS, scalar=1.0)
_case("smooth_l1", _x(2, 3), scalar=2.0)
_case("clip", _POINTS, a_min=-1.5, a_max=1.0)
_case("clip", _INTS, a_min=-2, a_max=2)
_case("make_loss", _x(2, 3))
_case("MakeLoss", _x(2, 3), grad_scale=0.5)
_case("MakeLoss", _x(4, 3), normalization="batch")
_case("MakeLoss", _x(4, 3), normalization="valid", valid_thresh=0.2)
_case("Cast", _v(-2.7, -0.5, 0.5, 2.7), dtype="int32")
_case("Cast", _v(0.0, 1.0, -3.0), dtype="bool")
_case("Cast", _INTS, dtype="float16")
_case("Cast", _x(2, 2), dtype="float64")
_case("amp_cast", _x(2, 2), dtype="float16")

# Two arrays of one shape, and of shapes that broadcast.
_BASIC = {"add", "sub", "mul", "div"}
_COMPARISONS = ("equal", "not_equal", "greater", "greater_equal", "lesser", "lesser_equal")
_LOGICAL = ("logical_and", "logical_or", "logical_xor")
_SMOOTH = ("add", "sub", "mul", "div", "power", "hypot", "mod")
for _op in _SMOOTH:
    _same = f"elemwise_{_op}" if _op in _BASIC else f"_{_op}"
    _positive = functools.partial(_x, low=0.3, high=3.0)
    _case(_same, _positive(2, 3), _positive(2, 3))
    _case(f"broadcast_{_op}", _positive(2, 3, 1), _positive(1, 3, 4))
    _case(f"broadcast_{_op}", _positive(2, 1), _positive(2, 3))
for _op in ("maximum", "minimum"):
    _case(f"_{_op}", _v(0.0, 1.0, 2.0, -1.0), _v(0.0, 2.0, 1.0, -1.0))
    _case(f"broadcast_{_op}", _v([0.0], [1.0]), _v([0.0, 1.0, -1.0], [0.5, 1.0, 2.0]))
for _op in (*_COMPARISONS, *_LOGICAL):
    _case(f"_{_op}", _v(0.0, 1.0, 2.0, -1.0), _v(0.0, 2.0, 1.0, -1.0))
    _case(f"broadcast_{_op}", _v([0.0], [1.0]), _v([0.0, 1.0, -1.0], [0.5, 1.0, 2.0]))
    _case(f"broadcast_{_op}", _INTS, _v(-7, 3, 0, 0, 2, -5, dtype="int32"))
for _op in ("add", "sub", "mul"):
    _case(f"elemwise_{_op}", _x(2, 2, dtype="float64"), _x(2, 2, dtype="float64"))
    _case(f"broadcast_{_op}", _v(200, 100, dtype="uint8"), _v(100, 200, dtype="uint8"))
_SEVENS = (-7, 7, -7, 7, 6, 0)
_THREES = (3, -3, -3, 3, 3, 2)
for _op in ("broadcast_div", "broadcast_mod", "broadcast_maximum"):
    _case(_op, _v(*_SEVENS, dtype="int32"), _v(*_THREES, dtype="int32"))
_case("broadcast_mod", _v(*(7.5, -7.5, 7.5, -7.5, 0.0)), _v(*(2.0, 2.0, -2.0, -2.0, 3.0)))
_case("broadcast_power", _v(-2.0, 2.0, 0.5), _v(3.0, -1.0, 2.0), grads=[0])
_case("broadcast_power", _v(-2, 3, 2, dtype="int32"), _v(3, 2, 0, dtype="int32"))
_case("add_n", _x(2, 3), _x(2, 3), _x(2, 3))
_case("add_n", _x(2, 3))

# An array and a number.
for _op in ("plus", "minus", "rminus", "mul", "div", "rdiv", "power", "rpower", "hypot"):
    _case(f"_{_op}_scalar", _x(2, 3, low=0.3, high=2.0), scalar=1.7)
for _op in ("mod", "rmod"):
    _case(f"_{_op}_scalar", _v(2.3, -2.3, 7.1, -0.4), scalar=1.7)
    _case(f"_{_op}_scalar", _v(2.3, -2.3, 7.1, -0.4), scalar=-1.7)
for _op in ("maximum", "minimum", *_COMPARISONS, *_LOGICAL):
    _case(f"_{_op}_scalar", _POINTS, scalar=0.5)
for _op in ("plus", "minus", "rminus", "mul", "div", "mod", "maximum", "minimum", "greater"):
    _case(f"_{_op}_scalar", _INTS, scalar=2)
_case("_power_scalar", _POINTS, scalar=2.0)
_case("_power_scalar", _v(-2.0, -1.0, 1.0, 2.0), scalar=3.0)
_case("_power_scalar", _INTS, scalar=2)
_case("_plus_scalar", _v(250, 3, dtype="uint8"), scalar=10)
_case("_minus_scalar", _x(3, dtype="float16"), scalar=0.5)

# Reductions.
_CUBE = _x(2, 3, 4, low=0.4, high=2.0)
for _op in ("sum", "mean", "prod", "nansum", "nanprod", "max", "min"):
    _case(_op, _CUBE)
    _case(_op, _CUBE, axis=1)
    _case(_op, _CUBE, axis=(0, -1), keepdims=True)
    _case(_op, _CUBE, axis=-2, exclude=True)
for _op in ("sum", "mean", "max", "min", "prod"):
    _case(_op, _INTS)
for _op in ("nansum", "nanprod"):
    _case(_op, _v([1.0, float("nan"), 3.0], [2.0, 0.5, float("nan")]), axis=1)
for _op in ("max", "min"):
    _case(_op, _v([3.0, 3.0, 1.0], [1.0, 1.0, 2.0]), axis=1)
_case("norm", _CUBE)
_case("norm", _x(2, 3, 4), axis=1)
_case("norm", _x(2, 3, 4), ord=1, axis=2, keepdims=True)
_case("norm", _x(2, 3, 4), ord=2, axis=(0, 2))
for _op in ("argmax", "argmin"):
    _case(_op, _x(2, 3, 4), axis=1)
    _case(_op, _x(2, 3, 4), axis=-1, keepdims=True)
    _case(_op, _v(1.0, 3.0, 3.0, 1.0), axis=0)
    _case(_op, _x(2, 3))
_case("argmax_channel", _x(2, 5), grads=_NONE)
_case("_np_cumsum", _x(2, 3, 4), axis=1)
_case("_np_cumsum", _x(2, 3))
_case("moments", _x(2, 3, 4), axes=(0, 2), outputs=2)
_case("moments", _x(2, 3, 4), axes=(1,), keepdims=True, outputs=2)
_case("broadcast_to", _x(2, 1, 3), shape=(0, 4, 3))
_case("broadcast_axis", _x(1, 3, 1), axis=(0, 2), size=(2, 4))
_case("broadcast_like", _x(1, 3), _x(2, 3), grads=[0])
_case("broadcast_like", _x(2, 1), _x(5, 7, 4), grads=[0], lhs_axes=(1,), rhs_axes=(2,))

# Matrix products.
for _ta, _tb in ((False, False), (True, False), (False, True), (True, True)):
    _a, _b = ((3, 2) if _ta else (2, 3)), ((4, 3) if _tb else (3, 4))
    _case("dot", _x(*_a), _x(*_b), transpose_a=_ta, transpose_b=_tb)
    _case("batch_dot", _x(2, *_a), _x(2, *_b), transpose_a=_ta, transpose_b=_tb)
_case("dot", _x(4), _x(4))
_case("dot", _x(2, 3), _x(3))
_case("dot", _x(2, 3, 4), _x(4, 2))
_case("dot", _x(2, 3), _x(3, 2, 2))
_case("dot", _x(2, 3, dtype="float64"), _x(3, 2, dtype="float64"))
_case("FullyConnected", _x(2, 3), _x(4, 3), _x(4), num_hidden=4)
_case("FullyConnected", _x(2, 3, 2), _x(4, 6), num_hidden=4, no_bias=True)
_case("FullyConnected", _x(2, 3, 2), _x(4, 2), _x(4), num_hidden=4, flatten=False)

# Convolution and its transpose.
_IMAGE = _x(2, 4, 6, 5)
_case("Convolution", _IMAGE, _x(3, 4, 3, 3), _x(3), kernel=(3, 3), num_filter=3)
_case(
    "Convolution", _IMAGE, _x(3, 4, 2, 3), kernel=(2, 3), num_filter=3, no_bias=True,
    stride=(2, 1), pad=(1, 2),
)  # fmt: skip
_case(
    "Convolution", _IMAGE, _x(4, 2, 3, 2), _x(4), kernel=(3, 2), num_filter=4, num_group=2,
    stride=(1, 2), dilate=(1, 2), pad=(2, 0),
)  # fmt: skip
_case(
    "Convolution", _IMAGE, _x(8, 1, 3, 3), _x(8), kernel=(3, 3), num_filter=8, num_group=4,
    pad=(1, 1), stride=(2, 2), dilate=(2, 1),
)  # fmt: skip
_case("Convolution", _IMAGE, _x(5, 4, 1, 1), _x(5), kernel=(1, 1), num_filter=5)
_case("Convolution", _x(2, 3, 7), _x(4, 3, 3), _x(4), kernel=(3,), num_filter=4, stride=(2,),
      pad=(1,), dilate=(2,))  # fmt: skip
_case("Convolution", _x(1, 2, 4, 4, 3), _x(2, 2, 2, 2, 2), _x(2), kernel=(2, 2, 2), num_filter=2,
      stride=(2, 1, 1), pad=(0, 1, 0))  # fmt: skip
_SMALL = _x(2, 4, 3, 2)
_case("Deconvolution", _SMALL, _x(4, 3, 3, 3), kernel=(3, 3), num_filter=3)
_case("Deconvolution", _SMALL, _x(4, 3, 4, 4), _x(3), kernel=(4, 4), num_filter=3, no_bias=False,
      stride=(2, 2), pad=(1, 1))  # fmt: skip
_case("Deconvolution", _SMALL, _x(4, 2, 3, 2), kernel=(3, 2), num_filter=4, num_group=2,
      stride=(2, 3), pad=(1, 0), adj=(1, 2))  # fmt: skip
_case("Deconvolution", _x(2, 4, 3, 2, dtype="float64"), _x(4, 2, 3, 3, dtype="float64"),
      kernel=(3, 3), num_filter=2, stride=(2, 2), target_shape=(6, 4))  # fmt: skip
_case("Deconvolution", _SMALL, _x(4, 2, 2, 2), kernel=(2, 2), num_filter=2, dilate=(2, 2))
_case("Deconvolution", _x(2, 3, 4), _x(3, 2, 3), kernel=(3,), num_filter=2, stride=(2,), pad=(1,))

# Pooling.
_MAP = _x(2, 2, 5, 6)
for _pool in ("max", "avg", "sum"):
    _case("Pooling", _MAP, kernel=(2, 2), stride=(2, 2), pool_type=_pool)
    _case("Pooling", _MAP, kernel=(3, 2), pool_type=_pool)
    _case("Pooling", _MAP, kernel=(3, 3), stride=(2, 1), pad=(1, 1), pool_type=_pool)
    _case("Pooling", _MAP, kernel=(2, 3), stride=(2, 2), pool_type=_pool,
          pooling_convention="full")  # fmt: skip
    _case("Pooling", _MAP, global_pool=True, pool_type=_pool)
    _case("Pooling", _x(2, 2, 7), kernel=(3,), stride=(2,), pad=(1,), pool_type=_pool)
    _case("Pooling", _x(1, 2, 4, 3, 4), kernel=(2, 2, 2), stride=(2, 1, 2), pool_type=_pool)
_case("Pooling", _MAP, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="avg",
      count_include_pad=False)  # fmt: skip
_case("Pooling", _MAP, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="avg",
      count_include_pad=False, pooling_convention="full")  # fmt: skip
_case("Pooling", _MAP, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="avg",
      pooling_convention="full")  # fmt: skip
_case("Pooling", _v([[1.0, 1.0, 0.0, 2.0], [1.0, 1.0, 2.0, 2.0]]), kernel=(4,))
_case("Pooling", _v([[[1.0, 1.0], [1.0, 0.0]]]), kernel=(2, 2))
for _p in (1, 2, 3):
    _case("Pooling", _x(2, 2, 5, 6, low=0.2), kernel=(2, 2), stride=(2, 2), pool_type="lp",
          p_value=_p)  # fmt: skip
_case("Pooling", _MAP, global_pool=True, kernel=(2, 2), stride=(3, 3), pad=(1, 1), pool_type="avg")

# Activations and the softmax family.
for _act in ("relu", "sigmoid", "tanh", "softrelu", "softsign"):
    _case("Activation", _POINTS, act_type=_act)
for _act in ("leaky", "elu", "gelu"):
    _case("LeakyReLU", _POINTS, act_type=_act)
_case("LeakyReLU", _POINTS, act_type="selu", grads=_NONE)  # MXNet's gradient is wrong below 0
_case("LeakyReLU", _x(2, 3), act_type="leaky", slope=0.1)
_case("LeakyReLU", _x(2, 3), act_type="elu", slope=0.7)
_case("LeakyReLU", _x(2, 3, 2), _x(3), act_type="prelu")
_case("LeakyReLU", _x(2, 3), _x(1), act_type="prelu")
_case("LeakyReLU", _x(2, 3), act_type="rrelu", lower_bound=0.2, upper_bound=0.4, train=False,
      grads=_NONE)  # fmt: skip
for _op in ("softmax", "log_softmax", "softmin"):
    _case(_op, _x(2, 5, low=-3, high=3))
    _case(_op, _x(2, 3, 4, low=-3, high=3), axis=1)
    _case(_op, _x(2, 3, low=-3, high=3), axis=0, temperature=2.5)
_case("softmax", _x(2, 4), _v(2, 3, dtype="int32"), grads=[0], axis=1, use_length=True)
_case("softmax", _v(1000.0, 1001.0, -1000.0))
_case("softmax", _x(2, 3, dtype="float16"))
_case("SoftmaxActivation", _x(2, 5))
_case("SoftmaxActivation", _x(2, 3, 2), mode="channel")
_case("softmax_cross_entropy", _x(3, 4), _v(1.0, 3.0, 0.0), grads=[0])

# Loss layers: their gradients do not come from the head gradient.
_SCORES, _LABELS = _x(4, 3, low=-2, high=2), _v(2.0, 0.0, 1.0, 0.0)
_IGNORED = _v(2.0, -1.0, 1.0, -1.0)
_case("SoftmaxOutput", _SCORES, _LABELS)
_case("SoftmaxOutput", _SCORES, _LABELS, train=False, grads=_NONE)
_case("SoftmaxOutput", _SCORES, _LABELS, grad_scale=2.0, normalization="batch")
_case("SoftmaxOutput", _SCORES, _LABELS, normalization="valid")
_case("SoftmaxOutput", _SCORES, _IGNORED, use_ignore=True)
_case("SoftmaxOutput", _SCORES, _LABELS, use_ignore=True, ignore_label=0, normalization="valid")
_case("SoftmaxOutput", _SCORES, _IGNORED, use_ignore=True, normalization="batch")
_case("SoftmaxOutput", _SCORES, _LABELS, smooth_alpha=0.1)
_case("SoftmaxOutput", _SCORES, _IGNORED, smooth_alpha=0.2, use_ignore=True)
_case("SoftmaxOutput", _SCORES, _x(4, 3, low=0))
_PIXELS = _x(2, 3, 2, 2, low=-2, high=2)
_case("SoftmaxOutput", _PIXELS, _v([[0.0, 1.0], [2.0, 1.0]], [[1.0, 0.0], [0.0, 2.0]]),
      multi_output=True)  # fmt: skip
_PIXEL_LABELS = _v([[0.0, 1.0], [2.0, -1.0]], [[1.0, -1.0], [-1.0, 2.0]])
for _norm in ("null", "batch", "valid"):
    _case("SoftmaxOutput", _PIXELS, _PIXEL_LABELS, multi_output=True, use_ignore=True,
          normalization=_norm)  # fmt: skip
_case("SoftmaxOutput", _x(2, 3, 4), _v([0.0, 1.0, 3.0], [2.0, 2.0, 0.0]), preserve_shape=True)
for _op in ("LinearRegressionOutput", "LogisticRegressionOutput", "MAERegressionOutput"):
    _case(_op, _x(4, 3), _x(4, 3))
    _case(_op, _x(4, 2, 3), _x(4, 2, 3), grad_scale=3.0)
    _case(_op, _x(4, 1), _x(4))

# Normalization.
for _shape in ((4, 3), (2, 3, 4), (2, 3, 2, 4)):
    _channels = [_x(3, low=0.5, high=2), _x(3), _x(3), _x(3, low=0.5, high=2)]
    _bn = (_x(*_shape), *_channels)
    _case("BatchNorm", *_bn, fix_gamma=False, grads=[0, 1, 2], after=[3, 4])
    _case("BatchNorm", *_bn, momentum=0.7, eps=1e-5, grads=[0, 1, 2], after=[3, 4])
    _case("BatchNorm", *_bn, fix_gamma=False, train=False, grads=_NONE, after=[3, 4])
    _case("BatchNorm", *_bn, fix_gamma=False, use_global_stats=True, grads=[0, 1, 2], after=[3, 4])
_case("BatchNorm", *_bn, fix_gamma=False, output_mean_var=True, grads=[0, 1, 2], after=[3, 4])
_last = [_x(4, low=0.5, high=2), _x(4), _x(4), _x(4, low=0.5, high=2)]
_case("BatchNorm", _bn[0], *_last, fix_gamma=False, axis=-1, grads=[0, 1, 2], after=[3, 4])
_case("LayerNorm", _x(2, 3, 4), _x(4), _x(4))
_case("LayerNorm", _x(2, 3, 4), _x(3), _x(3), axis=1, eps=1e-3)
_case("LayerNorm", _x(2, 3), _x(3), _x(3), output_mean_var=True)
_case("InstanceNorm", _x(2, 3, 4), _x(3), _x(3))
_case("InstanceNorm", _x(2, 3, 2, 2), _x(3), _x(3), eps=0.1)
_case("GroupNorm", _x(2, 4, 3), _x(2), _x(2), num_groups=2)
for _mode in ("instance", "channel", "spatial"):
    _case("L2Normalization", _x(2, 3, 4), mode=_mode)
_case("LRN", _x(1, 5, 2, 2, low=0.5, high=2), nsize=3, alpha=0.1, beta=0.5, knorm=1.0)
_case("Dropout", _x(2, 3), p=0.5, train=False)
_case("Dropout", _x(2, 3), p=0.0)

# Shapes.
_DATA = _x(2, 3, 4)
_SHAPES = ((4, 0, 2), (-1,), (0, -1), (-2, 1), (-3, 0), (0, -3))
_SPLITS = ((-4, 1, 2, -2), (2, -4, -1, 3, 4), (0, -4, 3, -1, 0))
for _new in (*_SHAPES, *_SPLITS):
    _case("Reshape", _DATA, shape=_new)
_case("Reshape", _DATA, shape=(0, -1), reverse=True)
_case("Reshape", _x(6, 5, 4), shape=(-1, 0), reverse=True, grads=_NONE)
_case("Reshape", _x(2, 3, 4, 2), shape=(-3, -3))
_case("Flatten", _DATA)
_case("Flatten", _x(3))
_case("expand_dims", _DATA, axis=0)
_case("expand_dims", _DATA, axis=-1)
_case("squeeze", _x(1, 3, 1, 2))
_case("squeeze", _x(1, 3, 1, 2), axis=-2)
_case("squeeze", _x(1, 3, 1, 2), axis=(0, 2))
_case("reshape_like", _x(2, 6), _x(3, 4), grads=[0])
_case("reshape_like", _x(6, 4), _x(2, 3, 5), grads=[0], lhs_begin=0, lhs_end=1, rhs_begin=0,
      rhs_end=2)  # fmt: skip
_case("shape_array", _DATA, grads=_NONE)
_case("size_array", _DATA, grads=_NONE)
_case("transpose", _DATA)
_case("transpose", _DATA, axes=(1, 2, 0))
_case("SwapAxis", _DATA, dim1=0, dim2=2)
_case("reverse", _DATA, axis=(0, 2))
_case("reverse", _DATA, axis=1)
_case("tile", _x(2, 3), reps=(2, 1, 2))
_case("tile", _DATA, reps=(2,))
_case("repeat", _x(2, 3), repeats=2)
_case("repeat", _x(2, 3), repeats=2, axis=-1)
_case("diag", _x(3))
_case("diag", _x(3, 4), k=1)
_case("diag", _DATA, axis1=0, axis2=2, k=-1)
_case("depth_to_space", _x(1, 8, 2, 3), block_size=2)
_case("space_to_depth", _x(1, 2, 4, 6), block_size=2)
_case("slice", _DATA, begin=(0, 1), end=(2, 3))
_case("slice", _DATA, begin=(None, -2), end=(None, None))
_case("slice", _DATA, begin=(None, None, None), end=(None, None, 0), step=(1, -1, -2))
_case("slice", _DATA, begin=(1, 0, -1), end=(9, 3, None), step=(1, 2, -1))
_case("slice_axis", _DATA, axis=1, begin=1, end=None)
_case("slice_axis", _DATA, axis=-1, begin=-3, end=-1)
_case("slice_like", _DATA, _x(1, 2, 3), grads=[0])
_case("slice_like", _DATA, _x(1, 2), grads=[0], axes=(0, -2))
_case("Concat", _x(2, 1), _x(2, 3), dim=1)
_case("Concat", _DATA, _DATA, _DATA, dim=-1)
_case("Concat", _x(2, 3), _x(1, 3), dim=0)
_case("stack", _x(2, 3), _x(2, 3), axis=0)
_case("stack", _x(2, 3), _x(2, 3), _x(2, 3), axis=-1)
_case("SliceChannel", _x(2, 4, 3), num_outputs=2, outputs=2)
_case("SliceChannel", _DATA, num_outputs=3, axis=1, squeeze_axis=True, outputs=3)
_case("SliceChannel", _DATA, num_outputs=2, axis=-1, outputs=2)
_case("_split_v2", _x(2, 6), indices=(0, 1, 4), axis=1, outputs=3)
_case("_split_v2", _x(2, 6), indices=(), axis=1, sections=3, outputs=3)
_PAD = (0, 0, 0, 0, 1, 2, 2, 1)
_case("Pad", _x(2, 2, 3, 3), mode="constant", pad_width=_PAD, constant_value=0.5)
_case("Pad", _x(2, 2, 3, 3), mode="edge", pad_width=_PAD)
_case("Pad", _x(2, 2, 3, 3), mode="reflect", pad_width=_PAD)
_case("Pad", _x(1, 1, 2, 2, 2), mode="edge", pad_width=(0, 0, 0, 0, 1, 0, 0, 1, 1, 1))

# Indexing.
_WIDE = _v(-5.0, -1.0, 0.0, 1.0, 7.0)
for _mode in ("clip", "wrap"):
    _case("take", _x(3, 2), _WIDE, grads=[0], mode=_mode)
    _case("take", _DATA, _v([1.0, 0.0], [5.0, -1.0]), grads=[0], axis=1, mode=_mode)
_case("take", _DATA, _v(0, 0, 1, dtype="int32"), grads=[0], axis=-1)
_case("batch_take", _x(3, 4), _v(1, 0, 3, dtype="int32"), grads=_NONE)
_case("pick", _x(2, 3), _v(2.0, 0.0), grads=[0])
_case("pick", _x(2, 3), _v(5.0, -2.0), grads=[0])
_case("pick", _x(2, 3), _v(5.0, -2.0), grads=[0], mode="wrap")
_case("pick", _DATA, _x(2, 1, 4, low=0, high=3, dtype="int32"), grads=[0], axis=1, keepdims=True)
_case("one_hot", _v(0.0, 2.0, -1.0, 3.0), depth=3, grads=_NONE)
_case("one_hot", _v([1, 0], [2, 2], dtype="int32"), depth=3, on_value=5.0, off_value=-1.0)
_case("one_hot", _v(1.0, 0.0), depth=2, dtype="int32", grads=_NONE)
_case("where", _v([1.0, 0.0], [0.0, -2.0]), _x(2, 2), _x(2, 2), grads=[1, 2])
_case("where", _v(1.0, 0.0), _x(2, 3), _x(2, 3), grads=[1, 2])
_case("where", _v([1, 0], [0, 1], dtype="int32"), _x(2, 2), _x(2, 2))
_case("gather_nd", _x(2, 3, 4), _v([0.0, 1.0, 0.0], [2.0, 0.0, 2.0]), grads=[0])
_case("gather_nd", _x(2, 3), _v([0, 1], [1, 2], dtype="int32"))
_case("scatter_nd", _x(2), _v([0.0, 1.0], [2.0, 0.0]), grads=[0], shape=(2, 3))
_case("Embedding", _v([0.0, 2.0], [2.0, 1.0]), _x(3, 4), grads=[1], input_dim=3, output_dim=4)
_case("Embedding", _v(-3, 9, 1, dtype="int32"), _x(3, 4), grads=[1], input_dim=3, output_dim=4)
_case("_ravel_multi_index", _v([1.0, 0.0], [2.0, 3.0]), shape=(2, 4), grads=_NONE)
_case("_unravel_index", _v(6.0, 3.0), shape=(2, 4), grads=_NONE)
_case("sort", _x(2, 5), axis=1, grads=_NONE)
_case("sort", _x(2, 5), axis=0, is_ascend=False, grads=_NONE)
_case("argsort", _x(2, 5), grads=_NONE)
_case("argsort", _x(2, 5), is_ascend=False, dtype="int32", grads=_NONE)
_case("topk", _x(2, 5), k=2, grads=_NONE)
_case("topk", _x(2, 5), k=2, ret_typ="value")
_case("topk", _x(2, 5), k=3, ret_typ="both", is_ascend=True, dtype="int32", axis=-1)
_case("topk", _x(2, 5), k=2, ret_typ="mask", grads=_NONE)
_case("topk", _x(3, 2), k=2, axis=0, ret_typ="value")

# Creation.
_case("_arange", start=1.0, stop=9.0, step=2.5, repeat=2, dtype="float32")
_case("_arange", start=5.0, dtype="int32")
_case("_eye", N=2, M=4, k=1)
_case("_linspace", start=1.0, stop=2.0, num=5, endpoint=False)

# Optimizer updates: the new weight, and the state afterwards.
_W, _G, _S = _x(2, 3), _x(2, 3, low=-3, high=3), _x(2, 3, low=0.1)
for _extra in ({}, {"wd": 0.1}, {"wd": 0.1, "rescale_grad": 0.5, "clip_gradient": 0.4}):
    _common: dict[str, Any] = {"lr": 0.1, "grads": _NONE, **_extra}
    _case("sgd_update", _W, _G, **_common)
    _case("sgd_mom_update", _W, _G, _S, after=[2], momentum=0.9, **_common)
    _case("nag_mom_update", _W, _G, _S, after=[2], momentum=0.9, **_common)
    _case("adam_update", _W, _G, _S, _S, after=[2, 3], beta1=0.8, beta2=0.95, **_common)
    _case("signsgd_update", _W, _G, **_common)
    _case("signum_update", _W, _G, _S, after=[2], momentum=0.9, wd_lh=0.01, **_common)
    _case("rmsprop_update", _W, _G, _S, after=[2], gamma1=0.9, **_common)
    _case("rmspropalex_update", _W, _G, _S, _x(2, 3, low=0, high=0.1), _S, after=[2, 3, 4],
          gamma1=0.9, gamma2=0.8, **_common)  # fmt: skip
    _case("ftrl_update", _W, _G, _S, _S, after=[2, 3], lamda1=0.05, beta=0.5, **_common)
_HALF, _HALF_GRAD = _x(2, 3, dtype="float16"), _x(2, 3, dtype="float16")
_case("mp_sgd_update", _HALF, _HALF_GRAD, _W, lr=0.1, wd=0.1, grads=_NONE, after=[2])
_case("mp_sgd_mom_update", _HALF, _HALF_GRAD, _S, _W, lr=0.1, momentum=0.9, wd=0.1, grads=_NONE,
      after=[2, 3])  # fmt: skip
_case("ftml_update", _W, _G, _S, _S, _S, lr=0.1, t=3, wd=0.1, grads=_NONE, after=[2, 3, 4])
_case("lamb_update_phase1", _W, _G, _S, _S, t=3, wd=0.1, grads=_NONE, after=[2, 3])
_case("lamb_update_phase2", _W, _G, _v(1.5), _v(0.5), lr=0.1, grads=_NONE)
_case("multi_sgd_update", _W, _G, _W, _G, lrs=(0.1, 0.2), wds=(0.0, 0.1), num_weights=2,
      grads=_NONE)  # fmt: skip
_case("multi_sgd_mom_update", _W, _G, _S, _W, _G, _S, lrs=(0.1, 0.2), wds=(0.0, 0.1),
      momentum=0.9, num_weights=2, grads=_NONE, after=[2, 5])  # fmt: skip
