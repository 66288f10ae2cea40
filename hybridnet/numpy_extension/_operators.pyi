# Written by `python -m hybridnet.stubs`, which overwrites what is changed here.

from typing import Any, Literal, overload

from hybridnet.base.array_types import DTypeLike, Places, Real, Reals, Sizes, Switch, Whole
from hybridnet.base.context import Context
from hybridnet.numpy.multiarray import ndarray
from hybridnet.numpy.operands import ArrayLike

def activation(
    data: ArrayLike,
    act_type: Literal["relu", "sigmoid", "softrelu", "softsign", "tanh"] | str,
    *,
    out: ndarray | Any = None,
    name: str | Any = None,
) -> ndarray:
    """Applies an activation function to each element.

    Args:
        data: any shape.
        act_type: 'relu' ``max(x, 0)``, 'sigmoid' ``1 / (1 + exp(-x))``, 'tanh',
            'softrelu' ``log(1 + exp(x))``, or 'softsign' ``x / (1 + |x|)``.

    Returns:
        The shape and dtype of `data`.
    """

@overload
def arange_like(
    data: ArrayLike,
    start: Real = 0.0,
    step: Real = 1.0,
    repeat: Whole = 1,
    ctx: str | Context = "",
    axis: Whole | None = None,
    *,
    out: ndarray | Any = None,
    name: str | Any = None,
) -> ndarray:
    """Counts ``start, start + step, ...`` for as many elements as an array has.

    (MXNet 1.9.1 loses a fraction of `step` in float16.)

    Args:
        data: any shape of 1 dimension or more; its values do not matter.
        start: the first number.
        step: from one number to the next.
        repeat: how often each number stands in a row.
        ctx: without meaning: the result is where `data` is. Read for MXNet's sake.
        axis: count for the length of this axis alone; None for all elements, in row order.

    Returns:
        The shape of `data`, or (data.shape[axis],); the dtype of `data`.
    """

@overload
def arange_like(data: ArrayLike, *, _unpacked: object, **options: object) -> ndarray: ...
@overload
def batch_dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    *,
    transpose_a: Switch = False,
    transpose_b: Switch = False,
    forward_stype: Literal["default", "csr", "row_sparse"] | str | None = None,
    out: ndarray | Any = None,
    name: str | Any = None,
) -> ndarray:
    """Matrix products of two batches of matrices, (batch, n, k) and (batch, k, m).

    Args:
        lhs: matrices with any number of batch dimensions in front.
        rhs: as many matrices.
        transpose_a: transpose the matrices of `lhs` first.
        transpose_b: transpose the matrices of `rhs` first.
        forward_stype: the storage of the result in MXNet; results here are always dense.
    """

@overload
def batch_dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    transpose_a: Switch = False,
    transpose_b: Switch = False,
    forward_stype: Literal["default", "csr", "row_sparse"] | str | None = None,
    *,
    out: ndarray | Any = None,
    name: str | Any = None,
) -> ndarray: ...
@overload
def batch_dot(
    lhs: ArrayLike, rhs: ArrayLike, *, _unpacked: object, **options: object
) -> ndarray: ...
def batch_flatten(data: ArrayLike, *, out: ndarray | Any = None, name: str | Any = None) -> ndarray:
    """All dimensions but the first joined into one: (batch, ...) becomes (batch, features).

    Args:
        data: an array of any shape.
    """

@overload
def batch_norm(
    data: ArrayLike,
    gamma: ArrayLike,
    beta: ArrayLike,
    moving_mean: ArrayLike,
    moving_var: ArrayLike,
    *,
    eps: Real = 0.001,
    momentum: Real = 0.9,
    fix_gamma: Switch = True,
    use_global_stats: Switch = False,
    output_mean_var: Switch = False,
    axis: Whole = 1,
    cudnn_off: Switch = False,
    min_calib_range: Real | None = None,
    max_calib_range: Real | None = None,
    out: ndarray | Any = None,
    name: str | Any = None,
) -> Any:
    """Normalizes each channel: ``gamma * (data - mean) / sqrt(var + eps) + beta``.

    Ioffe and Szegedy, "Batch normalization", 2015. In training the mean and the biased variance
    are those of the batch, and the moving ones become
    ``momentum * moving + (1 - momentum) * batch``; otherwise they are the moving ones.

    Args:
        data: any shape with channels on `axis`, floating point.
        gamma: (channels,), the scale; float32 where `data` is narrower, like all that follow.
        beta: (channels,), the offset.
        moving_mean: (channels,), moved in training by the backward pass.
        moving_var: (channels,), likewise.
        eps: keeps the root from zero.
        momentum: of the moving statistics.
        fix_gamma: take gamma as 1, without a gradient.
        use_global_stats: use the moving statistics in training too.
        output_mean_var: show the statistics as well.
        axis: the channels.
        cudnn_off: without meaning here, like the calibration ranges; read for MXNet's sake.
        min_calib_range: see `cudnn_off`.
        max_calib_range: see `cudnn_off`.

    Returns:
        The shape and dtype of `data`; with `output_mean_var` also the mean and, as in MXNet,
        ``1 / sqrt(var + eps)``, both (channels,).
    """

@overload
def batch_norm(
    data: ArrayLike,
    gamma: ArrayLike,
    beta: ArrayLike,
    moving_mean: ArrayLike,
    moving_var: ArrayLike,
    eps: Real = 0.001,
    momentum: Real = 0.9,
    fix_gamma: Switch = True,
    use_global_stats: Switch = False,
    output_mean_var: Switch = False,
    axis: Whole = 1,
    cudnn_off: Switch = False,
    min_calib_range: Real | None = None,
    max_calib_range: Real | None = None,
    *,
    out: ndarray | Any = None,
    name: str | Any = None,
) -> Any: ...
@overload
def batch_norm(
    data: ArrayLike,
    gamma: ArrayLike,
    beta: ArrayLike,
    moving_mean: ArrayLike,
    moving_var: ArrayLike,
    *,
    _unpacked: object,
    **options: object,
) -> Any: ...
def cast(
    data: ArrayLike, dtype: DTypeLike, *, out: ndarray | Any = None, name: str | Any = None
) -> ndarray:
    """Converts the elements to another dtype, as C does: floats are truncated, integers wrap.

    Args:
        data: an array of any shape.
        dtype: of the result.
    """

@overload
def convolution(
    data: ArrayLike,
    weight: ArrayLike,
    bias: ArrayLike | Any = None,
    *,
    kernel: Sizes,
    stride: Sizes = (),
    dilate: Sizes = (),
    pad: Sizes = (),
    num_filter: Whole,
    num_group: Whole = 1,
    workspace: Whole = 1024,
    no_bias: Switch = False,
    cudnn_tune: Literal["fastest", "limited_workspace", "off"] | str | None = None,
    cudnn_off: Switch = False,
    layout: Literal["NCW", "NCHW", "NCDHW", "NWC", "NHWC", "NDHWC"] | str | None = None,
    out: ndarray | Any = None,
    name: str | Any = None,
) -> ndarray:
    """Slides filters over 1, 2 or 3 spatial axes (and, like every framework, does not flip them).

    Args:
        data: (batch, channel, *spatial), or (batch, *spatial, channel) by `layout`.
        weight: (num_filter, channel / num_group, *kernel), or
            (num_filter, *kernel, channel / num_group).
        bias: (num_filter,); not taken with no_bias=True.
        kernel: the window's size along each spatial axis.
        stride: the distance of two windows, default 1 everywhere.
        dilate: the distance of two taps of a window, default 1 everywhere.
        pad: the zeros added on both sides of each axis, default 0.
        num_filter: how many channels the output has.
        num_group: how many groups of channels there are, each with its own filters.
        workspace: without meaning here, like `cudnn_tune` and `cudnn_off`; read for MXNet's sake.
        no_bias: leave the bias out.
        cudnn_tune: see `workspace`.
        cudnn_off: see `workspace`.
        layout: NCW, NCHW or NCDHW (the defaults), or NWC, NHWC or NDHWC.

    Returns:
        (batch, num_filter, *output) in the layout and dtype of `data`, where an output size is
        ``(size + 2 * pad - dilate * (kernel - 1) - 1) // stride + 1``.
    """

@overload
def convolution(
    data: ArrayLike,
    weight: ArrayLike,
    bias: ArrayLike | Any,
    kernel: Sizes,
    stride: Sizes = (),
    dilate: Sizes = (),
    pad: Sizes = (),
    *,
    num_filter: Whole,
    num_group: Whole = 1,
    workspace: Whole = 1024,
    no_bias: Switch = False,
    cudnn_tune: Literal["fastest", "limited_workspace", "off"] | str | None = None,
    cudnn_off: Switch = False,
    layout: Literal["NCW", "NCHW", "NCDHW", "NWC", "NHWC", "NDHWC"] | str | None = None,
    out: ndarray | Any = None,
    name: str | Any = None,
) -> ndarray: ...
@overload
def convolution(
    data: ArrayLike,
    weight: ArrayLike,
    bias: ArrayLike | Any,
    kernel: Sizes,
    stride: Sizes,
    dilate: Sizes,
    pad: Sizes,
    num_filter: Whole,
    num_group: Whole = 1,
    workspace: Whole = 1024,
    no_bias: Switch = False,
    cudnn_tune: Literal["fastest", "limited_workspace", "off"] | str | None = None,
    cudnn_off: Switch = False,
    layout: Literal["NCW", "NCHW", "NCDHW", "NWC", "NHWC", "NDHWC"] | str | None = None,
    *,
    out: ndarray | Any = None,
    name: str | Any = None,
) -> ndarray: ...
@overload
def convolution(
    data: ArrayLike,
    weight: ArrayLike,
    bias: ArrayLike | Any = None,
    *,
    _unpacked: object,
    **options: object,
) -> ndarray: ...
@overload
def deconvolution(
    data: ArrayLike,
    weight: ArrayLike,
    bias: ArrayLike | Any = None,
    *,
    kernel: Sizes,
    stride: Sizes = (),
    dilate: Sizes = (),
    pad: Sizes = (),
    adj: Sizes = (),
    target_shape: Sizes = (),
    num_filter: Whole,
    num_group: Whole = 1,
    workspace: Whole = 512,
    no_bias: Switch = True,
    cudnn_tune: Literal["fastest", "limited_workspace", "off"] | str | None = None,
    cudnn_off: Switch = False,
    layout: Literal["NCW", "NCHW", "NCDHW", "NWC", "NHWC", "NDHWC"] | str | None = None,
    out: ndarray | Any = None,
    name: str | Any = None,
) -> ndarray:
    """Transposed convolution: what the gradient of a convolution does to its output's gradient.

    Args:
        data: (batch, channel, *spatial), or (batch, *spatial, channel) by `layout`.
        weight: (channel, num_filter / num_group, *kernel), or
            (channel, *kernel, num_filter / num_group).
        bias: (num_filter,); not taken with no_bias=True, the default.
        kernel: the window's size along each spatial axis.
        stride: the distance of two windows in the output, default 1 everywhere.
        dilate: the distance of two taps of a window, default 1 everywhere.
        pad: what is cut off both ends of the output, default 0.
        adj: what is added at the output's end, less than `stride`; default 0.
        target_shape: the output's spatial shape; replaces `pad` and `adj`.
        num_filter: how many channels the output has.
        num_group: how many groups of channels there are, each with its own filters.
        workspace: without meaning here, like `cudnn_tune` and `cudnn_off`; read for MXNet's sake.
        no_bias: leave the bias out.
        cudnn_tune: see `workspace`.
        cudnn_off: see `workspace`.
        layout: NCW, NCHW or NCDHW (the defaults), or NWC, NHWC or NDHWC.

    Returns:
        (batch, num_filter, *output) in the layout and dtype of `data`, where an output size is
        ``stride * (size - 1) + dilate * (kernel - 1) + 1 - 2 * pad + adj``.
    """

@overload
def deconvolution(
    data: ArrayLike,
    weight: ArrayLike,
    bias: ArrayLike | Any,
    kernel: Sizes,
    stride: Sizes = (),
    dilate: Sizes = (),
    pad: Sizes = (),
    adj: Sizes = (),
    target_shape: Sizes = (),
    *,
    num_filter: Whole,
    num_group: Whole = 1,
    workspace: Whole = 512,
    no_bias: Switch = True,
    cudnn_tune: Literal["fastest", "limited_workspace", "off"] | str | None = None,
    cudnn_off: Switch = False,
    layout: Literal["NCW", "NCHW", "NCDHW", "NWC", "NHWC", "NDHWC"] | str | None = None,
    out: ndarray | Any = None,
    name: str | Any = None,
) -> ndarray: ...
@overload
def deconvolution(
    data: ArrayLike,
    weight: ArrayLike,
    bias: ArrayLike | Any,
    kernel: Sizes,
    stride: Sizes,
    dilate: Sizes,
    pad: Sizes,
    adj: Sizes,
    target_shape: Sizes,
    num_filter: Whole,
    num_group: Whole = 1,
    workspace: Whole = 512,
    no_bias: Switch = True,
    cudnn_tune: Literal["fastest", "limited_workspace", "off"] | str | None = None,
    cudnn_off: Switch = False,
    layout: Literal["NCW", "NCHW", "NCDHW", "NWC", "NHWC", "NDHWC"] | str | None = None,
    *,
    out: ndarray | Any = None,
    name: str | Any = None,
) -> ndarray: ...
@overload
def deconvolution(
    data: ArrayLike,
    weight: ArrayLike,
    bias: ArrayLike | Any = None,
    *,
    _unpacked: object,
    **options: object,
) -> ndarray: ...
@overload
def dropout(
    data: ArrayLike,
    p: Real = 0.5,
    mode: Literal["always", "training"] | str = "training",
    axes: Sizes = (),
    cudnn_off: Switch | None = False,
    *,
    out: ndarray | Any = None,
    name: str | Any = None,
) -> ndarray:
    """Sets a random part of the elements to zero, and scales up the others to keep the mean.

    Srivastava et al., "Dropout: a simple way to prevent neural networks from overfitting", 2014.

    Args:
        data: any shape.
        p: the probability that an element is dropped.
        mode: 'training' does nothing outside a training pass, 'always' drops there too.
        axes: axes along which one decision holds for all elements.
        cudnn_off: without meaning here; read for MXNet's sake.

    Returns:
        The shape and dtype of `data`. Hidden: the mask, bool, 1 long on `axes`.
    """

@overload
def dropout(data: ArrayLike, *, _unpacked: object, **options: object) -> ndarray: ...
@overload
def embedding(
    data: ArrayLike,
    weight: ArrayLike,
    *,
    input_dim: Whole,
    output_dim: Whole,
    dtype: DTypeLike = "float32",
    sparse_grad: Switch = False,
    out: ndarray | Any = None,
    name: str | Any = None,
) -> ndarray:
    """Rows of a table, one for each whole number in `data`.

    Args:
        data: positions, of any shape; those outside are clipped.
        weight: (input_dim, output_dim).
        input_dim: how many rows the table has.
        output_dim: the length of each.
        dtype: the element type of a weight that is made for this operator.
        sparse_grad: whether the gradient of the weight is a row-sparse array, which holds only
            the rows that were looked up. It is kept so by a variable with
            ``attach_grad(stype='row_sparse')``; in graphs all gradients are dense.
    """

@overload
def embedding(
    data: ArrayLike,
    weight: ArrayLike,
    input_dim: Whole,
    output_dim: Whole,
    dtype: DTypeLike = "float32",
    sparse_grad: Switch = False,
    *,
    out: ndarray | Any = None,
    name: str | Any = None,
) -> ndarray: ...
@overload
def embedding(
    data: ArrayLike, weight: ArrayLike, *, _unpacked: object, **options: object
) -> ndarray: ...
def erf(data: ArrayLike, *, out: ndarray | Any = None, name: str | Any = None) -> ndarray:
    """Error function.

    Args:
        data: an array of any shape.
    """

def erfinv(data: ArrayLike, *, out: ndarray | Any = None, name: str | Any = None) -> ndarray:
    """Inverse of the error function, of numbers from -1 to 1.

    Args:
        data: an array of any shape.
    """

@overload
def fully_connected(
    data: ArrayLike,
    weight: ArrayLike,
    bias: ArrayLike | Any = None,
    *,
    num_hidden: Whole,
    no_bias: Switch = False,
    flatten: Switch = True,
    out: ndarray | Any = None,
    name: str | Any = None,
) -> ndarray:
    """Applies a dense layer: ``data @ weight.T + bias``.

    Args:
        data: (batch, ...), all but the first axis taken as features; with flatten=False
            (..., features), of which the last axis alone is.
        weight: (num_hidden, features).
        bias: (num_hidden,); not taken with no_bias=True.
        num_hidden: how many outputs there are for each row.
        no_bias: leave the bias out.
        flatten: how `data` is read, see there.

    Returns:
        (batch, num_hidden), or (..., num_hidden) with flatten=False.
    """

@overload
def fully_connected(
    data: ArrayLike,
    weight: ArrayLike,
    bias: ArrayLike | Any,
    num_hidden: Whole,
    no_bias: Switch = False,
    flatten: Switch = True,
    *,
    out: ndarray | Any = None,
    name: str | Any = None,
) -> ndarray: ...
@overload
def fully_connected(
    data: ArrayLike,
    weight: ArrayLike,
    bias: ArrayLike | Any = None,
    *,
    _unpacked: object,
    **options: object,
) -> ndarray: ...
def gamma(data: ArrayLike, *, out: ndarray | Any = None, name: str | Any = None) -> ndarray:
    """Gamma function.

    Args:
        data: an array of any shape.
    """

def gammaln(data: ArrayLike, *, out: ndarray | Any = None, name: str | Any = None) -> ndarray:
    """log |gamma(x)|.

    Args:
        data: an array of any shape.
    """

def gather_nd(
    data: ArrayLike, indices: ArrayLike, *, out: ndarray | Any = None, name: str | Any = None
) -> ndarray:
    """Elements, or slices, of `data` at the given coordinates.

    Args:
        data: an array of any shape.
        indices: (m, ...): row i holds positions along dimension i; negative ones count from the
            end. One outside is an error, at once or where a value is next read.
    """

@overload
def layer_norm(
    data: ArrayLike,
    gamma: ArrayLike,
    beta: ArrayLike,
    *,
    axis: Whole = -1,
    eps: Real = 1e-05,
    output_mean_var: Switch = False,
    out: ndarray | Any = None,
    name: str | Any = None,
) -> Any:
    """Normalizes along one axis: ``gamma * (data - mean) / std + beta``.

    Ba, Kiros and Hinton, "Layer normalization", 2016. ``std = sqrt(var + eps)``.

    Args:
        data: any shape, floating point.
        gamma: (data.shape[axis],), the scale.
        beta: (data.shape[axis],), the offset.
        axis: what is normalized.
        eps: keeps the root from zero.
        output_mean_var: return the statistics as well.

    Returns:
        The shape and dtype of `data`; with `output_mean_var` also mean and std, where `axis` has
        length 1. Narrow floats are computed in float32.
    """

@overload
def layer_norm(
    data: ArrayLike,
    gamma: ArrayLike,
    beta: ArrayLike,
    axis: Whole = -1,
    eps: Real = 1e-05,
    output_mean_var: Switch = False,
    *,
    out: ndarray | Any = None,
    name: str | Any = None,
) -> Any: ...
@overload
def layer_norm(
    data: ArrayLike, gamma: ArrayLike, beta: ArrayLike, *, _unpacked: object, **options: object
) -> Any: ...
@overload
def leaky_relu(
    data: ArrayLike,
    gamma: ArrayLike | Any = None,
    *,
    act_type: str = "leaky",
    slope: Real = 0.25,
    lower_bound: Real = 0.125,
    upper_bound: Real = 0.334,
    out: ndarray | Any = None,
    name: str | Any = None,
) -> ndarray:
    """Applies a rectifier that lets some of the negative part through.

    Args:
        data: any shape; channels on axis 1.
        gamma: (channels,), (1,), or the shape of `data` or of two or more of its first axes, the
            slopes that 'prelu' learns; taken by it alone.
        act_type: what becomes of x < 0: 'leaky' ``slope * x``, 'prelu' ``gamma * x``, 'rrelu' a
            random slope for each element in training and the mean one otherwise, 'elu' ``slope *
            (exp(x) - 1)``, 'selu' (Klambauer et al., 2017, which scales x > 0 too). 'gelu' is ``x
            * Phi(x)`` for every x, Phi the normal distribution function, and 'gelu_tanh' an
            approximation of it by tanh, which GPT-2 has.
        slope: see `act_type`.
        lower_bound: the least slope of 'rrelu'.
        upper_bound: its greatest slope.

    Returns:
        The shape and dtype of `data`. (MXNet shows the slopes of 'rrelu' too, as a second output.)
    """

@overload
def leaky_relu(
    data: ArrayLike,
    gamma: ArrayLike | Any = None,
    act_type: str = "leaky",
    slope: Real = 0.25,
    lower_bound: Real = 0.125,
    upper_bound: Real = 0.334,
    *,
    out: ndarray | Any = None,
    name: str | Any = None,
) -> ndarray: ...
@overload
def leaky_relu(
    data: ArrayLike, gamma: ArrayLike | Any = None, *, _unpacked: object, **options: object
) -> ndarray: ...
@overload
def log_softmax(
    data: ArrayLike,
    axis: Whole = -1,
    temperature: Real | None = None,
    dtype: DTypeLike = None,
    use_length: Switch = False,
    *,
    out: ndarray | Any = None,
    name: str | Any = None,
) -> ndarray:
    """Computes ``x - log(sum(exp(x)))`` along an axis, without overflow.

    Args:
        data: any shape, floating point.
        axis: the axis along which the exponentials of the result sum to 1.
        temperature: what the data are divided by first; default 1.
        dtype: of the result; default that of `data`.
        use_length: without meaning, as in MXNet.

    Returns:
        The shape of `data`. Narrow floats are computed in float32.
    """

@overload
def log_softmax(data: ArrayLike, *, _unpacked: object, **options: object) -> ndarray: ...
@overload
def multibox_detection(
    cls_prob: ArrayLike,
    loc_pred: ArrayLike,
    anchor: ArrayLike,
    *,
    clip: Switch = True,
    threshold: Real = 0.01,
    background_id: Whole = 0,
    nms_threshold: Real = 0.5,
    force_suppress: Switch = False,
    variances: Reals = (0.1, 0.1, 0.2, 0.2),
    nms_topk: Whole = -1,
    out: ndarray | Any = None,
    name: str | Any = None,
) -> ndarray:
    """The boxes that anchors predict, without those that are one thing seen twice.

    Args:
        cls_prob: (batch, classes, n), the probability of each class.
        loc_pred: (batch, n * 4), how each anchor is moved and stretched.
        anchor: (1, n, 4).
        clip: cut the boxes off at the borders of the image.
        threshold: boxes of a lower probability are dropped.
        background_id: without meaning: class 0 is the background, as in MXNet.
        nms_threshold: the overlap from which the less probable of two boxes is dropped; outside
            of (0, 1] none is, and they stay in the order of the anchors.
        force_suppress: boxes of other classes are dropped too.
        variances: what the four predictions are multiplied by.
        nms_topk: how many boxes, the most probable ones, are kept at most; negative for all.

    Returns:
        (batch, n, 6): class (0 being the first after the background), probability, left, top,
        right, bottom, by falling probability. The class is -1 where a box was dropped as an
        overlapping one, and everything is where there is none.
    """

@overload
def multibox_detection(
    cls_prob: ArrayLike,
    loc_pred: ArrayLike,
    anchor: ArrayLike,
    clip: Switch = True,
    threshold: Real = 0.01,
    background_id: Whole = 0,
    nms_threshold: Real = 0.5,
    force_suppress: Switch = False,
    variances: Reals = (0.1, 0.1, 0.2, 0.2),
    nms_topk: Whole = -1,
    *,
    out: ndarray | Any = None,
    name: str | Any = None,
) -> ndarray: ...
@overload
def multibox_detection(
    cls_prob: ArrayLike,
    loc_pred: ArrayLike,
    anchor: ArrayLike,
    *,
    _unpacked: object,
    **options: object,
) -> ndarray: ...
@overload
def multibox_prior(
    data: ArrayLike,
    sizes: Reals = (1.0,),
    ratios: Reals = (1.0,),
    clip: Switch = False,
    steps: Reals = (-1.0, -1.0),
    offsets: Reals = (0.5, 0.5),
    *,
    out: ndarray | Any = None,
    name: str | Any = None,
) -> ndarray:
    """Anchor boxes around each pixel of a feature map.

    Args:
        data: (batch, channels, height, width), the feature map; its values do not matter.
        sizes: heights of the boxes, as parts of the image's; all with the first of `ratios`.
        ratios: widths over heights; all but the first with the first of `sizes`.
        clip: cut the boxes off at the borders of the image.
        steps: the distance of two pixels, (y, x), as parts of the image; negative: those by which
            the map fills the image.
        offsets: where in its step a pixel has its center, (y, x).

    Returns:
        (1, height * width * (len(sizes) + len(ratios) - 1), 4).
    """

@overload
def multibox_prior(data: ArrayLike, *, _unpacked: object, **options: object) -> ndarray: ...
@overload
def multibox_target(
    anchor: ArrayLike,
    label: ArrayLike,
    cls_pred: ArrayLike,
    *,
    overlap_threshold: Real = 0.5,
    ignore_label: Real = -1.0,
    negative_mining_ratio: Real = -1.0,
    negative_mining_thresh: Real = 0.5,
    minimum_negative_samples: Whole = 0,
    variances: Reals = (0.1, 0.1, 0.2, 0.2),
    out: ndarray | Any = None,
    name: str | Any = None,
) -> list[ndarray]:
    """The targets that anchors are to predict, given the boxes in the images.

    Each box is matched with the anchor that overlaps it most, the best pair first; then each
    anchor that overlaps a box by more than `overlap_threshold` with the one it overlaps most.

    Args:
        anchor: (1, n, 4).
        label: (batch, boxes, 5 or more): class, left, top, right, bottom; a class of -1 ends the
            list of an image.
        cls_pred: (batch, classes, n), the scores, of which class 0 is the background.
        overlap_threshold: see above; 0 or less for the first rule alone.
        ignore_label: the class of anchors that are to predict nothing in particular.
        negative_mining_ratio: how many anchors stand for the background for each one that has a
            box: those that look least like it. Negative: all that have no box.
        negative_mining_thresh: anchors that overlap a box by this much do not stand for the
            background, where `negative_mining_ratio` chooses them.
        minimum_negative_samples: how many do at least, likewise (MXNet 1.9.1 disregards it).
        variances: what the four offsets are divided by.

    Returns:
        Offsets for the anchors, (batch, n * 4), and 1 where they count, else 0, in the same shape;
        and classes, (batch, n), 0 being the background.
    """

@overload
def multibox_target(
    anchor: ArrayLike,
    label: ArrayLike,
    cls_pred: ArrayLike,
    overlap_threshold: Real = 0.5,
    ignore_label: Real = -1.0,
    negative_mining_ratio: Real = -1.0,
    negative_mining_thresh: Real = 0.5,
    minimum_negative_samples: Whole = 0,
    variances: Reals = (0.1, 0.1, 0.2, 0.2),
    *,
    out: ndarray | Any = None,
    name: str | Any = None,
) -> list[ndarray]: ...
@overload
def multibox_target(
    anchor: ArrayLike,
    label: ArrayLike,
    cls_pred: ArrayLike,
    *,
    _unpacked: object,
    **options: object,
) -> list[ndarray]: ...
def nonzero(
    x: ArrayLike, size: Whole | None = None, *, out: ndarray | Any = None, name: str | Any = None
) -> ndarray:
    """Positions of the elements that are not zero, one in each row.

    Args:
        size: how many there are; measured on arrays, to be given in a graph.
    """

@overload
def one_hot(
    indices: ArrayLike,
    depth: Whole,
    on_value: Real = 1.0,
    off_value: Real = 0.0,
    dtype: DTypeLike = "float32",
    *,
    out: ndarray | Any = None,
    name: str | Any = None,
) -> ndarray:
    """A vector for each position, with `on_value` there and `off_value` elsewhere.

    Args:
        indices: positions, of any shape; one outside gives a vector without `on_value`.
        depth: the length of the vectors, which become the last axis.
        on_value: the value at the position.
        off_value: the value elsewhere.
        dtype: the element type of the result.
    """

@overload
def one_hot(indices: ArrayLike, *, _unpacked: object, **options: object) -> ndarray: ...
@overload
def pick(
    data: ArrayLike,
    index: ArrayLike,
    *,
    axis: Whole | None = -1,
    keepdims: Switch = False,
    mode: Literal["clip", "wrap"] | str = "clip",
    out: ndarray | Any = None,
    name: str | Any = None,
) -> ndarray:
    """One element along an axis for each place of the others: ``data[i, index[i]]``.

    Args:
        data: an array of any shape.
        index: positions; the shape of `data` without the axis, or with size 1 there.
        keepdims: keep the axis with size 1.
        mode: positions outside are clipped or wrap around.
    """

@overload
def pick(
    data: ArrayLike,
    index: ArrayLike,
    axis: Whole | None = -1,
    keepdims: Switch = False,
    mode: Literal["clip", "wrap"] | str = "clip",
    *,
    out: ndarray | Any = None,
    name: str | Any = None,
) -> ndarray: ...
@overload
def pick(data: ArrayLike, index: ArrayLike, *, _unpacked: object, **options: object) -> ndarray: ...
@overload
def pooling(
    data: ArrayLike,
    kernel: Sizes = (),
    pool_type: Literal["avg", "lp", "max", "sum"] | str = "max",
    global_pool: Switch = False,
    cudnn_off: Switch = False,
    pooling_convention: Literal["full", "same", "valid"] | str = "valid",
    stride: Sizes = (),
    pad: Sizes = (),
    p_value: Whole | None = None,
    count_include_pad: Switch | None = None,
    layout: Literal["NCW", "NCHW", "NCDHW", "NWC", "NHWC", "NDHWC"] | str | None = None,
    *,
    out: ndarray | Any = None,
    name: str | Any = None,
) -> ndarray:
    """Reduces each window of 1, 2 or 3 spatial axes to one number.

    Args:
        data: (batch, channel, *spatial), or (batch, *spatial, channel) by `layout`.
        kernel: the window's size along each spatial axis; not needed with `global_pool`.
        pool_type: 'max', 'avg', 'sum', or 'lp', the `p_value`-th root of the sum of powers.
        global_pool: one window over everything; kernel, stride and pad do not count.
        cudnn_off: without meaning here; read for MXNet's sake.
        pooling_convention: 'valid' drops the elements that do not fill a window, 'full' keeps
            them, 'same' pads so that the output size is ``ceil(size / stride)``.
        stride: the distance of two windows, default 1 everywhere.
        pad: the padding on both sides of each axis, less than `kernel`; default 0.
        p_value: 1, 2 or 3, for 'lp'.
        count_include_pad: whether 'avg' divides by the elements of the padding too; default yes.
        layout: NCW, NCHW or NCDHW (the defaults), or NWC, NHWC or NDHWC.

    Returns:
        (batch, channel, *output) in the layout and dtype of `data`. The gradient of a maximum
        goes to the first of several greatest elements of a window.
    """

@overload
def pooling(data: ArrayLike, *, _unpacked: object, **options: object) -> ndarray: ...
def relu(data: ArrayLike, *, out: ndarray | Any = None, name: str | Any = None) -> ndarray:
    """The larger of the element and 0.

    Args:
        data: an array of any shape.
    """

@overload
def reshape(
    a: ArrayLike,
    newshape: Sizes,
    reverse: Switch = False,
    order: Literal["C"] | str = "C",
    *,
    out: ndarray | Any = None,
    name: str | Any = None,
) -> ndarray:
    """The elements in another shape, given in codes.

    Args:
        newshape: the dimensions: -1 is inferred, -2 keeps one, -3 drops one of size 1, -4 keeps
            the rest, -5 joins two, -6 splits one into the two numbers that follow.
        reverse: whether the codes are read from the last one on, and count from the last axis: the
            two numbers of a -6 stand before it then.
        order: 'C'.
    """

@overload
def reshape(a: ArrayLike, *, _unpacked: object, **options: object) -> ndarray: ...
@overload
def reshape_like(
    lhs: ArrayLike,
    rhs: ArrayLike,
    *,
    lhs_begin: Whole | None = None,
    lhs_end: Whole | None = None,
    rhs_begin: Whole | None = None,
    rhs_end: Whole | None = None,
    out: ndarray | Any = None,
    name: str | Any = None,
) -> ndarray:
    """`lhs` in the shape of `rhs`.

    Args:
        lhs: an array of any shape.
        rhs: only its shape counts.
        lhs_begin: the first dimension of `lhs` that is replaced; None for 0.
        lhs_end: the dimension of `lhs` after the last that is replaced; None for all.
        rhs_begin: the first dimension of `rhs` that is taken; None for 0.
        rhs_end: the dimension of `rhs` after the last that is taken; None for all.
    """

@overload
def reshape_like(
    lhs: ArrayLike,
    rhs: ArrayLike,
    lhs_begin: Whole | None = None,
    lhs_end: Whole | None = None,
    rhs_begin: Whole | None = None,
    rhs_end: Whole | None = None,
    *,
    out: ndarray | Any = None,
    name: str | Any = None,
) -> ndarray: ...
@overload
def reshape_like(
    lhs: ArrayLike, rhs: ArrayLike, *, _unpacked: object, **options: object
) -> ndarray: ...
@overload
def rnn(
    data: ArrayLike,
    parameters: ArrayLike,
    state: ArrayLike,
    state_cell: ArrayLike | Any = None,
    sequence_length: ArrayLike | Any = None,
    *,
    state_size: Whole,
    num_layers: Whole,
    bidirectional: Switch = False,
    mode: Literal["rnn_relu", "rnn_tanh", "lstm", "gru"] | str,
    p: Real = 0.0,
    state_outputs: Switch = False,
    projection_size: Whole | None = None,
    lstm_state_clip_min: Real | None = None,
    lstm_state_clip_max: Real | None = None,
    lstm_state_clip_nan: Switch = False,
    use_sequence_length: Switch = False,
    out: ndarray | Any = None,
    name: str | Any = None,
) -> Any:
    """Runs a recurrent network of several layers over a batch of sequences.

    ``rnn_relu`` and ``rnn_tanh``: ``h' = act(W x + b + R h + c)``. ``lstm``: Hochreiter and
    Schmidhuber (1997), gates in the order input, forget, cell, output. ``gru``: Cho et al. (2014),
    gates in the order reset, update, new, with ``n = tanh(W x + b + r * (R h + c))``.

    `parameters` holds for each layer, and in it for each direction, W and R (with a projection also
    its matrix), flattened; and then, in the same order, all b and c.

    MXNet has sequence lengths and bounds of the cell state on GPUs only, and passes over them on
    CPUs; here they hold everywhere.

    Args:
        data: (time, batch, features).
        parameters: a vector.
        state: (num_layers * directions, batch, state_size), or projection_size at last.
        state_cell: (num_layers * directions, batch, state_size); in mode 'lstm' only.
        sequence_length: (batch,), how many steps are valid: later ones give 0 and leave the state
            as it is; with `use_sequence_length` only.
        state_size: the size of the hidden state.
        num_layers: how many layers; each gets what the one below gives.
        bidirectional: whether each layer has a second part that goes backward in time.
        mode: the cell.
        p: the part of the elements between two layers that is dropped in a training pass.
        state_outputs: whether to return the last states too.
        projection_size: the hidden state of an LSTM is multiplied by a matrix to have this size.
        lstm_state_clip_min: the cell state is held above this.
        lstm_state_clip_max: the cell state is held below this.
        lstm_state_clip_nan: whether NaN in the cell state becomes 0.
        use_sequence_length: whether `sequence_length` is given.

    Returns:
        The outputs of the last layer, (time, batch, directions * state_size); with `state_outputs`
        also the states after the last step, of the shapes of the first ones. Hidden: what the
        gradient needs.
    """

@overload
def rnn(
    data: ArrayLike,
    parameters: ArrayLike,
    state: ArrayLike,
    state_cell: ArrayLike | Any,
    sequence_length: ArrayLike | Any,
    state_size: Whole,
    num_layers: Whole,
    bidirectional: Switch = False,
    *,
    mode: Literal["rnn_relu", "rnn_tanh", "lstm", "gru"] | str,
    p: Real = 0.0,
    state_outputs: Switch = False,
    projection_size: Whole | None = None,
    lstm_state_clip_min: Real | None = None,
    lstm_state_clip_max: Real | None = None,
    lstm_state_clip_nan: Switch = False,
    use_sequence_length: Switch = False,
    out: ndarray | Any = None,
    name: str | Any = None,
) -> Any: ...
@overload
def rnn(
    data: ArrayLike,
    parameters: ArrayLike,
    state: ArrayLike,
    state_cell: ArrayLike | Any,
    sequence_length: ArrayLike | Any,
    state_size: Whole,
    num_layers: Whole,
    bidirectional: Switch,
    mode: Literal["rnn_relu", "rnn_tanh", "lstm", "gru"] | str,
    p: Real = 0.0,
    state_outputs: Switch = False,
    projection_size: Whole | None = None,
    lstm_state_clip_min: Real | None = None,
    lstm_state_clip_max: Real | None = None,
    lstm_state_clip_nan: Switch = False,
    use_sequence_length: Switch = False,
    *,
    out: ndarray | Any = None,
    name: str | Any = None,
) -> Any: ...
@overload
def rnn(
    data: ArrayLike,
    parameters: ArrayLike,
    state: ArrayLike,
    state_cell: ArrayLike | Any = None,
    sequence_length: ArrayLike | Any = None,
    *,
    _unpacked: object,
    **options: object,
) -> Any: ...
@overload
def roi_pooling(
    data: ArrayLike,
    rois: ArrayLike,
    *,
    pooled_size: Sizes,
    spatial_scale: Real,
    out: ndarray | Any = None,
    name: str | Any = None,
) -> ndarray:
    """The largest value in each part of a grid over a region.

    Girshick, "Fast R-CNN", 2015. The corners are rounded to pixels.

    Args:
        data: (batch, channels, height, width).
        rois: (regions, 5): image, left, top, right, bottom.
        pooled_size: rows and columns of the grid; one number for both.
        spatial_scale: the size of the feature map over that of the image.

    Returns:
        (regions, channels, rows, columns); 0 for a part without a pixel. Hidden: where in its
        image each value is from, for the gradient.
    """

@overload
def roi_pooling(
    data: ArrayLike,
    rois: ArrayLike,
    pooled_size: Sizes,
    spatial_scale: Real,
    *,
    out: ndarray | Any = None,
    name: str | Any = None,
) -> ndarray: ...
@overload
def roi_pooling(
    data: ArrayLike, rois: ArrayLike, *, _unpacked: object, **options: object
) -> ndarray: ...
@overload
def sequence_mask(
    data: ArrayLike,
    sequence_length: ArrayLike | Any = None,
    *,
    use_sequence_length: Switch = False,
    value: Real = 0.0,
    axis: Whole = 0,
    out: ndarray | Any = None,
    name: str | Any = None,
) -> ndarray:
    """Overwrites what comes after the end of each sequence.

    Args:
        data: (steps, batch, ...), or (batch, steps, ...) with ``axis=1``.
        sequence_length: (batch,), the number of steps of each sequence.
        use_sequence_length: whether `sequence_length` is given; without it nothing changes.
        value: what is written.
        axis: the axis of the steps.

    Returns:
        The shape and dtype of `data`.
    """

@overload
def sequence_mask(
    data: ArrayLike,
    sequence_length: ArrayLike | Any = None,
    use_sequence_length: Switch = False,
    value: Real = 0.0,
    axis: Whole = 0,
    *,
    out: ndarray | Any = None,
    name: str | Any = None,
) -> ndarray: ...
@overload
def sequence_mask(
    data: ArrayLike,
    sequence_length: ArrayLike | Any = None,
    *,
    _unpacked: object,
    **options: object,
) -> ndarray: ...
def shape_array(data: ArrayLike, *, out: ndarray | Any = None, name: str | Any = None) -> ndarray:
    """The shape as an int64 array.

    Args:
        data: an array of any shape.
    """

def sigmoid(data: ArrayLike, *, out: ndarray | Any = None, name: str | Any = None) -> ndarray:
    """1 / (1 + exp(-x)).

    Args:
        data: an array of any shape.
    """

@overload
def slice(
    data: ArrayLike,
    begin: Places,
    end: Places,
    step: Places = (),
    *,
    out: ndarray | Any = None,
    name: str | Any = None,
) -> ndarray:
    """A region of the array, as Python's ``data[begin0:end0:step0, begin1:end1:step1]``.

    Args:
        data: an array of any shape.
        begin: where each slice begins; None for its natural begin, negative from the end.
        end: where each slice ends, not included.
        step: the step of each slice, may be negative; empty for 1.
    """

@overload
def slice(data: ArrayLike, *, _unpacked: object, **options: object) -> ndarray: ...
def smooth_l1(
    data: ArrayLike, scalar: Real = 1.0, *, out: ndarray | Any = None, name: str | Any = None
) -> ndarray:
    """Huber's loss of each element: (s x)**2 / 2 where |x| < 1 / s**2, else |x| - 1 / (2 s**2).

    Here s is `scalar`.

    Args:
        data: an array of any shape.
        scalar: the number.
    """

@overload
def softmax(
    data: ArrayLike,
    length: ArrayLike | Any = None,
    *,
    axis: Whole = -1,
    temperature: Real | None = None,
    dtype: DTypeLike = None,
    use_length: Switch = False,
    out: ndarray | Any = None,
    name: str | Any = None,
) -> ndarray:
    """Computes ``exp(x) / sum(exp(x))`` along an axis.

    Args:
        data: any shape, floating point.
        length: how many elements from the front of each row along `axis` count, the others giving
            0; the shape of `data` without that axis. Taken with use_length=True alone.
        axis: the axis along which the result sums to 1.
        temperature: what the data are divided by first; default 1.
        dtype: of the result; default that of `data`.
        use_length: whether `length` is given.

    Returns:
        The shape of `data`. Narrow floats are computed in float32.
    """

@overload
def softmax(
    data: ArrayLike,
    length: ArrayLike | Any = None,
    axis: Whole = -1,
    temperature: Real | None = None,
    dtype: DTypeLike = None,
    use_length: Switch = False,
    *,
    out: ndarray | Any = None,
    name: str | Any = None,
) -> ndarray: ...
@overload
def softmax(
    data: ArrayLike, length: ArrayLike | Any = None, *, _unpacked: object, **options: object
) -> ndarray: ...
def stop_gradient(data: ArrayLike, *, out: ndarray | Any = None, name: str | Any = None) -> ndarray:
    """The array itself, through which no gradient flows back.

    Args:
        data: an array of any shape.
    """

@overload
def topk(
    data: ArrayLike,
    axis: Whole | None = -1,
    k: Whole = 1,
    ret_typ: Literal["both", "indices", "mask", "value"] | str = "indices",
    is_ascend: Switch = False,
    dtype: DTypeLike = "float32",
    *,
    out: ndarray | Any = None,
    name: str | Any = None,
) -> Any:
    """The largest elements along an axis, in order.

    Args:
        data: an array of any shape.
        axis: the axis; None for the flattened array.
        k: how many; less than 1 for all.
        ret_typ: what is returned: the positions ("indices"), the elements ("value"), the elements
            and then the positions ("both"), or an array like `data` with 1 where an element is
            among them and 0 elsewhere ("mask").
        is_ascend: the smallest elements instead.
        dtype: the dtype of the positions.
    """

@overload
def topk(data: ArrayLike, *, _unpacked: object, **options: object) -> Any: ...
