# Written by `python -m hybridnet.stubs`, which overwrites what is changed here.

from collections.abc import Sequence
from typing import Any, Literal, overload

from hybridnet.base.array_types import DTypeLike, Places, Real, Reals, Sizes, Switch, Whole, Wholes
from hybridnet.base.context import Context
from hybridnet.ndarray.ndarray import NDArray

def Activation(
    data: NDArray,
    act_type: Literal["relu", "sigmoid", "softrelu", "softsign", "tanh"] | str,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Applies an activation function to each element.

    Args:
        data: any shape.
        act_type: 'relu' ``max(x, 0)``, 'sigmoid' ``1 / (1 + exp(-x))``, 'tanh',
            'softrelu' ``log(1 + exp(x))``, or 'softsign' ``x / (1 + |x|)``.

    Returns:
        The shape and dtype of `data`.
    """

@overload
def BatchNorm(
    data: NDArray,
    gamma: NDArray,
    beta: NDArray,
    moving_mean: NDArray,
    moving_var: NDArray,
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
    out: NDArray | Any = None,
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
def BatchNorm(
    data: NDArray,
    gamma: NDArray,
    beta: NDArray,
    moving_mean: NDArray,
    moving_var: NDArray,
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
    out: NDArray | Any = None,
    name: str | Any = None,
) -> Any: ...
@overload
def BatchNorm(
    data: NDArray,
    gamma: NDArray,
    beta: NDArray,
    moving_mean: NDArray,
    moving_var: NDArray,
    *,
    _unpacked: object,
    **options: object,
) -> Any: ...
@overload
def BatchNorm_v1(
    data: NDArray,
    gamma: NDArray,
    beta: NDArray,
    moving_mean: NDArray,
    moving_var: NDArray,
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
    out: NDArray | Any = None,
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
def BatchNorm_v1(
    data: NDArray,
    gamma: NDArray,
    beta: NDArray,
    moving_mean: NDArray,
    moving_var: NDArray,
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
    out: NDArray | Any = None,
    name: str | Any = None,
) -> Any: ...
@overload
def BatchNorm_v1(
    data: NDArray,
    gamma: NDArray,
    beta: NDArray,
    moving_mean: NDArray,
    moving_var: NDArray,
    *,
    _unpacked: object,
    **options: object,
) -> Any: ...
@overload
def BilinearSampler(
    data: NDArray,
    grid: NDArray,
    *,
    cudnn_off: Switch | None = None,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Samples images at given places by bilinear interpolation.

    Args:
        data: (batch, channels, height, width).
        grid: (batch, 2, new height, new width), x and then y of each place, from -1 to 1 inside
            the image. Outside of it all is zero.
        cudnn_off: without meaning here; read for MXNet's sake.

    Returns:
        (batch, channels, new height, new width).
    """

@overload
def BilinearSampler(
    data: NDArray,
    grid: NDArray,
    cudnn_off: Switch | None = None,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
def BlockGrad(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """The array itself, through which no gradient flows back.

    Args:
        data: an array of any shape.
    """

@overload
def CTCLoss(
    data: NDArray,
    label: NDArray,
    data_lengths: NDArray | Any = None,
    label_lengths: NDArray | Any = None,
    *,
    use_data_lengths: Switch = False,
    use_label_lengths: Switch = False,
    blank_label: Literal["first", "last"] | str = "first",
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """The negative logarithm of the probability of a sequence of labels, over all alignments.

    Args:
        data: (time, batch, classes), scores, of which softmax makes probabilities.
        label: (batch, length), classes, ended by padding.
        data_lengths: (batch,), how much of the time counts; with use_data_lengths=True alone.
        label_lengths: (batch,), how many labels count; with use_label_lengths=True alone, or else
            those before the first that is padding.
        use_data_lengths: whether `data_lengths` is given.
        use_label_lengths: whether `label_lengths` is given.
        blank_label: the class of blanks: 'first' is 0, and 0 is padding too; 'last' is the last
            one, and -1 is padding.

    Returns:
        (batch,). Labels that the time is too short for have an infinite loss without a gradient;
        no labels have that of blanks alone (for both MXNet returns what is no loss).
    """

@overload
def CTCLoss(
    data: NDArray,
    label: NDArray,
    data_lengths: NDArray | Any = None,
    label_lengths: NDArray | Any = None,
    use_data_lengths: Switch = False,
    use_label_lengths: Switch = False,
    blank_label: Literal["first", "last"] | str = "first",
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def CTCLoss(
    data: NDArray,
    label: NDArray,
    data_lengths: NDArray | Any = None,
    label_lengths: NDArray | Any = None,
    *,
    _unpacked: object,
    **options: object,
) -> NDArray: ...
def Cast(
    data: NDArray, dtype: DTypeLike, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """Converts the elements to another dtype, as C does: floats are truncated, integers wrap.

    Args:
        data: an array of any shape.
        dtype: of the result.
    """

@overload
def Concat(
    *data: NDArray | Sequence[NDArray],
    num_args: Whole = 0,
    dim: Whole = 1,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Joins arrays along an existing axis.

    Args:
        data: arrays of equal shapes, except along `dim`.
        num_args: how many there are; saved symbols hold it, calls need not give it.
        dim: the axis.
    """

@overload
def Concat(*data: NDArray | Sequence[NDArray], _unpacked: object, **options: object) -> NDArray: ...
@overload
def Convolution(
    data: NDArray,
    weight: NDArray,
    bias: NDArray | Any = None,
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
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
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
def Convolution(
    data: NDArray,
    weight: NDArray,
    bias: NDArray | Any,
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
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def Convolution(
    data: NDArray,
    weight: NDArray,
    bias: NDArray | Any,
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
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def Convolution(
    data: NDArray,
    weight: NDArray,
    bias: NDArray | Any = None,
    *,
    _unpacked: object,
    **options: object,
) -> NDArray: ...
@overload
def Convolution_v1(
    data: NDArray,
    weight: NDArray,
    bias: NDArray | Any = None,
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
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
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
def Convolution_v1(
    data: NDArray,
    weight: NDArray,
    bias: NDArray | Any,
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
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def Convolution_v1(
    data: NDArray,
    weight: NDArray,
    bias: NDArray | Any,
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
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def Convolution_v1(
    data: NDArray,
    weight: NDArray,
    bias: NDArray | Any = None,
    *,
    _unpacked: object,
    **options: object,
) -> NDArray: ...
@overload
def Correlation(
    data1: NDArray,
    data2: NDArray,
    *,
    kernel_size: Whole = 1,
    max_displacement: Whole = 1,
    stride1: Whole = 1,
    stride2: Whole = 1,
    pad_size: Whole = 0,
    is_multiply: Switch = True,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Compares patches of one image with patches of another, displaced by some pixels.

    Dosovitskiy et al., "FlowNet", 2015: the mean, over a patch and all channels, of products or of
    absolute differences.

    Args:
        data1: (batch, channels, height, width).
        data2: the shape of `data1`.
        kernel_size: the height and width of a patch, odd.
        max_displacement: by how many pixels patches of `data2` are displaced at most.
        stride1: the distance of two patches of `data1`.
        stride2: the distance of two displacements.
        pad_size: zeros around both images.
        is_multiply: products, or else absolute differences.

    Returns:
        (batch, displacements, new height, new width); the displacements row by row, from
        ``-(max_displacement // stride2) * stride2`` up.
    """

@overload
def Correlation(
    data1: NDArray,
    data2: NDArray,
    kernel_size: Whole = 1,
    max_displacement: Whole = 1,
    stride1: Whole = 1,
    stride2: Whole = 1,
    pad_size: Whole = 0,
    is_multiply: Switch = True,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def Correlation(
    data1: NDArray, data2: NDArray, *, _unpacked: object, **options: object
) -> NDArray: ...
@overload
def Crop(
    *data: NDArray | Sequence[NDArray],
    num_args: Whole = 0,
    offset: Sizes = (0, 0),
    h_w: Sizes = (0, 0),
    center_crop: Switch = False,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Cuts a window out of the last two axes; `slice` does so for any axes.

    Args:
        data: (batch, channel, height, width), and maybe an array of four dimensions, whose height
            and width the window gets.
        num_args: how many there are; saved symbols hold it, calls need not give it.
        offset: its first row and column.
        h_w: its height and width, where no array gives them.
        center_crop: put it into the middle, whatever `offset` says.
    """

@overload
def Crop(*data: NDArray | Sequence[NDArray], _unpacked: object, **options: object) -> NDArray: ...
@overload
def Deconvolution(
    data: NDArray,
    weight: NDArray,
    bias: NDArray | Any = None,
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
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
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
def Deconvolution(
    data: NDArray,
    weight: NDArray,
    bias: NDArray | Any,
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
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def Deconvolution(
    data: NDArray,
    weight: NDArray,
    bias: NDArray | Any,
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
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def Deconvolution(
    data: NDArray,
    weight: NDArray,
    bias: NDArray | Any = None,
    *,
    _unpacked: object,
    **options: object,
) -> NDArray: ...
@overload
def Dropout(
    data: NDArray,
    p: Real = 0.5,
    mode: Literal["always", "training"] | str = "training",
    axes: Sizes = (),
    cudnn_off: Switch | None = False,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
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
def Dropout(data: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
def ElementWiseSum(
    *args: NDArray | Sequence[NDArray],
    num_args: Whole = 0,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Sum of any number of arrays of equal shape.

    Args:
        args: the arrays.
        num_args: how many there are; saved symbols hold it, calls need not give it.
    """

@overload
def Embedding(
    data: NDArray,
    weight: NDArray,
    *,
    input_dim: Whole,
    output_dim: Whole,
    dtype: DTypeLike = "float32",
    sparse_grad: Switch = False,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
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
def Embedding(
    data: NDArray,
    weight: NDArray,
    input_dim: Whole,
    output_dim: Whole,
    dtype: DTypeLike = "float32",
    sparse_grad: Switch = False,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def Embedding(
    data: NDArray, weight: NDArray, *, _unpacked: object, **options: object
) -> NDArray: ...
def Flatten(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """All dimensions but the first joined into one: (batch, ...) becomes (batch, features).

    Args:
        data: an array of any shape.
    """

@overload
def FullyConnected(
    data: NDArray,
    weight: NDArray,
    bias: NDArray | Any = None,
    *,
    num_hidden: Whole,
    no_bias: Switch = False,
    flatten: Switch = True,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
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
def FullyConnected(
    data: NDArray,
    weight: NDArray,
    bias: NDArray | Any,
    num_hidden: Whole,
    no_bias: Switch = False,
    flatten: Switch = True,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def FullyConnected(
    data: NDArray,
    weight: NDArray,
    bias: NDArray | Any = None,
    *,
    _unpacked: object,
    **options: object,
) -> NDArray: ...
@overload
def GridGenerator(
    data: NDArray,
    transform_type: Literal["affine", "warp"] | str,
    target_shape: Sizes = (0, 0),
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Makes the grid of places for `BilinearSampler`.

    Args:
        data: with transform_type='affine' (batch, 6), the rows of the map from new places to old
            ones, ``[[a, b, c], [d, e, f]]``; with 'warp' (batch, 2, height, width), how many
            pixels to the right and down each pixel's value comes from.
        transform_type: see `data`.
        target_shape: (height, width) of the grid, with 'affine' alone. A size of 1 is the middle
            (MXNet divides by zero).

    Returns:
        (batch, 2, height, width), x and then y.
    """

@overload
def GridGenerator(data: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
@overload
def GroupNorm(
    data: NDArray,
    gamma: NDArray,
    beta: NDArray,
    *,
    num_groups: Whole = 1,
    eps: Real = 1e-05,
    output_mean_var: Switch = False,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> Any:
    """Normalizes each group of channels of each example.

    Wu and He, "Group normalization", 2018; but, as in MXNet 1.9, with one scale and offset for
    each group, not for each channel.

    Args:
        data: (batch, channels, *spatial), floating point.
        gamma: (num_groups,), the scale.
        beta: (num_groups,), the offset.
        num_groups: how many groups the channels make; divides their number.
        eps: keeps the root from zero.
        output_mean_var: return the statistics as well.

    Returns:
        The shape and dtype of `data`; with `output_mean_var` also mean and ``sqrt(var + eps)``,
        both (batch, num_groups).
    """

@overload
def GroupNorm(
    data: NDArray,
    gamma: NDArray,
    beta: NDArray,
    num_groups: Whole = 1,
    eps: Real = 1e-05,
    output_mean_var: Switch = False,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> Any: ...
@overload
def GroupNorm(
    data: NDArray, gamma: NDArray, beta: NDArray, *, _unpacked: object, **options: object
) -> Any: ...
@overload
def IdentityAttachKLSparseReg(
    data: NDArray,
    moving_avg: NDArray,
    *,
    sparseness_target: Real = 0.1,
    penalty: Real = 0.001,
    momentum: Real = 0.9,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Passes on sigmoids; each unit's gradient grows by how far its mean is from a target.

    Hinton, "A practical guide to training restricted Boltzmann machines", 2010, section 11. What is
    added is the derivative, by the mean activation m of the unit, of the Kullback-Leibler
    divergence between chances of `sparseness_target` and of m to be active, times `penalty`.

    Args:
        data: (batch, units), numbers between 0 and 1.
        moving_avg: (units,), the mean, overwritten in training with ``momentum * moving_avg + (1 -
            momentum) * mean`` (MXNet does so in the backward pass).
        sparseness_target: how often a unit should be active.
        penalty: a factor of what is added.
        momentum: of the mean.
    """

@overload
def IdentityAttachKLSparseReg(
    data: NDArray,
    moving_avg: NDArray,
    sparseness_target: Real = 0.1,
    penalty: Real = 0.001,
    momentum: Real = 0.9,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def IdentityAttachKLSparseReg(
    data: NDArray, moving_avg: NDArray, *, _unpacked: object, **options: object
) -> NDArray: ...
@overload
def InstanceNorm(
    data: NDArray,
    gamma: NDArray,
    beta: NDArray,
    *,
    eps: Real = 0.001,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Normalizes each channel of each example: ``gamma * (data - mean) / sqrt(var + eps) + beta``.

    Ulyanov, Vedaldi and Lempitsky, "Instance normalization", 2016.

    Args:
        data: (batch, channels, *spatial), floating point.
        gamma: (channels,), the scale.
        beta: (channels,), the offset.
        eps: keeps the root from zero.

    Returns:
        The shape and dtype of `data`.
    """

@overload
def InstanceNorm(
    data: NDArray,
    gamma: NDArray,
    beta: NDArray,
    eps: Real = 0.001,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def L2Normalization(
    data: NDArray,
    eps: Real = 1e-10,
    mode: Literal["channel", "instance", "spatial"] | str = "instance",
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Divides by the Euclidean length: ``data / sqrt(sum(data**2) + eps)``.

    Args:
        data: (batch, ...), floating point; (batch, channels, *spatial) for the last two modes.
        eps: keeps the root from zero.
        mode: the sum is over 'instance' all of an example, 'channel' the channels at each place,
            'spatial' the places of each channel.

    Returns:
        The shape and dtype of `data`.
    """

@overload
def L2Normalization(data: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
@overload
def LRN(
    data: NDArray,
    alpha: Real = 0.0001,
    beta: Real = 0.75,
    knorm: Real = 2.0,
    *,
    nsize: Whole,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Local response normalization: ``data / (knorm + alpha / nsize * sum(data**2)) ** beta``.

    Krizhevsky, Sutskever and Hinton, "ImageNet classification with deep convolutional neural
    networks", 2012. The sum is over the ``(nsize - 1) // 2`` channels before and after each one.

    Args:
        data: (batch, channels, ...), floating point.
        alpha: see the formula.
        beta: see the formula.
        knorm: see the formula.
        nsize: how many channels are summed over, if it is odd; an even one sums as the odd one
            below it, as in MXNet.

    Returns:
        The shape and dtype of `data`.
    """

@overload
def LRN(
    data: NDArray,
    alpha: Real,
    beta: Real,
    knorm: Real,
    nsize: Whole,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def LRN(data: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
@overload
def LayerNorm(
    data: NDArray,
    gamma: NDArray,
    beta: NDArray,
    *,
    axis: Whole = -1,
    eps: Real = 1e-05,
    output_mean_var: Switch = False,
    out: NDArray | Any = None,
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
def LayerNorm(
    data: NDArray,
    gamma: NDArray,
    beta: NDArray,
    axis: Whole = -1,
    eps: Real = 1e-05,
    output_mean_var: Switch = False,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> Any: ...
@overload
def LayerNorm(
    data: NDArray, gamma: NDArray, beta: NDArray, *, _unpacked: object, **options: object
) -> Any: ...
@overload
def LeakyReLU(
    data: NDArray,
    gamma: NDArray | Any = None,
    *,
    act_type: str = "leaky",
    slope: Real = 0.25,
    lower_bound: Real = 0.125,
    upper_bound: Real = 0.334,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
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
def LeakyReLU(
    data: NDArray,
    gamma: NDArray | Any = None,
    act_type: str = "leaky",
    slope: Real = 0.25,
    lower_bound: Real = 0.125,
    upper_bound: Real = 0.334,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def LeakyReLU(
    data: NDArray, gamma: NDArray | Any = None, *, _unpacked: object, **options: object
) -> NDArray: ...
@overload
def LinearRegressionOutput(
    data: NDArray,
    label: NDArray,
    *,
    grad_scale: Real = 1.0,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Passes on the data; the gradient is that of half the squared error, ``data - label``.

    The gradient is divided by the numbers in a row, and does not depend on what
    is done with the output later.

    Args:
        data: (batch, ...).
        label: the shape of `data`, or (batch,) for data of shape (batch, 1).
        grad_scale: a factor of the gradient.

    Returns:
        The shape and dtype of `data`.
    """

@overload
def LinearRegressionOutput(
    data: NDArray,
    label: NDArray,
    grad_scale: Real = 1.0,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def LogisticRegressionOutput(
    data: NDArray,
    label: NDArray,
    *,
    grad_scale: Real = 1.0,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Applies the logistic function; the gradient is that of the cross entropy, ``output - label``.

    The gradient is divided by the numbers in a row, and does not depend on what
    is done with the output later.

    Args:
        data: (batch, ...).
        label: the shape of `data`, or (batch,) for data of shape (batch, 1).
        grad_scale: a factor of the gradient.

    Returns:
        The shape and dtype of `data`.
    """

@overload
def LogisticRegressionOutput(
    data: NDArray,
    label: NDArray,
    grad_scale: Real = 1.0,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def MAERegressionOutput(
    data: NDArray,
    label: NDArray,
    *,
    grad_scale: Real = 1.0,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Passes on the data; the gradient is ``sign(data - label)``, and -1 where both are equal.

    The gradient is divided by the numbers in a row, and does not depend on what
    is done with the output later.

    Args:
        data: (batch, ...).
        label: the shape of `data`, or (batch,) for data of shape (batch, 1).
        grad_scale: a factor of the gradient.

    Returns:
        The shape and dtype of `data`.
    """

@overload
def MAERegressionOutput(
    data: NDArray,
    label: NDArray,
    grad_scale: Real = 1.0,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def MakeLoss(
    data: NDArray,
    grad_scale: Real = 1.0,
    valid_thresh: Real = 0.0,
    normalization: Literal["batch", "null", "valid"] | str = "null",
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """The array itself as a loss, whose gradient is `grad_scale`, whatever is above it.

    Args:
        data: the loss of each example.
        grad_scale: the gradient of each element.
        valid_thresh: an element counts as valid if it is above this.
        normalization: divide the gradient by nothing ("null"), by the number of rows ("batch"),
            or by the number of valid elements, at least 1 ("valid").
    """

@overload
def MakeLoss(data: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
@overload
def Pad(
    data: NDArray,
    mode: Literal["constant", "edge", "reflect"] | str,
    pad_width: Sizes,
    constant_value: Real = 0.0,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Widens the array at its borders. Any dimension can be padded; MXNet pads all but two.

    Args:
        data: an array of any shape.
        mode: fill with a constant, with the border elements, or with a reflection about them.
        pad_width: how much before and after, for each dimension in turn.
        constant_value: the constant.
    """

@overload
def Pad(data: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
@overload
def Pooling(
    data: NDArray,
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
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
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
def Pooling(data: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
@overload
def Pooling_v1(
    data: NDArray,
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
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
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
def Pooling_v1(data: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
@overload
def RMSNorm(
    data: NDArray,
    gamma: NDArray,
    *,
    axis: Whole = -1,
    eps: Real = 1e-06,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Scales along one axis by the root of the mean square: ``gamma * data / rms``.

    Zhang and Sennrich, "Root mean square layer normalization", 2019.
    ``rms = sqrt(mean(data ** 2) + eps)``.

    Args:
        data: any shape, floating point.
        gamma: (data.shape[axis],), the scale.
        axis: what is normalized.
        eps: keeps the root from zero.

    Returns:
        The shape and dtype of `data`. Narrow floats are computed in float32.
    """

@overload
def RMSNorm(
    data: NDArray,
    gamma: NDArray,
    axis: Whole = -1,
    eps: Real = 1e-06,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def RMSNorm(data: NDArray, gamma: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
@overload
def RNN(
    data: NDArray,
    parameters: NDArray,
    state: NDArray,
    state_cell: NDArray | Any = None,
    sequence_length: NDArray | Any = None,
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
    out: NDArray | Any = None,
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
def RNN(
    data: NDArray,
    parameters: NDArray,
    state: NDArray,
    state_cell: NDArray | Any,
    sequence_length: NDArray | Any,
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
    out: NDArray | Any = None,
    name: str | Any = None,
) -> Any: ...
@overload
def RNN(
    data: NDArray,
    parameters: NDArray,
    state: NDArray,
    state_cell: NDArray | Any,
    sequence_length: NDArray | Any,
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
    out: NDArray | Any = None,
    name: str | Any = None,
) -> Any: ...
@overload
def RNN(
    data: NDArray,
    parameters: NDArray,
    state: NDArray,
    state_cell: NDArray | Any = None,
    sequence_length: NDArray | Any = None,
    *,
    _unpacked: object,
    **options: object,
) -> Any: ...
@overload
def ROIPooling(
    data: NDArray,
    rois: NDArray,
    *,
    pooled_size: Sizes,
    spatial_scale: Real,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
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
def ROIPooling(
    data: NDArray,
    rois: NDArray,
    pooled_size: Sizes,
    spatial_scale: Real,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def ROIPooling(
    data: NDArray, rois: NDArray, *, _unpacked: object, **options: object
) -> NDArray: ...
@overload
def Reshape(
    data: NDArray,
    shape: Sizes = (),
    reverse: Switch = False,
    target_shape: Sizes = (),
    keep_highest: Switch = False,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """The same elements in another shape.

    Args:
        data: an array of any shape.
        shape: the new sizes; 0 copies a dimension, -1 is found, -2 copies all that remain, -3
            joins two, -4 splits one into the two sizes that follow.
        reverse: read the codes from the right.
        target_shape: as `shape`, from MXNet's first versions: 0 is found.
        keep_highest: with `target_shape`: the first dimension stays as it is.
    """

@overload
def Reshape(data: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
@overload
def SVMOutput(
    data: NDArray,
    label: NDArray,
    *,
    margin: Real = 1.0,
    regularization_coefficient: Real = 1.0,
    use_linear: Switch = False,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Passes on the scores; the gradient is that of the hinge loss of each class against the rest.

    It does not depend on what is done with the output later. The loss of a score s is
    ``max(0, margin - t * s)**2`` with t = 1 for the class of the label and -1 for the others.

    Args:
        data: (batch, classes), scores.
        label: (batch,), the class of each.
        margin: see above.
        regularization_coefficient: a factor of the gradient.
        use_linear: without the square.

    Returns:
        The shape and dtype of `data`.
    """

@overload
def SVMOutput(
    data: NDArray,
    label: NDArray,
    margin: Real = 1.0,
    regularization_coefficient: Real = 1.0,
    use_linear: Switch = False,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def SVMOutput(
    data: NDArray, label: NDArray, *, _unpacked: object, **options: object
) -> NDArray: ...
@overload
def SequenceLast(
    data: NDArray,
    sequence_length: NDArray | Any = None,
    *,
    use_sequence_length: Switch = False,
    axis: Whole = 0,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """The last step of each sequence.

    Args:
        data: (steps, batch, ...), or (batch, steps, ...) with ``axis=1``.
        sequence_length: (batch,), the number of steps of each sequence. A length below 1 counts
            as 1, one above `steps` as `steps`; MXNet reads outside the array there.
        use_sequence_length: whether `sequence_length` is given; without it all are of full length.
        axis: the axis of the steps.

    Returns:
        (batch, ...), of the dtype of `data`.
    """

@overload
def SequenceLast(
    data: NDArray,
    sequence_length: NDArray | Any = None,
    use_sequence_length: Switch = False,
    axis: Whole = 0,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def SequenceLast(
    data: NDArray, sequence_length: NDArray | Any = None, *, _unpacked: object, **options: object
) -> NDArray: ...
@overload
def SequenceMask(
    data: NDArray,
    sequence_length: NDArray | Any = None,
    *,
    use_sequence_length: Switch = False,
    value: Real = 0.0,
    axis: Whole = 0,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
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
def SequenceMask(
    data: NDArray,
    sequence_length: NDArray | Any = None,
    use_sequence_length: Switch = False,
    value: Real = 0.0,
    axis: Whole = 0,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def SequenceMask(
    data: NDArray, sequence_length: NDArray | Any = None, *, _unpacked: object, **options: object
) -> NDArray: ...
@overload
def SequenceReverse(
    data: NDArray,
    sequence_length: NDArray | Any = None,
    *,
    use_sequence_length: Switch = False,
    axis: Whole = 0,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Puts the steps of each sequence in reverse order; what comes after its end stays.

    Args:
        data: (steps, batch, ...), or (batch, steps, ...) with ``axis=1``, which MXNet lacks.
        sequence_length: (batch,), the number of steps of each sequence. One above `steps` counts
            as `steps`; MXNet reads outside the array there.
        use_sequence_length: whether `sequence_length` is given; without it all are of full length.
        axis: the axis of the steps.

    Returns:
        The shape and dtype of `data`.
    """

@overload
def SequenceReverse(
    data: NDArray,
    sequence_length: NDArray | Any = None,
    use_sequence_length: Switch = False,
    axis: Whole = 0,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def SequenceReverse(
    data: NDArray, sequence_length: NDArray | Any = None, *, _unpacked: object, **options: object
) -> NDArray: ...
@overload
def SliceChannel(
    data: NDArray,
    num_outputs: Whole,
    axis: Whole = 1,
    squeeze_axis: Switch = False,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> Any:
    """Splits the array into equal parts along an axis.

    Args:
        data: an array of any shape.
        num_outputs: how many parts.
        squeeze_axis: remove the axis, which must then have size 1 in the parts.
    """

@overload
def SliceChannel(data: NDArray, *, _unpacked: object, **options: object) -> Any: ...
@overload
def Softmax(
    data: NDArray,
    label: NDArray,
    *,
    grad_scale: Real = 1.0,
    ignore_label: Real = -1.0,
    multi_output: Switch = False,
    use_ignore: Switch = False,
    preserve_shape: Switch = False,
    normalization: Literal["batch", "null", "valid"] | str = "null",
    out_grad: Switch = False,
    smooth_alpha: Real = 0.0,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Softmax whose gradient is that of the cross entropy with the labels.

    The gradient with respect to `data` is ``grad_scale * (softmax - onehot(label))``, whatever is
    done with the output later; `label` gets none.

    Args:
        data: (batch, classes), more axes being flattened into the classes.
        label: (batch,) class indices, whose fraction does not count; or probabilities in the
            shape of `data`, which makes the gradient ``grad_scale * (softmax - label)``.
        grad_scale: a factor of the gradient.
        ignore_label: the label meant by `use_ignore` and normalization='valid'.
        multi_output: `data` is (batch, classes, *spatial), `label` (batch, *spatial), and the
            gradient is divided by the spatial size (but not with normalization='valid').
        use_ignore: give elements labeled `ignore_label` no gradient.
        preserve_shape: `data` is (..., classes), `label` (...).
        normalization: divides the gradient: 'null' by nothing, 'batch' by the number of rows,
            'valid' by the number of labels that are not `ignore_label`.
        out_grad: multiply the gradient by that of the output. (MXNet 1.9.1 multiplies by the
            output itself; this does what its documentation says.)
        smooth_alpha: label smoothing: the onehot is ``1 - smooth_alpha`` at the label and
            ``smooth_alpha / (classes - 1)`` elsewhere. Not with multi_output, as in MXNet.

    Returns:
        The softmax, the shape and dtype of `data`.
    """

@overload
def Softmax(
    data: NDArray,
    label: NDArray,
    grad_scale: Real = 1.0,
    ignore_label: Real = -1.0,
    multi_output: Switch = False,
    use_ignore: Switch = False,
    preserve_shape: Switch = False,
    normalization: Literal["batch", "null", "valid"] | str = "null",
    out_grad: Switch = False,
    smooth_alpha: Real = 0.0,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def Softmax(data: NDArray, label: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
def SoftmaxActivation(
    data: NDArray,
    mode: Literal["channel", "instance"] | str = "instance",
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Computes softmax over the last axis, or with mode='channel' over axis 1.

    Args:
        data: (batch, ...).
        mode: see above.

    Returns:
        The shape and dtype of `data`.
    """

@overload
def SoftmaxOutput(
    data: NDArray,
    label: NDArray,
    *,
    grad_scale: Real = 1.0,
    ignore_label: Real = -1.0,
    multi_output: Switch = False,
    use_ignore: Switch = False,
    preserve_shape: Switch = False,
    normalization: Literal["batch", "null", "valid"] | str = "null",
    out_grad: Switch = False,
    smooth_alpha: Real = 0.0,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Softmax whose gradient is that of the cross entropy with the labels.

    The gradient with respect to `data` is ``grad_scale * (softmax - onehot(label))``, whatever is
    done with the output later; `label` gets none.

    Args:
        data: (batch, classes), more axes being flattened into the classes.
        label: (batch,) class indices, whose fraction does not count; or probabilities in the
            shape of `data`, which makes the gradient ``grad_scale * (softmax - label)``.
        grad_scale: a factor of the gradient.
        ignore_label: the label meant by `use_ignore` and normalization='valid'.
        multi_output: `data` is (batch, classes, *spatial), `label` (batch, *spatial), and the
            gradient is divided by the spatial size (but not with normalization='valid').
        use_ignore: give elements labeled `ignore_label` no gradient.
        preserve_shape: `data` is (..., classes), `label` (...).
        normalization: divides the gradient: 'null' by nothing, 'batch' by the number of rows,
            'valid' by the number of labels that are not `ignore_label`.
        out_grad: multiply the gradient by that of the output. (MXNet 1.9.1 multiplies by the
            output itself; this does what its documentation says.)
        smooth_alpha: label smoothing: the onehot is ``1 - smooth_alpha`` at the label and
            ``smooth_alpha / (classes - 1)`` elsewhere. Not with multi_output, as in MXNet.

    Returns:
        The softmax, the shape and dtype of `data`.
    """

@overload
def SoftmaxOutput(
    data: NDArray,
    label: NDArray,
    grad_scale: Real = 1.0,
    ignore_label: Real = -1.0,
    multi_output: Switch = False,
    use_ignore: Switch = False,
    preserve_shape: Switch = False,
    normalization: Literal["batch", "null", "valid"] | str = "null",
    out_grad: Switch = False,
    smooth_alpha: Real = 0.0,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def SoftmaxOutput(
    data: NDArray, label: NDArray, *, _unpacked: object, **options: object
) -> NDArray: ...
@overload
def SpatialTransformer(
    data: NDArray,
    loc: NDArray,
    *,
    target_shape: Sizes = (0, 0),
    transform_type: Literal["affine"] | str,
    sampler_type: Literal["bilinear"] | str,
    cudnn_off: Switch | None = None,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Moves images by affine maps: `GridGenerator` and `BilinearSampler` in one.

    Args:
        data: (batch, channels, height, width).
        loc: (batch, 6), the maps from new places to old ones.
        target_shape: (height, width) of the result.
        transform_type: 'affine' is the only one.
        sampler_type: 'bilinear' is the only one.
        cudnn_off: without meaning here; read for MXNet's sake.

    Returns:
        (batch, channels, *target_shape).
    """

@overload
def SpatialTransformer(
    data: NDArray,
    loc: NDArray,
    target_shape: Sizes = (0, 0),
    *,
    transform_type: Literal["affine"] | str,
    sampler_type: Literal["bilinear"] | str,
    cudnn_off: Switch | None = None,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def SpatialTransformer(
    data: NDArray,
    loc: NDArray,
    target_shape: Sizes,
    transform_type: Literal["affine"] | str,
    sampler_type: Literal["bilinear"] | str,
    cudnn_off: Switch | None = None,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def SpatialTransformer(
    data: NDArray, loc: NDArray, *, _unpacked: object, **options: object
) -> NDArray: ...
@overload
def SwapAxis(
    data: NDArray,
    dim1: Whole = 0,
    dim2: Whole = 0,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Exchanges two axes.

    Args:
        data: an array of any shape.
    """

@overload
def SwapAxis(data: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
@overload
def UpSampling(
    *data: NDArray | Sequence[NDArray],
    scale: Whole,
    num_filter: Whole = 0,
    sample_type: Literal["bilinear", "nearest"] | str,
    multi_input_mode: Literal["concat", "sum"] | str = "concat",
    workspace: Whole = 512,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Enlarges images.

    Args:
        data: with sample_type='nearest' any number of (batch, channels, height, width), which all
            grow to the size that the first has times `scale`; with 'bilinear' one of these, and
            then the weight of the transposed convolution, (channels, 1, k, k) with ``k = 2 * scale
            - scale % 2``.
        scale: the factor.
        num_filter: the number of channels, with 'bilinear' alone.
        sample_type: repeat each pixel, or apply the transposed convolution, which interpolates
            with the weight that the initializer `Bilinear` makes.
        multi_input_mode: how several images become one: side by side as channels, or summed.
        workspace: without meaning here; read for MXNet's sake.

    Returns:
        (batch, channels, scale * height, scale * width).
    """

@overload
def UpSampling(
    *data: NDArray | Sequence[NDArray], _unpacked: object, **options: object
) -> NDArray: ...
def abs(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """Absolute value.

    Args:
        data: an array of any shape.
    """

@overload
def adam_update(
    weight: NDArray,
    grad: NDArray,
    mean: NDArray,
    var: NDArray,
    *,
    lr: Real,
    beta1: Real = 0.9,
    beta2: Real = 0.999,
    epsilon: Real = 1e-08,
    wd: Real = 0.0,
    rescale_grad: Real = 1.0,
    clip_gradient: Real = -1.0,
    lazy_update: Switch = True,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Adam (Kingma and Ba, 2014) without its bias correction, which the caller puts into `lr`.

    With ``g = clip(grad + wd * weight)``: ``mean = beta1 * mean + (1 - beta1) * g``,
    ``var = beta2 * var + (1 - beta2) * g**2``, ``weight - lr * mean / (sqrt(var) + epsilon)``.

    Args:
        weight: what is updated, of any shape.
        grad: the gradient, in the shape of `weight`.
        mean: the first moment, overwritten.
        var: the second moment, overwritten.
        lr: the learning rate.
        beta1: the decay of the first moment.
        beta2: the decay of the second moment.
        epsilon: keeps the division from zero.
        wd: the weight decay.
        rescale_grad: what the gradient is multiplied by first.
        clip_gradient: limits each element of the rescaled gradient; negative for no limit.
        lazy_update: of a row-sparse gradient, whether only the rows it holds are updated.
    """

@overload
def adam_update(
    weight: NDArray,
    grad: NDArray,
    mean: NDArray,
    var: NDArray,
    lr: Real,
    beta1: Real = 0.9,
    beta2: Real = 0.999,
    epsilon: Real = 1e-08,
    wd: Real = 0.0,
    rescale_grad: Real = 1.0,
    clip_gradient: Real = -1.0,
    lazy_update: Switch = True,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def adam_update(
    weight: NDArray,
    grad: NDArray,
    mean: NDArray,
    var: NDArray,
    *,
    _unpacked: object,
    **options: object,
) -> NDArray: ...
def add_n(
    *args: NDArray | Sequence[NDArray],
    num_args: Whole = 0,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Sum of any number of arrays of equal shape.

    Args:
        args: the arrays.
        num_args: how many there are; saved symbols hold it, calls need not give it.
    """

def amp_cast(
    data: NDArray, dtype: DTypeLike, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """Converts floating elements for mixed-precision training; the gradient is converted back.

    Args:
        data: an array of any shape.
        dtype: of the result.
    """

@overload
def amp_multicast(
    *data: NDArray | Sequence[NDArray],
    num_outputs: Whole,
    cast_narrow: Switch = False,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> Any:
    """Converts floating arrays to the widest of their dtypes; other arrays are passed on.

    Args:
        data: arrays of any shapes.
        num_outputs: how many there are.
        cast_narrow: to the narrowest instead.

    Returns:
        As many arrays.
    """

@overload
def amp_multicast(
    *data: NDArray | Sequence[NDArray], _unpacked: object, **options: object
) -> Any: ...
def arccos(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """Inverse cosine, from 0 to pi.

    Args:
        data: an array of any shape.
    """

def arccosh(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """Inverse hyperbolic cosine, of numbers from 1 on.

    Args:
        data: an array of any shape.
    """

def arcsin(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """Inverse sine, from -pi/2 to pi/2.

    Args:
        data: an array of any shape.
    """

def arcsinh(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """Inverse hyperbolic sine.

    Args:
        data: an array of any shape.
    """

def arctan(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """Inverse tangent, from -pi/2 to pi/2.

    Args:
        data: an array of any shape.
    """

def arctanh(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """Inverse hyperbolic tangent, of numbers from -1 to 1.

    Args:
        data: an array of any shape.
    """

@overload
def argmax(
    data: NDArray,
    axis: Whole | None = None,
    keepdims: Switch = False,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Position of the largest element.

    Positions have the dtype of `data`, as in MXNet; of equal elements the first counts.

    Args:
        data: an array of any shape.
        axis: the axis; None for the position in the flattened array.
        keepdims: keep the axis with size 1.
    """

@overload
def argmax(data: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
def argmax_channel(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """Position of the largest element along axis 1, in the dtype of `data`.

    Args:
        data: an array of any shape.
    """

@overload
def argmin(
    data: NDArray,
    axis: Whole | None = None,
    keepdims: Switch = False,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Position of the smallest element.

    Positions have the dtype of `data`, as in MXNet; of equal elements the first counts.

    Args:
        data: an array of any shape.
        axis: the axis; None for the position in the flattened array.
        keepdims: keep the axis with size 1.
    """

@overload
def argmin(data: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
@overload
def argsort(
    data: NDArray,
    axis: Whole | None = -1,
    is_ascend: Switch = True,
    dtype: DTypeLike = "float32",
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """The positions of the elements in order.

    Args:
        data: an array of any shape.
        axis: sort along this axis; None for the flattened array.
        is_ascend: the smallest first; otherwise the largest.
        dtype: the dtype of the positions.
    """

@overload
def argsort(data: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
@overload
def batch_dot(
    lhs: NDArray,
    rhs: NDArray,
    *,
    transpose_a: Switch = False,
    transpose_b: Switch = False,
    forward_stype: Literal["default", "csr", "row_sparse"] | str | None = None,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
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
    lhs: NDArray,
    rhs: NDArray,
    transpose_a: Switch = False,
    transpose_b: Switch = False,
    forward_stype: Literal["default", "csr", "row_sparse"] | str | None = None,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def batch_dot(lhs: NDArray, rhs: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
def batch_take(
    a: NDArray, indices: NDArray, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """One element of each row of a matrix: ``a[i, indices[i]]``; positions are clipped."""

def broadcast_add(
    lhs: NDArray, rhs: NDArray, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """Sum of two arrays.

    The shapes broadcast as in NumPy.

    Args:
        lhs: an array of any shape.
        rhs: an array.
    """

@overload
def broadcast_axes(
    data: NDArray,
    axis: Sizes = (),
    size: Sizes = (),
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Copies along some axes, which must have size 1.

    Args:
        data: an array of any shape.
        axis: the axes.
        size: the new size of each of them.
    """

@overload
def broadcast_axes(data: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
@overload
def broadcast_axis(
    data: NDArray,
    axis: Sizes = (),
    size: Sizes = (),
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Copies along some axes, which must have size 1.

    Args:
        data: an array of any shape.
        axis: the axes.
        size: the new size of each of them.
    """

@overload
def broadcast_axis(data: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
def broadcast_div(
    lhs: NDArray, rhs: NDArray, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """Quotient of two arrays; of integers, without the fraction.

    The shapes broadcast as in NumPy.

    Args:
        lhs: an array of any shape.
        rhs: an array.
    """

def broadcast_equal(
    lhs: NDArray, rhs: NDArray, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """1 where lhs equals rhs, otherwise 0.

    The shapes broadcast as in NumPy.

    Args:
        lhs: an array of any shape.
        rhs: an array.
    """

def broadcast_greater(
    lhs: NDArray, rhs: NDArray, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """1 where lhs is greater than rhs, otherwise 0.

    The shapes broadcast as in NumPy.

    Args:
        lhs: an array of any shape.
        rhs: an array.
    """

def broadcast_greater_equal(
    lhs: NDArray, rhs: NDArray, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """1 where lhs is at least rhs, otherwise 0.

    The shapes broadcast as in NumPy.

    Args:
        lhs: an array of any shape.
        rhs: an array.
    """

def broadcast_hypot(
    lhs: NDArray, rhs: NDArray, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """Length of the hypotenuse: sqrt(lhs**2 + rhs**2).

    The shapes broadcast as in NumPy.

    Args:
        lhs: an array of any shape.
        rhs: an array.
    """

def broadcast_lesser(
    lhs: NDArray, rhs: NDArray, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """1 where lhs is less than rhs, otherwise 0.

    The shapes broadcast as in NumPy.

    Args:
        lhs: an array of any shape.
        rhs: an array.
    """

def broadcast_lesser_equal(
    lhs: NDArray, rhs: NDArray, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """1 where lhs is at most rhs, otherwise 0.

    The shapes broadcast as in NumPy.

    Args:
        lhs: an array of any shape.
        rhs: an array.
    """

@overload
def broadcast_like(
    lhs: NDArray,
    rhs: NDArray,
    *,
    lhs_axes: Wholes = None,
    rhs_axes: Wholes = None,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Copies `lhs` along axes of size 1 until it has the shape of `rhs`.

    Args:
        lhs: an array of any shape.
        rhs: only its shape counts.
        lhs_axes: broadcast these axes only.
        rhs_axes: the axes of `rhs` that have their new sizes.
    """

@overload
def broadcast_like(
    lhs: NDArray,
    rhs: NDArray,
    lhs_axes: Wholes = None,
    rhs_axes: Wholes = None,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def broadcast_like(
    lhs: NDArray, rhs: NDArray, *, _unpacked: object, **options: object
) -> NDArray: ...
def broadcast_logical_and(
    lhs: NDArray, rhs: NDArray, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """1 where neither lhs nor rhs is zero, otherwise 0.

    The shapes broadcast as in NumPy.

    Args:
        lhs: an array of any shape.
        rhs: an array.
    """

def broadcast_logical_or(
    lhs: NDArray, rhs: NDArray, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """1 where lhs or rhs is not zero, otherwise 0.

    The shapes broadcast as in NumPy.

    Args:
        lhs: an array of any shape.
        rhs: an array.
    """

def broadcast_logical_xor(
    lhs: NDArray, rhs: NDArray, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """1 where just one of lhs and rhs is zero, otherwise 0.

    The shapes broadcast as in NumPy.

    Args:
        lhs: an array of any shape.
        rhs: an array.
    """

def broadcast_maximum(
    lhs: NDArray, rhs: NDArray, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """The larger of two elements; the gradient of a tie goes to lhs.

    The shapes broadcast as in NumPy.

    Args:
        lhs: an array of any shape.
        rhs: an array.
    """

def broadcast_minimum(
    lhs: NDArray, rhs: NDArray, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """The smaller of two elements; the gradient of a tie goes to lhs.

    The shapes broadcast as in NumPy.

    Args:
        lhs: an array of any shape.
        rhs: an array.
    """

def broadcast_minus(
    lhs: NDArray, rhs: NDArray, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """Difference of two arrays.

    The shapes broadcast as in NumPy.

    Args:
        lhs: an array of any shape.
        rhs: an array.
    """

def broadcast_mod(
    lhs: NDArray, rhs: NDArray, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """Remainder, with the sign of the divisor; 0 where that is 0.

    The shapes broadcast as in NumPy.

    Args:
        lhs: an array of any shape.
        rhs: an array.
    """

def broadcast_mul(
    lhs: NDArray, rhs: NDArray, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """Product of two arrays, element by element.

    The shapes broadcast as in NumPy.

    Args:
        lhs: an array of any shape.
        rhs: an array.
    """

def broadcast_not_equal(
    lhs: NDArray, rhs: NDArray, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """1 where lhs differs from rhs, otherwise 0.

    The shapes broadcast as in NumPy.

    Args:
        lhs: an array of any shape.
        rhs: an array.
    """

def broadcast_plus(
    lhs: NDArray, rhs: NDArray, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """Sum of two arrays.

    The shapes broadcast as in NumPy.

    Args:
        lhs: an array of any shape.
        rhs: an array.
    """

def broadcast_power(
    lhs: NDArray, rhs: NDArray, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """The first array to the power of the second.

    The shapes broadcast as in NumPy.

    Args:
        lhs: an array of any shape.
        rhs: an array.
    """

def broadcast_sub(
    lhs: NDArray, rhs: NDArray, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """Difference of two arrays.

    The shapes broadcast as in NumPy.

    Args:
        lhs: an array of any shape.
        rhs: an array.
    """

def broadcast_to(
    data: NDArray, shape: Sizes = (), *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """Copies along axes of size 1 until the array has this shape; 0 keeps a dimension as it is.

    Args:
        data: an array of any shape.
        shape: of the result.
    """

def cast(
    data: NDArray, dtype: DTypeLike, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """Converts the elements to another dtype, as C does: floats are truncated, integers wrap.

    Args:
        data: an array of any shape.
        dtype: of the result.
    """

def cbrt(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """Cube root, of negative numbers too.

    Args:
        data: an array of any shape.
    """

def ceil(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """Smallest whole number not below the element.

    Args:
        data: an array of any shape.
    """

@overload
def choose_element_0index(
    data: NDArray,
    index: NDArray,
    *,
    axis: Whole | None = -1,
    keepdims: Switch = False,
    mode: Literal["clip", "wrap"] | str = "clip",
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """One element along an axis for each place of the others: ``data[i, index[i]]``.

    Args:
        data: an array of any shape.
        index: positions; the shape of `data` without the axis, or with size 1 there.
        keepdims: keep the axis with size 1.
        mode: positions outside are clipped or wrap around.
    """

@overload
def choose_element_0index(
    data: NDArray,
    index: NDArray,
    axis: Whole | None = -1,
    keepdims: Switch = False,
    mode: Literal["clip", "wrap"] | str = "clip",
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def choose_element_0index(
    data: NDArray, index: NDArray, *, _unpacked: object, **options: object
) -> NDArray: ...
@overload
def clip(
    data: NDArray, a_min: Real, a_max: Real, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """Limits each element to the range from `a_min` to `a_max`.

    The gradient is 1 inside the range, both ends included, and 0 outside.

    Args:
        data: an array of any shape.
    """

@overload
def clip(data: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
@overload
def col2im(
    data: NDArray,
    output_size: Sizes,
    kernel: Sizes,
    stride: Sizes = (),
    dilate: Sizes = (),
    pad: Sizes = (),
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Adds patches up to an image, each where it came from: the transpose of `im2col`.

    Args:
        data: (batch, channel * elements of the window, places).
        output_size: the spatial size of the image.
        kernel: the size of the window.
        stride: the steps between its places; default 1.
        dilate: the steps between its elements; default 1.
        pad: how many zeros were put on both sides of each axis; default 0.

    Returns:
        (batch, channel, *output_size).
    """

@overload
def col2im(data: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
@overload
def concat(
    *data: NDArray | Sequence[NDArray],
    num_args: Whole = 0,
    dim: Whole = 1,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Joins arrays along an existing axis.

    Args:
        data: arrays of equal shapes, except along `dim`.
        num_args: how many there are; saved symbols hold it, calls need not give it.
        dim: the axis.
    """

@overload
def concat(*data: NDArray | Sequence[NDArray], _unpacked: object, **options: object) -> NDArray: ...
def cos(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """Cosine, of radians.

    Args:
        data: an array of any shape.
    """

def cosh(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """Hyperbolic cosine.

    Args:
        data: an array of any shape.
    """

@overload
def crop(
    data: NDArray,
    begin: Places,
    end: Places,
    step: Places = (),
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """A region of the array, as Python's ``data[begin0:end0:step0, begin1:end1:step1]``.

    Args:
        data: an array of any shape.
        begin: where each slice begins; None for its natural begin, negative from the end.
        end: where each slice ends, not included.
        step: the step of each slice, may be negative; empty for 1.
    """

@overload
def crop(data: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
@overload
def ctc_loss(
    data: NDArray,
    label: NDArray,
    data_lengths: NDArray | Any = None,
    label_lengths: NDArray | Any = None,
    *,
    use_data_lengths: Switch = False,
    use_label_lengths: Switch = False,
    blank_label: Literal["first", "last"] | str = "first",
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """The negative logarithm of the probability of a sequence of labels, over all alignments.

    Args:
        data: (time, batch, classes), scores, of which softmax makes probabilities.
        label: (batch, length), classes, ended by padding.
        data_lengths: (batch,), how much of the time counts; with use_data_lengths=True alone.
        label_lengths: (batch,), how many labels count; with use_label_lengths=True alone, or else
            those before the first that is padding.
        use_data_lengths: whether `data_lengths` is given.
        use_label_lengths: whether `label_lengths` is given.
        blank_label: the class of blanks: 'first' is 0, and 0 is padding too; 'last' is the last
            one, and -1 is padding.

    Returns:
        (batch,). Labels that the time is too short for have an infinite loss without a gradient;
        no labels have that of blanks alone (for both MXNet returns what is no loss).
    """

@overload
def ctc_loss(
    data: NDArray,
    label: NDArray,
    data_lengths: NDArray | Any = None,
    label_lengths: NDArray | Any = None,
    use_data_lengths: Switch = False,
    use_label_lengths: Switch = False,
    blank_label: Literal["first", "last"] | str = "first",
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def ctc_loss(
    data: NDArray,
    label: NDArray,
    data_lengths: NDArray | Any = None,
    label_lengths: NDArray | Any = None,
    *,
    _unpacked: object,
    **options: object,
) -> NDArray: ...
@overload
def cumsum(
    a: NDArray,
    axis: Whole | None = None,
    dtype: DTypeLike = None,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Running sum along an axis, or of the flattened array where `axis` is None.

    Args:
        dtype: the dtype of the sums; None for that of `a`.
    """

@overload
def cumsum(a: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
def degrees(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """Radians to degrees.

    Args:
        data: an array of any shape.
    """

def depth_to_space(
    data: NDArray, block_size: Whole, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """Lays channels out as square blocks: (N, C b b, H, W) becomes (N, C, H b, W b).

    Args:
        data: an array of any shape.
    """

@overload
def diag(
    data: NDArray,
    k: Whole = 0,
    axis1: Whole = 0,
    axis2: Whole = 1,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """The diagonal of each matrix, or, of a vector, the matrix with it as diagonal.

    Args:
        data: an array of any shape.
        k: which diagonal: above (positive) or below (negative) the main one.
        axis1: the axis of the rows.
        axis2: the axis of the columns; the diagonal becomes the last axis of the result.
    """

@overload
def diag(data: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
@overload
def dot(
    lhs: NDArray,
    rhs: NDArray,
    *,
    transpose_a: Switch = False,
    transpose_b: Switch = False,
    forward_stype: Literal["default", "csr", "row_sparse"] | str | None = None,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Sum of products over the last axis of `lhs` and the first axis of `rhs`.

    Of two matrices this is their product, of two vectors the inner product, of shape (1,). Of more
    dimensions, (a, b, c) and (c, d, e) give (a, b, d, e).

    Args:
        lhs: an array of at least one dimension.
        rhs: an array of at least one dimension.
        transpose_a: sum over the first axis of `lhs` instead.
        transpose_b: sum over the last axis of `rhs` instead.
        forward_stype: the storage of the result in MXNet; results here are always dense.
    """

@overload
def dot(
    lhs: NDArray,
    rhs: NDArray,
    transpose_a: Switch = False,
    transpose_b: Switch = False,
    forward_stype: Literal["default", "csr", "row_sparse"] | str | None = None,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def dot(lhs: NDArray, rhs: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
def elemwise_add(
    lhs: NDArray, rhs: NDArray, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """Sum of two arrays.

    The arrays must have equal shapes.

    Args:
        lhs: an array of any shape.
        rhs: an array.
    """

def elemwise_div(
    lhs: NDArray, rhs: NDArray, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """Quotient of two arrays; of integers, without the fraction.

    The arrays must have equal shapes.

    Args:
        lhs: an array of any shape.
        rhs: an array.
    """

def elemwise_mul(
    lhs: NDArray, rhs: NDArray, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """Product of two arrays, element by element.

    The arrays must have equal shapes.

    Args:
        lhs: an array of any shape.
        rhs: an array.
    """

def elemwise_sub(
    lhs: NDArray, rhs: NDArray, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """Difference of two arrays.

    The arrays must have equal shapes.

    Args:
        lhs: an array of any shape.
        rhs: an array.
    """

def erf(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """Error function.

    Args:
        data: an array of any shape.
    """

def erfinv(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """Inverse of the error function, of numbers from -1 to 1.

    Args:
        data: an array of any shape.
    """

def exp(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """e to the power of the element.

    Args:
        data: an array of any shape.
    """

def expand_dims(
    data: NDArray, axis: Whole, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """A new axis of size 1 at this position.

    Args:
        data: an array of any shape.
    """

def expm1(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """exp(x) - 1, exact for small x.

    Args:
        data: an array of any shape.
    """

def fill_element_0index(
    lhs: NDArray, mhs: NDArray, rhs: NDArray, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """Replaces one element of each row; indexing does so too.

    Args:
        lhs: (rows, columns).
        mhs: (rows,), the new elements.
        rhs: (rows,), their columns.
    """

def fix(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """Nearest whole number towards zero.

    Args:
        data: an array of any shape.
    """

def flatten(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """All dimensions but the first joined into one: (batch, ...) becomes (batch, features).

    Args:
        data: an array of any shape.
    """

def flip(
    data: NDArray, axis: Sizes, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """Reverses the order of the elements along some axes.

    Args:
        data: an array of any shape.
    """

def floor(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """Largest whole number not above the element.

    Args:
        data: an array of any shape.
    """

@overload
def ftml_update(
    weight: NDArray,
    grad: NDArray,
    d: NDArray,
    v: NDArray,
    z: NDArray,
    *,
    lr: Real,
    beta1: Real = 0.6,
    beta2: Real = 0.999,
    epsilon: Real = 1e-08,
    t: Real,
    wd: Real = 0.0,
    rescale_grad: Real = 1.0,
    clip_grad: Real = -1.0,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Follow the moving leader (Zheng and Kwok, 2017, algorithm 1), step number `t` from 1.

    Args:
        weight: what is updated, of any shape.
        grad: the gradient, in the shape of `weight`.
        lr: the learning rate.
        beta1: the decay of the first moment.
        beta2: the decay of the second moment.
        epsilon: keeps the division from zero.
        t: the number of the step, from 1.
        wd: the weight decay.
        rescale_grad: what the gradient is multiplied by first.
    """

@overload
def ftml_update(
    weight: NDArray,
    grad: NDArray,
    d: NDArray,
    v: NDArray,
    z: NDArray,
    lr: Real,
    beta1: Real = 0.6,
    beta2: Real = 0.999,
    epsilon: Real = 1e-08,
    *,
    t: Real,
    wd: Real = 0.0,
    rescale_grad: Real = 1.0,
    clip_grad: Real = -1.0,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def ftml_update(
    weight: NDArray,
    grad: NDArray,
    d: NDArray,
    v: NDArray,
    z: NDArray,
    lr: Real,
    beta1: Real,
    beta2: Real,
    epsilon: Real,
    t: Real,
    wd: Real = 0.0,
    rescale_grad: Real = 1.0,
    clip_grad: Real = -1.0,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def ftml_update(
    weight: NDArray,
    grad: NDArray,
    d: NDArray,
    v: NDArray,
    z: NDArray,
    *,
    _unpacked: object,
    **options: object,
) -> NDArray: ...
@overload
def ftrl_update(
    weight: NDArray,
    grad: NDArray,
    z: NDArray,
    n: NDArray,
    *,
    lr: Real,
    lamda1: Real = 0.01,
    beta: Real = 1.0,
    wd: Real = 0.0,
    rescale_grad: Real = 1.0,
    clip_gradient: Real = -1.0,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Follow the regularized leader (McMahan et al., "Ad click prediction", 2013, algorithm 1).

    With ``g = clip(grad)``: ``z += g - (sqrt(n + g**2) - sqrt(n)) * weight / lr``, ``n += g**2``,
    then ``(sign(z) * lamda1 - z) / ((beta + sqrt(n)) / lr + wd)`` where ``|z| > lamda1``, else 0.

    Args:
        weight: what is updated, of any shape.
        grad: the gradient, in the shape of `weight`.
        lr: the learning rate.
        wd: the weight decay.
        rescale_grad: what the gradient is multiplied by first.
        clip_gradient: limits each element of the rescaled gradient; negative for no limit.
    """

@overload
def ftrl_update(
    weight: NDArray,
    grad: NDArray,
    z: NDArray,
    n: NDArray,
    lr: Real,
    lamda1: Real = 0.01,
    beta: Real = 1.0,
    wd: Real = 0.0,
    rescale_grad: Real = 1.0,
    clip_gradient: Real = -1.0,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def ftrl_update(
    weight: NDArray, grad: NDArray, z: NDArray, n: NDArray, *, _unpacked: object, **options: object
) -> NDArray: ...
def gamma(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """Gamma function.

    Args:
        data: an array of any shape.
    """

def gammaln(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """log |gamma(x)|.

    Args:
        data: an array of any shape.
    """

def gather_nd(
    data: NDArray, indices: NDArray, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """Elements, or slices, of `data` at the given coordinates.

    Args:
        data: an array of any shape.
        indices: (m, ...): row i holds positions along dimension i; negative ones count from the
            end. One outside is an error, at once or where a value is next read.
    """

@overload
def hard_sigmoid(
    data: NDArray,
    alpha: Real = 0.2,
    beta: Real = 0.5,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """min(max(alpha x + beta, 0), 1): a piecewise linear approximation of the sigmoid.

    Args:
        data: an array of any shape.
    """

@overload
def hard_sigmoid(data: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
def identity(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """The array itself: copies.

    Args:
        data: an array of any shape.
    """

@overload
def im2col(
    data: NDArray,
    kernel: Sizes,
    stride: Sizes = (),
    dilate: Sizes = (),
    pad: Sizes = (),
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """The patches that a convolution's window sees, one in each column.

    A convolution is the product of its weights, as a matrix, with them.

    Args:
        data: (batch, channel, *spatial), with 1, 2 or 3 spatial axes.
        kernel: the size of the window.
        stride: the steps between its places; default 1.
        dilate: the steps between its elements; default 1.
        pad: how many zeros are put on both sides of each axis; default 0.

    Returns:
        (batch, channel * elements of the window, places).
    """

@overload
def im2col(data: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
def khatri_rao(
    *args: NDArray | Sequence[NDArray],
    num_args: Whole = 0,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Kronecker product of each column of matrices with those of the others (Khatri and Rao, 1968).

    Args:
        args: matrices (n, columns), (m, columns), ...
        num_args: how many there are; saved symbols hold it, calls need not give it.

    Returns:
        (n * m * ..., columns).
    """

@overload
def lamb_update_phase1(
    weight: NDArray,
    grad: NDArray,
    mean: NDArray,
    var: NDArray,
    *,
    beta1: Real = 0.9,
    beta2: Real = 0.999,
    epsilon: Real = 1e-06,
    t: Real,
    bias_correction: Switch = True,
    wd: Real,
    rescale_grad: Real = 1.0,
    clip_gradient: Real = -1.0,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """First half of LAMB (You et al., 2019): Adam's direction plus ``wd * weight``.

    Returns it; the second half scales it by the weight's norm over its own.

    Args:
        weight: what is updated, of any shape.
        grad: the gradient, in the shape of `weight`.
        mean: the first moment, overwritten.
        var: the second moment, overwritten.
        beta1: the decay of the first moment.
        beta2: the decay of the second moment.
        epsilon: keeps the division from zero.
        t: the number of the step, from 1.
        wd: the weight decay.
        rescale_grad: what the gradient is multiplied by first.
        clip_gradient: limits each element of the rescaled gradient; negative for no limit.
    """

@overload
def lamb_update_phase1(
    weight: NDArray,
    grad: NDArray,
    mean: NDArray,
    var: NDArray,
    beta1: Real = 0.9,
    beta2: Real = 0.999,
    epsilon: Real = 1e-06,
    *,
    t: Real,
    bias_correction: Switch = True,
    wd: Real,
    rescale_grad: Real = 1.0,
    clip_gradient: Real = -1.0,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def lamb_update_phase1(
    weight: NDArray,
    grad: NDArray,
    mean: NDArray,
    var: NDArray,
    beta1: Real,
    beta2: Real,
    epsilon: Real,
    t: Real,
    bias_correction: Switch = True,
    *,
    wd: Real,
    rescale_grad: Real = 1.0,
    clip_gradient: Real = -1.0,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def lamb_update_phase1(
    weight: NDArray,
    grad: NDArray,
    mean: NDArray,
    var: NDArray,
    beta1: Real,
    beta2: Real,
    epsilon: Real,
    t: Real,
    bias_correction: Switch,
    wd: Real,
    rescale_grad: Real = 1.0,
    clip_gradient: Real = -1.0,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def lamb_update_phase1(
    weight: NDArray,
    grad: NDArray,
    mean: NDArray,
    var: NDArray,
    *,
    _unpacked: object,
    **options: object,
) -> NDArray: ...
@overload
def lamb_update_phase2(
    weight: NDArray,
    g: NDArray,
    r1: NDArray,
    r2: NDArray,
    *,
    lr: Real,
    lower_bound: Real = -1.0,
    upper_bound: Real = -1.0,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Second half of LAMB: ``weight - lr * (r1 / r2) * g``.

    Args:
        weight: any shape.
        g: the first half's result.
        r1: (1,), the norm of `weight`, limited to the bounds that are not negative.
        r2: (1,), the norm of `g`. Where either norm is 0 their ratio counts as 1.
        lr: the learning rate.
        lower_bound: see `r1`.
        upper_bound: see `r1`.
    """

@overload
def lamb_update_phase2(
    weight: NDArray,
    g: NDArray,
    r1: NDArray,
    r2: NDArray,
    lr: Real,
    lower_bound: Real = -1.0,
    upper_bound: Real = -1.0,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def lamb_update_phase2(
    weight: NDArray, g: NDArray, r1: NDArray, r2: NDArray, *, _unpacked: object, **options: object
) -> NDArray: ...
def linalg_det(A: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """Determinant of a matrix. It has a gradient where the matrix is singular too.

    Args:
        A: (..., n, n).

    Returns:
        The leading dimensions of `A`; (1,) where there are none.
    """

def linalg_extractdiag(
    A: NDArray, offset: Whole = 0, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """A diagonal of a square matrix.

    Args:
        A: (..., n, n).
        offset: which: 0 is the main one, 1 that above it, -1 that below it.

    Returns:
        (..., n - abs(offset)).
    """

@overload
def linalg_extracttrian(
    A: NDArray,
    offset: Whole = 0,
    lower: Switch = True,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """A triangle of a square matrix as a vector: the lower one by rows, the upper one by columns.

    Args:
        A: (..., n, n).
        offset: the diagonal it begins at: 0 is the main one; above 0 the upper triangle from the
            diagonal so far above it, below 0 the lower triangle likewise.
        lower: which triangle where `offset` is 0.

    Returns:
        (..., m * (m + 1) / 2) with ``m = n - abs(offset)``.
    """

@overload
def linalg_extracttrian(A: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
def linalg_gelqf(A: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> list[NDArray]:
    """LQ factorization: ``A = L Q`` with lower triangular L and orthonormal rows in Q.

    Args:
        A: (..., n, m), n at most m, of rank n.

    Returns:
        Q, (..., n, m), and L, (..., n, n). The signs are LAPACK's.
    """

@overload
def linalg_gemm(
    A: NDArray,
    B: NDArray,
    C: NDArray,
    *,
    transpose_a: Switch = False,
    transpose_b: Switch = False,
    alpha: Real = 1.0,
    beta: Real = 1.0,
    axis: Whole = -2,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Product of matrices, added to a third: ``alpha * op(A) op(B) + beta * C``.

    Args:
        A: (..., n, k).
        B: (..., k, m), with the leading dimensions of `A`.
        C: (..., n, m).
        transpose_a: `A` is (..., k, n), and is transposed.
        transpose_b: `B` is (..., m, k), and is transposed.
        alpha: the factor of the product.
        beta: the factor of `C`.
        axis: the axis that holds the rows; the columns are the last one.

    Returns:
        (..., n, m).
    """

@overload
def linalg_gemm(
    A: NDArray,
    B: NDArray,
    C: NDArray,
    transpose_a: Switch = False,
    transpose_b: Switch = False,
    alpha: Real = 1.0,
    beta: Real = 1.0,
    axis: Whole = -2,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def linalg_gemm(
    A: NDArray, B: NDArray, C: NDArray, *, _unpacked: object, **options: object
) -> NDArray: ...
@overload
def linalg_gemm2(
    A: NDArray,
    B: NDArray,
    *,
    transpose_a: Switch = False,
    transpose_b: Switch = False,
    alpha: Real = 1.0,
    axis: Whole = -2,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Product of matrices: ``alpha * op(A) op(B)``.

    Args:
        A: (..., n, k).
        B: (..., k, m), with the leading dimensions of `A`.
        transpose_a: `A` is (..., k, n), and is transposed.
        transpose_b: `B` is (..., m, k), and is transposed.
        alpha: a factor.
        axis: the axis that holds the rows; the columns are the last one.

    Returns:
        (..., n, m).
    """

@overload
def linalg_gemm2(
    A: NDArray,
    B: NDArray,
    transpose_a: Switch = False,
    transpose_b: Switch = False,
    alpha: Real = 1.0,
    axis: Whole = -2,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def linalg_gemm2(A: NDArray, B: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
def linalg_inverse(A: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """Inverse of a matrix.

    Args:
        A: (..., n, n), not singular.

    Returns:
        The shape of `A`.
    """

def linalg_makediag(
    A: NDArray, offset: Whole = 0, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """A square matrix that has a diagonal and zeros elsewhere.

    Args:
        A: (..., n), the diagonal.
        offset: which: 0 is the main one, 1 that above it, -1 that below it.

    Returns:
        (..., m, m) with ``m = n + abs(offset)``.
    """

@overload
def linalg_maketrian(
    A: NDArray,
    offset: Whole = 0,
    lower: Switch = True,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """A square matrix that has a triangle and zeros elsewhere; undoes `extracttrian`.

    Args:
        A: (..., m * (m + 1) / 2), the triangle as `extracttrian` gives it.
        offset: see `extracttrian`.
        lower: which triangle where `offset` is 0.

    Returns:
        (..., n, n) with ``n = m + abs(offset)``.
    """

@overload
def linalg_maketrian(A: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
def linalg_potrf(
    A: NDArray, lower: Switch = True, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """Cholesky factor: the lower triangular L with positive diagonal and ``A = L L^T``.

    Args:
        A: (..., n, n), symmetric and positive definite. Of other matrices the symmetric part
            counts, so that the gradient is symmetric.
        lower: give L; else the upper triangular ``L^T``.

    Returns:
        The factor, of the shape of `A`.
    """

def linalg_potri(
    A: NDArray, lower: Switch = True, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """Inverse of a matrix from its Cholesky factor: ``A^-T A^-1``.

    Args:
        A: (..., n, n), triangular, as `potrf` returns it; only that triangle is read.
        lower: whether it is the lower one; else the result is ``A^-1 A^-T``.

    Returns:
        The inverse of ``A A^T``, or of ``A^T A``, of the shape of `A`.
    """

def linalg_slogdet(
    A: NDArray, *, out: NDArray | Any = None, name: str | Any = None
) -> list[NDArray]:
    """Sign of the determinant of a matrix, and logarithm of its absolute value.

    Args:
        A: (..., n, n).

    Returns:
        The signs, -1, 0 or 1, which have no gradient; and the logarithms. Both have the leading
        dimensions of `A`; (1,) where there are none.
    """

def linalg_sumlogdiag(A: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """Sum of the logarithms of the diagonal.

    Of a Cholesky factor this is half the logarithm of the determinant of its product.

    Args:
        A: (..., n, n), with a positive diagonal.

    Returns:
        The leading dimensions of `A`; (1,) where there are none.
    """

def linalg_syevd(A: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> list[NDArray]:
    """Eigenvectors and eigenvalues of a symmetric matrix: ``U A = diag(L) U``.

    The gradient needs eigenvalues that differ.

    Args:
        A: (..., n, n), symmetric. Of other matrices the symmetric part counts, so that the
            gradient is symmetric.

    Returns:
        U, (..., n, n), whose rows are the eigenvectors, each with its largest element positive;
        and L, (..., n), the eigenvalues in ascending order.
    """

@overload
def linalg_syrk(
    A: NDArray,
    transpose: Switch = False,
    alpha: Real = 1.0,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Product of a matrix with its transpose: ``alpha * A A^T``.

    Args:
        A: (..., n, m).
        transpose: ``alpha * A^T A`` instead.
        alpha: a factor.

    Returns:
        (..., n, n), or (..., m, m) with `transpose`; symmetric.
    """

@overload
def linalg_syrk(A: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
@overload
def linalg_trmm(
    A: NDArray,
    B: NDArray,
    *,
    transpose: Switch = False,
    rightside: Switch = False,
    lower: Switch = True,
    alpha: Real = 1.0,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Product with a triangular matrix: ``alpha * op(A) B``.

    Args:
        A: (..., n, n); only its lower triangle is read, or the upper one.
        B: (..., n, m), or (..., m, n) with `rightside`.
        transpose: `A` is transposed.
        rightside: ``alpha * B op(A)`` instead.
        lower: whether `A` is lower triangular.
        alpha: a factor.

    Returns:
        The shape of `B`.
    """

@overload
def linalg_trmm(
    A: NDArray,
    B: NDArray,
    transpose: Switch = False,
    rightside: Switch = False,
    lower: Switch = True,
    alpha: Real = 1.0,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def linalg_trmm(A: NDArray, B: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
@overload
def linalg_trsm(
    A: NDArray,
    B: NDArray,
    *,
    transpose: Switch = False,
    rightside: Switch = False,
    lower: Switch = True,
    alpha: Real = 1.0,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Solution X of a triangular system: ``op(A) X = alpha * B``.

    Args:
        A: (..., n, n), without zeros on the diagonal; only its lower triangle is read, or the
            upper one.
        B: (..., n, m), or (..., m, n) with `rightside`.
        transpose: `A` is transposed.
        rightside: of ``X op(A) = alpha * B`` instead.
        lower: whether `A` is lower triangular.
        alpha: a factor.

    Returns:
        X, of the shape of `B`.
    """

@overload
def linalg_trsm(
    A: NDArray,
    B: NDArray,
    transpose: Switch = False,
    rightside: Switch = False,
    lower: Switch = True,
    alpha: Real = 1.0,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def linalg_trsm(A: NDArray, B: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
def log(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """Natural logarithm.

    Args:
        data: an array of any shape.
    """

def log10(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """Logarithm to base 10.

    Args:
        data: an array of any shape.
    """

def log1p(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """log(1 + x), exact for small x.

    Args:
        data: an array of any shape.
    """

def log2(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """Logarithm to base 2.

    Args:
        data: an array of any shape.
    """

@overload
def log_softmax(
    data: NDArray,
    axis: Whole = -1,
    temperature: Real | None = None,
    dtype: DTypeLike = None,
    use_length: Switch = False,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
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
def log_softmax(data: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
def logical_not(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """1 where the element is zero, otherwise 0.

    Args:
        data: an array of any shape.
    """

def make_loss(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """The array itself as a loss: its gradient is 1, whatever is above it.

    Args:
        data: an array of any shape.
    """

@overload
def max(
    data: NDArray,
    axis: Wholes = None,
    keepdims: Switch = False,
    exclude: Switch = False,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Largest element over axes; the gradient goes to every element that equals it.

    Args:
        data: the array.
        axis: an axis or several; None or () for all.
        keepdims: keep the reduced axes with size 1.
        exclude: reduce over all axes but the given ones.
    """

@overload
def max(data: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
@overload
def max_axis(
    data: NDArray,
    axis: Wholes = None,
    keepdims: Switch = False,
    exclude: Switch = False,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Largest element over axes; the gradient goes to every element that equals it.

    Args:
        data: the array.
        axis: an axis or several; None or () for all.
        keepdims: keep the reduced axes with size 1.
        exclude: reduce over all axes but the given ones.
    """

@overload
def max_axis(data: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
@overload
def mean(
    data: NDArray,
    axis: Wholes = None,
    keepdims: Switch = False,
    exclude: Switch = False,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Mean over axes; of integers, without the fraction.

    Args:
        data: the array.
        axis: an axis or several; None or () for all.
        keepdims: keep the reduced axes with size 1.
        exclude: reduce over all axes but the given ones.
    """

@overload
def mean(data: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
@overload
def min(
    data: NDArray,
    axis: Wholes = None,
    keepdims: Switch = False,
    exclude: Switch = False,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Smallest element over axes; the gradient goes to every element that equals it.

    Args:
        data: the array.
        axis: an axis or several; None or () for all.
        keepdims: keep the reduced axes with size 1.
        exclude: reduce over all axes but the given ones.
    """

@overload
def min(data: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
@overload
def min_axis(
    data: NDArray,
    axis: Wholes = None,
    keepdims: Switch = False,
    exclude: Switch = False,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Smallest element over axes; the gradient goes to every element that equals it.

    Args:
        data: the array.
        axis: an axis or several; None or () for all.
        keepdims: keep the reduced axes with size 1.
        exclude: reduce over all axes but the given ones.
    """

@overload
def min_axis(data: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
@overload
def moments(
    data: NDArray,
    axes: Wholes = None,
    keepdims: Switch = False,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> list[NDArray]:
    """Mean and variance over axes; the variance divides by the number of elements.

    Args:
        data: an array of any shape.
        axes: an axis or several; None for all.
        keepdims: keep the reduced axes with size 1.
    """

@overload
def moments(data: NDArray, *, _unpacked: object, **options: object) -> list[NDArray]: ...
@overload
def mp_lamb_update_phase1(
    weight: NDArray,
    grad: NDArray,
    mean: NDArray,
    var: NDArray,
    weight32: NDArray,
    *,
    beta1: Real = 0.9,
    beta2: Real = 0.999,
    epsilon: Real = 1e-06,
    t: Real,
    bias_correction: Switch = True,
    wd: Real,
    rescale_grad: Real = 1.0,
    clip_gradient: Real = -1.0,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """lamb_update_phase1 in mixed precision; what it returns has the dtype of `weight32`.

    Args:
        weight: what is updated, of any shape.
        grad: the gradient, in the shape of `weight`.
        mean: the first moment, overwritten.
        var: the second moment, overwritten.
        weight32: the float32 copy of `weight`, overwritten.
        beta1: the decay of the first moment.
        beta2: the decay of the second moment.
        epsilon: keeps the division from zero.
        t: the number of the step, from 1.
        wd: the weight decay.
        rescale_grad: what the gradient is multiplied by first.
        clip_gradient: limits each element of the rescaled gradient; negative for no limit.
    """

@overload
def mp_lamb_update_phase1(
    weight: NDArray,
    grad: NDArray,
    mean: NDArray,
    var: NDArray,
    weight32: NDArray,
    beta1: Real = 0.9,
    beta2: Real = 0.999,
    epsilon: Real = 1e-06,
    *,
    t: Real,
    bias_correction: Switch = True,
    wd: Real,
    rescale_grad: Real = 1.0,
    clip_gradient: Real = -1.0,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def mp_lamb_update_phase1(
    weight: NDArray,
    grad: NDArray,
    mean: NDArray,
    var: NDArray,
    weight32: NDArray,
    beta1: Real,
    beta2: Real,
    epsilon: Real,
    t: Real,
    bias_correction: Switch = True,
    *,
    wd: Real,
    rescale_grad: Real = 1.0,
    clip_gradient: Real = -1.0,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def mp_lamb_update_phase1(
    weight: NDArray,
    grad: NDArray,
    mean: NDArray,
    var: NDArray,
    weight32: NDArray,
    beta1: Real,
    beta2: Real,
    epsilon: Real,
    t: Real,
    bias_correction: Switch,
    wd: Real,
    rescale_grad: Real = 1.0,
    clip_gradient: Real = -1.0,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def mp_lamb_update_phase1(
    weight: NDArray,
    grad: NDArray,
    mean: NDArray,
    var: NDArray,
    weight32: NDArray,
    *,
    _unpacked: object,
    **options: object,
) -> NDArray: ...
@overload
def mp_lamb_update_phase2(
    weight: NDArray,
    g: NDArray,
    r1: NDArray,
    r2: NDArray,
    weight32: NDArray,
    *,
    lr: Real,
    lower_bound: Real = -1.0,
    upper_bound: Real = -1.0,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """lamb_update_phase2 in mixed precision: the step is taken on `weight32`, and then rounded.

    `weight32` holds the new weight afterwards; MXNet leaves it as it was, against its own words.

    Args:
        weight: what is updated, of any shape.
        weight32: the float32 copy of `weight`, overwritten.
        lr: the learning rate.
    """

@overload
def mp_lamb_update_phase2(
    weight: NDArray,
    g: NDArray,
    r1: NDArray,
    r2: NDArray,
    weight32: NDArray,
    lr: Real,
    lower_bound: Real = -1.0,
    upper_bound: Real = -1.0,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def mp_lamb_update_phase2(
    weight: NDArray,
    g: NDArray,
    r1: NDArray,
    r2: NDArray,
    weight32: NDArray,
    *,
    _unpacked: object,
    **options: object,
) -> NDArray: ...
@overload
def mp_nag_mom_update(
    weight: NDArray,
    grad: NDArray,
    mom: NDArray,
    weight32: NDArray,
    *,
    lr: Real,
    momentum: Real = 0.0,
    wd: Real = 0.0,
    rescale_grad: Real = 1.0,
    clip_gradient: Real = -1.0,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """nag_mom_update in mixed precision.

    Args:
        weight: what is updated, of any shape.
        grad: the gradient, in the shape of `weight`.
        mom: the momentum so far, in the shape of `weight`, overwritten.
        weight32: the float32 copy of `weight`, overwritten.
        lr: the learning rate.
        momentum: how much of `mom` is kept.
        wd: the weight decay.
        rescale_grad: what the gradient is multiplied by first.
        clip_gradient: limits each element of the rescaled gradient; negative for no limit.
    """

@overload
def mp_nag_mom_update(
    weight: NDArray,
    grad: NDArray,
    mom: NDArray,
    weight32: NDArray,
    lr: Real,
    momentum: Real = 0.0,
    wd: Real = 0.0,
    rescale_grad: Real = 1.0,
    clip_gradient: Real = -1.0,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def mp_nag_mom_update(
    weight: NDArray,
    grad: NDArray,
    mom: NDArray,
    weight32: NDArray,
    *,
    _unpacked: object,
    **options: object,
) -> NDArray: ...
@overload
def mp_sgd_mom_update(
    weight: NDArray,
    grad: NDArray,
    mom: NDArray,
    weight32: NDArray,
    *,
    lr: Real,
    momentum: Real = 0.0,
    wd: Real = 0.0,
    rescale_grad: Real = 1.0,
    clip_gradient: Real = -1.0,
    lazy_update: Switch = True,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """sgd_mom_update in mixed precision.

    Args:
        weight: what is updated, of any shape.
        grad: the gradient, in the shape of `weight`.
        mom: the momentum so far, in the shape of `weight`, overwritten.
        weight32: the float32 copy of `weight`, overwritten.
        lr: the learning rate.
        momentum: how much of `mom` is kept.
        wd: the weight decay.
        rescale_grad: what the gradient is multiplied by first.
        clip_gradient: limits each element of the rescaled gradient; negative for no limit.
        lazy_update: of a row-sparse gradient, whether only the rows it holds are updated.
    """

@overload
def mp_sgd_mom_update(
    weight: NDArray,
    grad: NDArray,
    mom: NDArray,
    weight32: NDArray,
    lr: Real,
    momentum: Real = 0.0,
    wd: Real = 0.0,
    rescale_grad: Real = 1.0,
    clip_gradient: Real = -1.0,
    lazy_update: Switch = True,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def mp_sgd_mom_update(
    weight: NDArray,
    grad: NDArray,
    mom: NDArray,
    weight32: NDArray,
    *,
    _unpacked: object,
    **options: object,
) -> NDArray: ...
@overload
def mp_sgd_update(
    weight: NDArray,
    grad: NDArray,
    weight32: NDArray,
    *,
    lr: Real,
    wd: Real = 0.0,
    rescale_grad: Real = 1.0,
    clip_gradient: Real = -1.0,
    lazy_update: Switch = True,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """sgd_update in mixed precision.

    Args:
        weight: what is updated, of any shape.
        grad: the gradient, in the shape of `weight`.
        weight32: the float32 copy of `weight`, overwritten.
        lr: the learning rate.
        wd: the weight decay.
        rescale_grad: what the gradient is multiplied by first.
        clip_gradient: limits each element of the rescaled gradient; negative for no limit.
        lazy_update: of a row-sparse gradient, whether only the rows it holds are updated.
    """

@overload
def mp_sgd_update(
    weight: NDArray,
    grad: NDArray,
    weight32: NDArray,
    lr: Real,
    wd: Real = 0.0,
    rescale_grad: Real = 1.0,
    clip_gradient: Real = -1.0,
    lazy_update: Switch = True,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def mp_sgd_update(
    weight: NDArray, grad: NDArray, weight32: NDArray, *, _unpacked: object, **options: object
) -> NDArray: ...
@overload
def multi_lars(
    lrs: NDArray,
    weights_sum_sq: NDArray,
    grads_sum_sq: NDArray,
    wds: NDArray,
    *,
    eta: Real,
    eps: Real,
    rescale_grad: Real = 1.0,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Learning rates by layer (LARS; You, Gitman and Ginsburg, 2017) from the norms of the layers.

    ``lr * eta * |w| / (|g| + wd * |w| + eps)``, and `lr` alone where either norm is 0.

    Args:
        lrs: (layers,), learning rates.
        weights_sum_sq: (layers,), the squared norms of the weights.
        grads_sum_sq: (layers,), those of the gradients.
        wds: (layers,), weight decays.
        eta: the trust coefficient.
        eps: keeps the quotient from dividing by zero.
        rescale_grad: a factor of the gradients.
    """

@overload
def multi_lars(
    lrs: NDArray,
    weights_sum_sq: NDArray,
    grads_sum_sq: NDArray,
    wds: NDArray,
    eta: Real,
    eps: Real,
    rescale_grad: Real = 1.0,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def multi_lars(
    lrs: NDArray,
    weights_sum_sq: NDArray,
    grads_sum_sq: NDArray,
    wds: NDArray,
    *,
    _unpacked: object,
    **options: object,
) -> NDArray: ...
@overload
def multi_mp_sgd_mom_update(
    *data: NDArray | Sequence[NDArray],
    lrs: Reals,
    wds: Reals,
    momentum: Real = 0.0,
    rescale_grad: Real = 1.0,
    clip_gradient: Real = -1.0,
    num_weights: Whole = 1,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> Any:
    """Updates several weights at once, each by mp_sgd_mom_update.

    Args:
        data: for each weight weight, grad, mom, weight32.
        lrs: the learning rate of each weight.
        wds: the weight decay of each weight.
        momentum: how much of `mom` is kept.
        rescale_grad: what the gradient is multiplied by first.
        clip_gradient: limits each element of the rescaled gradient; negative for no limit.
        num_weights: how many weights there are.
    """

@overload
def multi_mp_sgd_mom_update(
    *data: NDArray | Sequence[NDArray], _unpacked: object, **options: object
) -> Any: ...
@overload
def multi_mp_sgd_update(
    *data: NDArray | Sequence[NDArray],
    lrs: Reals,
    wds: Reals,
    rescale_grad: Real = 1.0,
    clip_gradient: Real = -1.0,
    num_weights: Whole = 1,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> Any:
    """Updates several weights at once, each by mp_sgd_update.

    Args:
        data: for each weight weight, grad, weight32.
        lrs: the learning rate of each weight.
        wds: the weight decay of each weight.
        rescale_grad: what the gradient is multiplied by first.
        clip_gradient: limits each element of the rescaled gradient; negative for no limit.
        num_weights: how many weights there are.
    """

@overload
def multi_mp_sgd_update(
    *data: NDArray | Sequence[NDArray], _unpacked: object, **options: object
) -> Any: ...
@overload
def multi_sgd_mom_update(
    *data: NDArray | Sequence[NDArray],
    lrs: Reals,
    wds: Reals,
    momentum: Real = 0.0,
    rescale_grad: Real = 1.0,
    clip_gradient: Real = -1.0,
    num_weights: Whole = 1,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> Any:
    """Updates several weights at once, each by sgd_mom_update.

    Args:
        data: for each weight weight, grad, mom.
        lrs: the learning rate of each weight.
        wds: the weight decay of each weight.
        momentum: how much of `mom` is kept.
        rescale_grad: what the gradient is multiplied by first.
        clip_gradient: limits each element of the rescaled gradient; negative for no limit.
        num_weights: how many weights there are.
    """

@overload
def multi_sgd_mom_update(
    *data: NDArray | Sequence[NDArray], _unpacked: object, **options: object
) -> Any: ...
@overload
def multi_sgd_update(
    *data: NDArray | Sequence[NDArray],
    lrs: Reals,
    wds: Reals,
    rescale_grad: Real = 1.0,
    clip_gradient: Real = -1.0,
    num_weights: Whole = 1,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> Any:
    """Updates several weights at once, each by sgd_update.

    Args:
        data: for each weight weight, grad.
        lrs: the learning rate of each weight.
        wds: the weight decay of each weight.
        rescale_grad: what the gradient is multiplied by first.
        clip_gradient: limits each element of the rescaled gradient; negative for no limit.
        num_weights: how many weights there are.
    """

@overload
def multi_sgd_update(
    *data: NDArray | Sequence[NDArray], _unpacked: object, **options: object
) -> Any: ...
def multi_sum_sq(
    *data: NDArray | Sequence[NDArray],
    num_arrays: Whole,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """The sum of the squares of each array, as float32 of shape (num_arrays,).

    Args:
        data: floating arrays of any shapes; they are summed in float32 at least.
        num_arrays: how many there are.
    """

@overload
def nag_mom_update(
    weight: NDArray,
    grad: NDArray,
    mom: NDArray,
    *,
    lr: Real,
    momentum: Real = 0.0,
    wd: Real = 0.0,
    rescale_grad: Real = 1.0,
    clip_gradient: Real = -1.0,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Nesterov's accelerated gradient.

    With ``g = clip(grad) + wd * weight``: ``mom = momentum * mom - lr * g``, then
    ``weight + momentum * mom - lr * g``.

    Args:
        weight: what is updated, of any shape.
        grad: the gradient, in the shape of `weight`.
        mom: the momentum so far, in the shape of `weight`, overwritten.
        lr: the learning rate.
        momentum: how much of `mom` is kept.
        wd: the weight decay.
        rescale_grad: what the gradient is multiplied by first.
        clip_gradient: limits each element of the rescaled gradient; negative for no limit.
    """

@overload
def nag_mom_update(
    weight: NDArray,
    grad: NDArray,
    mom: NDArray,
    lr: Real,
    momentum: Real = 0.0,
    wd: Real = 0.0,
    rescale_grad: Real = 1.0,
    clip_gradient: Real = -1.0,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def nag_mom_update(
    weight: NDArray, grad: NDArray, mom: NDArray, *, _unpacked: object, **options: object
) -> NDArray: ...
@overload
def nanprod(
    data: NDArray,
    axis: Wholes = None,
    keepdims: Switch = False,
    exclude: Switch = False,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Product over axes, with NaN counted as 1.

    Args:
        data: the array.
        axis: an axis or several; None or () for all.
        keepdims: keep the reduced axes with size 1.
        exclude: reduce over all axes but the given ones.
    """

@overload
def nanprod(data: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
@overload
def nansum(
    data: NDArray,
    axis: Wholes = None,
    keepdims: Switch = False,
    exclude: Switch = False,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Sum over axes, with NaN counted as 0.

    Args:
        data: the array.
        axis: an axis or several; None or () for all.
        keepdims: keep the reduced axes with size 1.
        exclude: reduce over all axes but the given ones.
    """

@overload
def nansum(data: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
def negative(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """The element with its sign changed.

    Args:
        data: an array of any shape.
    """

@overload
def norm(
    data: NDArray,
    ord: Literal[1, 2] | Whole = 2,
    axis: Wholes = None,
    out_dtype: DTypeLike = None,
    keepdims: Switch = False,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Norm over axes: the sum of absolute values, or the root of the sum of squares.

    Args:
        data: an array of any shape.
        ord: 1 or 2.
        axis: an axis or several; None for all.
        out_dtype: the dtype of the result; None for that of `data`.
        keepdims: keep the reduced axes with size 1.
    """

@overload
def norm(data: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
@overload
def normal(
    loc: Real = 0.0,
    scale: Real = 1.0,
    shape: Sizes = (),
    ctx: str | Context = "",
    dtype: DTypeLike = None,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Draws from the normal distribution of the given mean and standard deviation.

    Args:
        shape: of the result.
        ctx: where the result is, as 'cpu(0)'; by default the current context.
        dtype: of the result.

    Returns:
        An array of `shape` and `dtype`; default (1,) and float32.
    """

@overload
def normal(*, _unpacked: object, **options: object) -> NDArray: ...
@overload
def one_hot(
    indices: NDArray,
    depth: Whole,
    on_value: Real = 1.0,
    off_value: Real = 0.0,
    dtype: DTypeLike = "float32",
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """A vector for each position, with `on_value` there and `off_value` elsewhere.

    Args:
        indices: positions, of any shape; one outside gives a vector without `on_value`.
        depth: the length of the vectors, which become the last axis.
        on_value: the value at the position.
        off_value: the value elsewhere.
        dtype: the element type of the result.
    """

@overload
def one_hot(indices: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
@overload
def ones_like(
    data: NDArray,
    ctx: str | Context = "",
    dtype: DTypeLike = None,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Ones of the same shape and dtype.

    Args:
        data: an array of any shape.
        ctx: without meaning, as in MXNet; use as_in_context.
        dtype: without meaning, too; use astype.
    """

@overload
def ones_like(data: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
@overload
def pad(
    data: NDArray,
    mode: Literal["constant", "edge", "reflect"] | str,
    pad_width: Sizes,
    constant_value: Real = 0.0,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Widens the array at its borders. Any dimension can be padded; MXNet pads all but two.

    Args:
        data: an array of any shape.
        mode: fill with a constant, with the border elements, or with a reflection about them.
        pad_width: how much before and after, for each dimension in turn.
        constant_value: the constant.
    """

@overload
def pad(data: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
@overload
def pick(
    data: NDArray,
    index: NDArray,
    *,
    axis: Whole | None = -1,
    keepdims: Switch = False,
    mode: Literal["clip", "wrap"] | str = "clip",
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """One element along an axis for each place of the others: ``data[i, index[i]]``.

    Args:
        data: an array of any shape.
        index: positions; the shape of `data` without the axis, or with size 1 there.
        keepdims: keep the axis with size 1.
        mode: positions outside are clipped or wrap around.
    """

@overload
def pick(
    data: NDArray,
    index: NDArray,
    axis: Whole | None = -1,
    keepdims: Switch = False,
    mode: Literal["clip", "wrap"] | str = "clip",
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def pick(data: NDArray, index: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
@overload
def preloaded_multi_mp_sgd_mom_update(
    *data: NDArray | Sequence[NDArray],
    momentum: Real = 0.0,
    rescale_grad: Real = 1.0,
    clip_gradient: Real = -1.0,
    num_weights: Whole = 1,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> Any:
    """Updates several weights at once, each by mp_sgd_mom_update.

    Args:
        data: for each weight weight, grad, mom, weight32; then the learning rates and the weight
            decays, two arrays of shape (num_weights,).
        momentum: how much of `mom` is kept.
        rescale_grad: what the gradient is multiplied by first.
        clip_gradient: limits each element of the rescaled gradient; negative for no limit.
        num_weights: how many weights there are.
    """

@overload
def preloaded_multi_mp_sgd_mom_update(
    *data: NDArray | Sequence[NDArray], _unpacked: object, **options: object
) -> Any: ...
@overload
def preloaded_multi_mp_sgd_update(
    *data: NDArray | Sequence[NDArray],
    rescale_grad: Real = 1.0,
    clip_gradient: Real = -1.0,
    num_weights: Whole = 1,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> Any:
    """Updates several weights at once, each by mp_sgd_update.

    Args:
        data: for each weight weight, grad, weight32; then the learning rates and the weight
            decays, two arrays of shape (num_weights,).
        rescale_grad: what the gradient is multiplied by first.
        clip_gradient: limits each element of the rescaled gradient; negative for no limit.
        num_weights: how many weights there are.
    """

@overload
def preloaded_multi_mp_sgd_update(
    *data: NDArray | Sequence[NDArray], _unpacked: object, **options: object
) -> Any: ...
@overload
def preloaded_multi_sgd_mom_update(
    *data: NDArray | Sequence[NDArray],
    momentum: Real = 0.0,
    rescale_grad: Real = 1.0,
    clip_gradient: Real = -1.0,
    num_weights: Whole = 1,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> Any:
    """Updates several weights at once, each by sgd_mom_update.

    Args:
        data: for each weight weight, grad, mom; then the learning rates and the weight decays, two
            arrays of shape (num_weights,).
        momentum: how much of `mom` is kept.
        rescale_grad: what the gradient is multiplied by first.
        clip_gradient: limits each element of the rescaled gradient; negative for no limit.
        num_weights: how many weights there are.
    """

@overload
def preloaded_multi_sgd_mom_update(
    *data: NDArray | Sequence[NDArray], _unpacked: object, **options: object
) -> Any: ...
@overload
def preloaded_multi_sgd_update(
    *data: NDArray | Sequence[NDArray],
    rescale_grad: Real = 1.0,
    clip_gradient: Real = -1.0,
    num_weights: Whole = 1,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> Any:
    """Updates several weights at once, each by sgd_update.

    Args:
        data: for each weight weight, grad; then the learning rates and the weight decays, two
            arrays of shape (num_weights,).
        rescale_grad: what the gradient is multiplied by first.
        clip_gradient: limits each element of the rescaled gradient; negative for no limit.
        num_weights: how many weights there are.
    """

@overload
def preloaded_multi_sgd_update(
    *data: NDArray | Sequence[NDArray], _unpacked: object, **options: object
) -> Any: ...
@overload
def prod(
    data: NDArray,
    axis: Wholes = None,
    keepdims: Switch = False,
    exclude: Switch = False,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Product over axes.

    Args:
        data: the array.
        axis: an axis or several; None or () for all.
        keepdims: keep the reduced axes with size 1.
        exclude: reduce over all axes but the given ones.
    """

@overload
def prod(data: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
def radians(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """Degrees to radians.

    Args:
        data: an array of any shape.
    """

@overload
def random_exponential(
    lam: Real = 1.0,
    shape: Sizes = (),
    ctx: str | Context = "",
    dtype: DTypeLike = None,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Draws from the exponential distribution with rate `lam`, whose mean is 1 / lam.

    Args:
        shape: of the result.
        ctx: where the result is, as 'cpu(0)'; by default the current context.
        dtype: of the result.

    Returns:
        An array of `shape` and `dtype`; default (1,) and float32.
    """

@overload
def random_exponential(*, _unpacked: object, **options: object) -> NDArray: ...
@overload
def random_gamma(
    alpha: Real = 1.0,
    beta: Real = 1.0,
    shape: Sizes = (),
    ctx: str | Context = "",
    dtype: DTypeLike = None,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Draws from the gamma distribution with shape `alpha` and scale `beta`.

    Args:
        shape: of the result.
        ctx: where the result is, as 'cpu(0)'; by default the current context.
        dtype: of the result.

    Returns:
        An array of `shape` and `dtype`; default (1,) and float32.
    """

@overload
def random_gamma(*, _unpacked: object, **options: object) -> NDArray: ...
@overload
def random_generalized_negative_binomial(
    mu: Real = 1.0,
    alpha: Real = 1.0,
    shape: Sizes = (),
    ctx: str | Context = "",
    dtype: DTypeLike = None,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Draws counts of mean `mu` and variance ``mu + alpha * mu**2``, as floats.

    Args:
        shape: of the result.
        ctx: where the result is, as 'cpu(0)'; by default the current context.
        dtype: of the result.

    Returns:
        An array of `shape` and `dtype`; default (1,) and float32.
    """

@overload
def random_generalized_negative_binomial(*, _unpacked: object, **options: object) -> NDArray: ...
@overload
def random_negative_binomial(
    k: Real = 1.0,
    p: Real = 1.0,
    shape: Sizes = (),
    ctx: str | Context = "",
    dtype: DTypeLike = None,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Draws the number of failures before `k` successes, each of probability `p`, as floats.

    Args:
        shape: of the result.
        ctx: where the result is, as 'cpu(0)'; by default the current context.
        dtype: of the result.

    Returns:
        An array of `shape` and `dtype`; default (1,) and float32.
    """

@overload
def random_negative_binomial(*, _unpacked: object, **options: object) -> NDArray: ...
@overload
def random_normal(
    loc: Real = 0.0,
    scale: Real = 1.0,
    shape: Sizes = (),
    ctx: str | Context = "",
    dtype: DTypeLike = None,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Draws from the normal distribution of the given mean and standard deviation.

    Args:
        shape: of the result.
        ctx: where the result is, as 'cpu(0)'; by default the current context.
        dtype: of the result.

    Returns:
        An array of `shape` and `dtype`; default (1,) and float32.
    """

@overload
def random_normal(*, _unpacked: object, **options: object) -> NDArray: ...
@overload
def random_pdf_dirichlet(
    sample: NDArray,
    alpha: NDArray,
    *,
    is_log: Switch = False,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Density of the Dirichlet distribution, of vectors along the last axis.

    Args:
        sample: the shape of the parameters, and then any number of axes of samples.
        alpha: parameters, one for each distribution.
        is_log: return the logarithm.
    """

@overload
def random_pdf_dirichlet(
    sample: NDArray,
    alpha: NDArray,
    is_log: Switch = False,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def random_pdf_exponential(
    sample: NDArray,
    lam: NDArray,
    *,
    is_log: Switch = False,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Density of the exponential distribution.

    Args:
        sample: the shape of the parameters, and then any number of axes of samples.
        lam: parameters, one for each distribution.
        is_log: return the logarithm.
    """

@overload
def random_pdf_exponential(
    sample: NDArray,
    lam: NDArray,
    is_log: Switch = False,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def random_pdf_gamma(
    sample: NDArray,
    alpha: NDArray,
    beta: NDArray,
    *,
    is_log: Switch = False,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Density of the gamma distribution with shape alpha and rate beta.

    Args:
        sample: the shape of the parameters, and then any number of axes of samples.
        alpha: parameters, one for each distribution.
        beta: parameters, one for each distribution.
        is_log: return the logarithm.
    """

@overload
def random_pdf_gamma(
    sample: NDArray,
    alpha: NDArray,
    beta: NDArray,
    is_log: Switch = False,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def random_pdf_generalized_negative_binomial(
    sample: NDArray,
    mu: NDArray,
    alpha: NDArray,
    *,
    is_log: Switch = False,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Probability of counts of mean mu and variance ``mu + alpha * mu**2``.

    Args:
        sample: the shape of the parameters, and then any number of axes of samples.
        mu: parameters, one for each distribution.
        alpha: parameters, one for each distribution.
        is_log: return the logarithm.
    """

@overload
def random_pdf_generalized_negative_binomial(
    sample: NDArray,
    mu: NDArray,
    alpha: NDArray,
    is_log: Switch = False,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def random_pdf_negative_binomial(
    sample: NDArray,
    k: NDArray,
    p: NDArray,
    *,
    is_log: Switch = False,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Probability of counts of failures before k successes, each of probability p.

    Args:
        sample: the shape of the parameters, and then any number of axes of samples.
        k: parameters, one for each distribution.
        p: parameters, one for each distribution.
        is_log: return the logarithm.
    """

@overload
def random_pdf_negative_binomial(
    sample: NDArray,
    k: NDArray,
    p: NDArray,
    is_log: Switch = False,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def random_pdf_normal(
    sample: NDArray,
    mu: NDArray,
    sigma: NDArray,
    *,
    is_log: Switch = False,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Density of the normal distribution.

    Args:
        sample: the shape of the parameters, and then any number of axes of samples.
        mu: parameters, one for each distribution.
        sigma: parameters, one for each distribution.
        is_log: return the logarithm.
    """

@overload
def random_pdf_normal(
    sample: NDArray,
    mu: NDArray,
    sigma: NDArray,
    is_log: Switch = False,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def random_pdf_poisson(
    sample: NDArray,
    lam: NDArray,
    *,
    is_log: Switch = False,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Probability of counts under the Poisson distribution.

    Args:
        sample: the shape of the parameters, and then any number of axes of samples.
        lam: parameters, one for each distribution.
        is_log: return the logarithm.
    """

@overload
def random_pdf_poisson(
    sample: NDArray,
    lam: NDArray,
    is_log: Switch = False,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def random_pdf_uniform(
    sample: NDArray,
    low: NDArray,
    high: NDArray,
    *,
    is_log: Switch = False,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Density of the uniform distribution.

    Args:
        sample: the shape of the parameters, and then any number of axes of samples.
        low: parameters, one for each distribution.
        high: parameters, one for each distribution.
        is_log: return the logarithm.
    """

@overload
def random_pdf_uniform(
    sample: NDArray,
    low: NDArray,
    high: NDArray,
    is_log: Switch = False,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def random_poisson(
    lam: Real = 1.0,
    shape: Sizes = (),
    ctx: str | Context = "",
    dtype: DTypeLike = None,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Draws from the Poisson distribution with rate `lam`; the counts are floats.

    Args:
        shape: of the result.
        ctx: where the result is, as 'cpu(0)'; by default the current context.
        dtype: of the result.

    Returns:
        An array of `shape` and `dtype`; default (1,) and float32.
    """

@overload
def random_poisson(*, _unpacked: object, **options: object) -> NDArray: ...
@overload
def random_randint(
    low: Real,
    high: Real,
    shape: Sizes = (),
    ctx: str | Context = "",
    dtype: DTypeLike = None,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Draws whole numbers from [low, high), each as likely.

    Args:
        low: the least number.
        high: one more than the greatest.
        shape: of the result; default (1,).
        ctx: where the result is, as 'cpu(0)'; by default the current context.
        dtype: int32 (the default) or int64.
    """

@overload
def random_randint(*, _unpacked: object, **options: object) -> NDArray: ...
@overload
def random_uniform(
    low: Real = 0.0,
    high: Real = 1.0,
    shape: Sizes = (),
    ctx: str | Context = "",
    dtype: DTypeLike = None,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Draws from the uniform distribution on [low, high).

    Args:
        shape: of the result.
        ctx: where the result is, as 'cpu(0)'; by default the current context.
        dtype: of the result.

    Returns:
        An array of `shape` and `dtype`; default (1,) and float32.
    """

@overload
def random_uniform(*, _unpacked: object, **options: object) -> NDArray: ...
def ravel_multi_index(
    data: NDArray, shape: Sizes, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """Positions in the flattened array of coordinates in an array of this shape.

    Args:
        data: (dimensions, ...): row i holds positions along dimension i.
        shape: the shape of the array; the first size may be -1.
    """

def rcbrt(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """1 over the cube root.

    Args:
        data: an array of any shape.
    """

def reciprocal(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """1 over the element.

    Args:
        data: an array of any shape.
    """

def relu(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """The larger of the element and 0.

    Args:
        data: an array of any shape.
    """

@overload
def repeat(
    data: NDArray,
    repeats: Whole,
    axis: Whole | None = None,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Repeats each element, in place.

    Args:
        data: an array of any shape.
        repeats: how often.
        axis: the axis; None for the flattened array.
    """

@overload
def repeat(data: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
def reset_arrays(
    *data: NDArray | Sequence[NDArray],
    num_arrays: Whole,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> list[NDArray]:
    """Overwrites arrays with zeros; ``x[:] = 0`` does so too.

    Args:
        data: the arrays.
        num_arrays: how many there are.
    """

@overload
def reshape(
    data: NDArray,
    shape: Sizes = (),
    reverse: Switch = False,
    target_shape: Sizes = (),
    keep_highest: Switch = False,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """The same elements in another shape.

    Args:
        data: an array of any shape.
        shape: the new sizes; 0 copies a dimension, -1 is found, -2 copies all that remain, -3
            joins two, -4 splits one into the two sizes that follow.
        reverse: read the codes from the right.
        target_shape: as `shape`, from MXNet's first versions: 0 is found.
        keep_highest: with `target_shape`: the first dimension stays as it is.
    """

@overload
def reshape(data: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
@overload
def reshape_like(
    lhs: NDArray,
    rhs: NDArray,
    *,
    lhs_begin: Whole | None = None,
    lhs_end: Whole | None = None,
    rhs_begin: Whole | None = None,
    rhs_end: Whole | None = None,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
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
    lhs: NDArray,
    rhs: NDArray,
    lhs_begin: Whole | None = None,
    lhs_end: Whole | None = None,
    rhs_begin: Whole | None = None,
    rhs_end: Whole | None = None,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def reshape_like(
    lhs: NDArray, rhs: NDArray, *, _unpacked: object, **options: object
) -> NDArray: ...
def reverse(
    data: NDArray, axis: Sizes, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """Reverses the order of the elements along some axes.

    Args:
        data: an array of any shape.
    """

def rint(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """Nearest whole number; halves go to the lower one.

    Args:
        data: an array of any shape.
    """

@overload
def rmsprop_update(
    weight: NDArray,
    grad: NDArray,
    n: NDArray,
    *,
    lr: Real,
    gamma1: Real = 0.95,
    epsilon: Real = 1e-08,
    wd: Real = 0.0,
    rescale_grad: Real = 1.0,
    clip_gradient: Real = -1.0,
    clip_weights: Real = -1.0,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """RMSProp (Tieleman and Hinton, 2012).

    With ``g = clip(grad + wd * weight)``: ``n = gamma1 * n + (1 - gamma1) * g**2``, then
    ``weight - lr * g / sqrt(n + epsilon)``, limited to ``[-clip_weights, clip_weights]`` where
    that is not negative.

    Args:
        weight: what is updated, of any shape.
        grad: the gradient, in the shape of `weight`.
        lr: the learning rate.
        epsilon: keeps the division from zero.
        wd: the weight decay.
        rescale_grad: what the gradient is multiplied by first.
        clip_gradient: limits each element of the rescaled gradient; negative for no limit.
        clip_weights: limits each element of the result; negative for no limit.
    """

@overload
def rmsprop_update(
    weight: NDArray,
    grad: NDArray,
    n: NDArray,
    lr: Real,
    gamma1: Real = 0.95,
    epsilon: Real = 1e-08,
    wd: Real = 0.0,
    rescale_grad: Real = 1.0,
    clip_gradient: Real = -1.0,
    clip_weights: Real = -1.0,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def rmsprop_update(
    weight: NDArray, grad: NDArray, n: NDArray, *, _unpacked: object, **options: object
) -> NDArray: ...
@overload
def rmspropalex_update(
    weight: NDArray,
    grad: NDArray,
    n: NDArray,
    g: NDArray,
    delta: NDArray,
    *,
    lr: Real,
    gamma1: Real = 0.95,
    gamma2: Real = 0.9,
    epsilon: Real = 1e-08,
    wd: Real = 0.0,
    rescale_grad: Real = 1.0,
    clip_gradient: Real = -1.0,
    clip_weights: Real = -1.0,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """RMSProp by the centered second moment, with momentum (Graves, 2013, equations 38 to 45).

    With ``s = clip(grad + wd * weight)``: ``n = gamma1 * n + (1 - gamma1) * s**2``,
    ``g = gamma1 * g + (1 - gamma1) * s``,
    ``delta = gamma2 * delta - lr * s / sqrt(n - g**2 + epsilon)``, then ``weight + delta``.

    Args:
        weight: what is updated, of any shape.
        grad: the gradient, in the shape of `weight`.
        lr: the learning rate.
        epsilon: keeps the division from zero.
        wd: the weight decay.
        rescale_grad: what the gradient is multiplied by first.
        clip_gradient: limits each element of the rescaled gradient; negative for no limit.
        clip_weights: limits each element of the result; negative for no limit.
    """

@overload
def rmspropalex_update(
    weight: NDArray,
    grad: NDArray,
    n: NDArray,
    g: NDArray,
    delta: NDArray,
    lr: Real,
    gamma1: Real = 0.95,
    gamma2: Real = 0.9,
    epsilon: Real = 1e-08,
    wd: Real = 0.0,
    rescale_grad: Real = 1.0,
    clip_gradient: Real = -1.0,
    clip_weights: Real = -1.0,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def rmspropalex_update(
    weight: NDArray,
    grad: NDArray,
    n: NDArray,
    g: NDArray,
    delta: NDArray,
    *,
    _unpacked: object,
    **options: object,
) -> NDArray: ...
def round(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """Nearest whole number; halves go away from zero.

    Args:
        data: an array of any shape.
    """

def rsqrt(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """1 over the square root.

    Args:
        data: an array of any shape.
    """

@overload
def sample_exponential(
    lam: NDArray,
    shape: Sizes = (),
    dtype: DTypeLike = None,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Draws from the exponential distribution with rate `lam`, whose mean is 1 / lam.

    For each element of lam, which have one shape, samples of `shape` are drawn.

    Args:
        shape: of the result.
        dtype: of the result.

    Returns:
        An array of both shapes, one after the other, and `dtype`, by default float32.
    """

@overload
def sample_exponential(lam: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
@overload
def sample_gamma(
    alpha: NDArray,
    beta: NDArray,
    *,
    shape: Sizes = (),
    dtype: DTypeLike = None,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Draws from the gamma distribution with shape `alpha` and scale `beta`.

    For each element of alpha and beta, which have one shape, samples of `shape` are drawn.

    Args:
        shape: of the result.
        dtype: of the result.

    Returns:
        An array of both shapes, one after the other, and `dtype`, by default float32.
    """

@overload
def sample_gamma(
    alpha: NDArray,
    beta: NDArray,
    shape: Sizes = (),
    dtype: DTypeLike = None,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def sample_gamma(
    alpha: NDArray, beta: NDArray, *, _unpacked: object, **options: object
) -> NDArray: ...
@overload
def sample_generalized_negative_binomial(
    mu: NDArray,
    alpha: NDArray,
    *,
    shape: Sizes = (),
    dtype: DTypeLike = None,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Draws counts of mean `mu` and variance ``mu + alpha * mu**2``, as floats.

    For each element of mu and alpha, which have one shape, samples of `shape` are drawn.

    Args:
        shape: of the result.
        dtype: of the result.

    Returns:
        An array of both shapes, one after the other, and `dtype`, by default float32.
    """

@overload
def sample_generalized_negative_binomial(
    mu: NDArray,
    alpha: NDArray,
    shape: Sizes = (),
    dtype: DTypeLike = None,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def sample_generalized_negative_binomial(
    mu: NDArray, alpha: NDArray, *, _unpacked: object, **options: object
) -> NDArray: ...
@overload
def sample_multinomial(
    data: NDArray,
    shape: Sizes = (),
    get_prob: Switch = False,
    dtype: DTypeLike = "int32",
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> Any:
    """Draws categories by their probabilities.

    Args:
        data: (..., categories), probabilities, which are divided by their sum.
        shape: how many samples are drawn from each distribution.
        get_prob: return the logarithms of the samples' probabilities too; they have a gradient
            (Williams, "Simple statistical gradient-following algorithms", 1992).
        dtype: of the samples.

    Returns:
        The samples, (..., *shape), and with `get_prob` the logarithms, likewise, of data's dtype.
    """

@overload
def sample_multinomial(data: NDArray, *, _unpacked: object, **options: object) -> Any: ...
@overload
def sample_negative_binomial(
    k: NDArray,
    p: NDArray,
    *,
    shape: Sizes = (),
    dtype: DTypeLike = None,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Draws the number of failures before `k` successes, each of probability `p`, as floats.

    For each element of k and p, which have one shape, samples of `shape` are drawn.

    Args:
        shape: of the result.
        dtype: of the result.

    Returns:
        An array of both shapes, one after the other, and `dtype`, by default float32.
    """

@overload
def sample_negative_binomial(
    k: NDArray,
    p: NDArray,
    shape: Sizes = (),
    dtype: DTypeLike = None,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def sample_negative_binomial(
    k: NDArray, p: NDArray, *, _unpacked: object, **options: object
) -> NDArray: ...
@overload
def sample_normal(
    mu: NDArray,
    sigma: NDArray,
    *,
    shape: Sizes = (),
    dtype: DTypeLike = None,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Draws from the normal distribution of the given mean and standard deviation.

    For each element of mu and sigma, which have one shape, samples of `shape` are drawn.

    Args:
        shape: of the result.
        dtype: of the result.

    Returns:
        An array of both shapes, one after the other, and `dtype`, by default float32.
    """

@overload
def sample_normal(
    mu: NDArray,
    sigma: NDArray,
    shape: Sizes = (),
    dtype: DTypeLike = None,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def sample_normal(
    mu: NDArray, sigma: NDArray, *, _unpacked: object, **options: object
) -> NDArray: ...
@overload
def sample_poisson(
    lam: NDArray,
    shape: Sizes = (),
    dtype: DTypeLike = None,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Draws from the Poisson distribution with rate `lam`; the counts are floats.

    For each element of lam, which have one shape, samples of `shape` are drawn.

    Args:
        shape: of the result.
        dtype: of the result.

    Returns:
        An array of both shapes, one after the other, and `dtype`, by default float32.
    """

@overload
def sample_poisson(lam: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
@overload
def sample_uniform(
    low: NDArray,
    high: NDArray,
    *,
    shape: Sizes = (),
    dtype: DTypeLike = None,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Draws from the uniform distribution on [low, high).

    For each element of low and high, which have one shape, samples of `shape` are drawn.

    Args:
        shape: of the result.
        dtype: of the result.

    Returns:
        An array of both shapes, one after the other, and `dtype`, by default float32.
    """

@overload
def sample_uniform(
    low: NDArray,
    high: NDArray,
    shape: Sizes = (),
    dtype: DTypeLike = None,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def sample_uniform(
    low: NDArray, high: NDArray, *, _unpacked: object, **options: object
) -> NDArray: ...
@overload
def scatter_nd(
    data: NDArray,
    indices: NDArray,
    *,
    shape: Sizes,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Zeros, with the elements of `data` put at the given coordinates.

    Args:
        data: the elements, or slices.
        indices: (m, ...): row i holds positions along dimension i. Of equal coordinates, any one
            element stays.
        shape: the shape of the result.
    """

@overload
def scatter_nd(
    data: NDArray,
    indices: NDArray,
    shape: Sizes,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def sgd_mom_update(
    weight: NDArray,
    grad: NDArray,
    mom: NDArray,
    *,
    lr: Real,
    momentum: Real = 0.0,
    wd: Real = 0.0,
    rescale_grad: Real = 1.0,
    clip_gradient: Real = -1.0,
    lazy_update: Switch = True,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Gradient descent with momentum.

    ``mom = momentum * mom - lr * (clip(grad) + wd * weight)``, then ``weight + mom``.

    Args:
        weight: what is updated, of any shape.
        grad: the gradient, in the shape of `weight`.
        mom: the momentum so far, in the shape of `weight`, overwritten.
        lr: the learning rate.
        momentum: how much of `mom` is kept.
        wd: the weight decay.
        rescale_grad: what the gradient is multiplied by first.
        clip_gradient: limits each element of the rescaled gradient; negative for no limit.
        lazy_update: of a row-sparse gradient, whether only the rows it holds are updated.
    """

@overload
def sgd_mom_update(
    weight: NDArray,
    grad: NDArray,
    mom: NDArray,
    lr: Real,
    momentum: Real = 0.0,
    wd: Real = 0.0,
    rescale_grad: Real = 1.0,
    clip_gradient: Real = -1.0,
    lazy_update: Switch = True,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def sgd_mom_update(
    weight: NDArray, grad: NDArray, mom: NDArray, *, _unpacked: object, **options: object
) -> NDArray: ...
@overload
def sgd_update(
    weight: NDArray,
    grad: NDArray,
    *,
    lr: Real,
    wd: Real = 0.0,
    rescale_grad: Real = 1.0,
    clip_gradient: Real = -1.0,
    lazy_update: Switch = True,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Gradient descent: ``weight - lr * (clip(grad) + wd * weight)``.

    Args:
        weight: what is updated, of any shape.
        grad: the gradient, in the shape of `weight`.
        lr: the learning rate.
        wd: the weight decay.
        rescale_grad: what the gradient is multiplied by first.
        clip_gradient: limits each element of the rescaled gradient; negative for no limit.
        lazy_update: of a row-sparse gradient, whether only the rows it holds are updated.
    """

@overload
def sgd_update(
    weight: NDArray,
    grad: NDArray,
    lr: Real,
    wd: Real = 0.0,
    rescale_grad: Real = 1.0,
    clip_gradient: Real = -1.0,
    lazy_update: Switch = True,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def sgd_update(
    weight: NDArray, grad: NDArray, *, _unpacked: object, **options: object
) -> NDArray: ...
def shape_array(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """The shape as an int64 array.

    Args:
        data: an array of any shape.
    """

def shuffle(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """Puts the rows (the first axis) in random order; every order is as likely.

    Args:
        data: (rows, ...), any dtype.
    """

def sigmoid(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """1 / (1 + exp(-x)).

    Args:
        data: an array of any shape.
    """

def sign(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """-1, 0 or 1, as the element is negative, zero (of either sign) or positive.

    Args:
        data: an array of any shape.
    """

@overload
def signsgd_update(
    weight: NDArray,
    grad: NDArray,
    *,
    lr: Real,
    wd: Real = 0.0,
    rescale_grad: Real = 1.0,
    clip_gradient: Real = -1.0,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Descent by the gradient's sign: ``(1 - lr * wd) * weight - lr * sign(grad)``.

    Clipping changes no sign, so `clip_gradient` is without meaning.

    Args:
        weight: what is updated, of any shape.
        grad: the gradient, in the shape of `weight`.
        lr: the learning rate.
        wd: the weight decay.
        rescale_grad: what the gradient is multiplied by first.
        clip_gradient: limits each element of the rescaled gradient; negative for no limit.
    """

@overload
def signsgd_update(
    weight: NDArray,
    grad: NDArray,
    lr: Real,
    wd: Real = 0.0,
    rescale_grad: Real = 1.0,
    clip_gradient: Real = -1.0,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def signsgd_update(
    weight: NDArray, grad: NDArray, *, _unpacked: object, **options: object
) -> NDArray: ...
@overload
def signum_update(
    weight: NDArray,
    grad: NDArray,
    mom: NDArray,
    *,
    lr: Real,
    momentum: Real = 0.0,
    wd: Real = 0.0,
    rescale_grad: Real = 1.0,
    clip_gradient: Real = -1.0,
    wd_lh: Real = 0.0,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Descent by the momentum's sign (Bernstein et al., "signSGD", 2018).

    ``mom = momentum * mom - (1 - momentum) * (clip(grad) + wd * weight)``, then
    ``(1 - lr * wd_lh) * weight + lr * sign(mom)``.

    Args:
        weight: what is updated, of any shape.
        grad: the gradient, in the shape of `weight`.
        mom: the momentum so far, in the shape of `weight`, overwritten.
        lr: the learning rate.
        momentum: how much of `mom` is kept.
        wd: the weight decay.
        rescale_grad: what the gradient is multiplied by first.
        clip_gradient: limits each element of the rescaled gradient; negative for no limit.
    """

@overload
def signum_update(
    weight: NDArray,
    grad: NDArray,
    mom: NDArray,
    lr: Real,
    momentum: Real = 0.0,
    wd: Real = 0.0,
    rescale_grad: Real = 1.0,
    clip_gradient: Real = -1.0,
    wd_lh: Real = 0.0,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def signum_update(
    weight: NDArray, grad: NDArray, mom: NDArray, *, _unpacked: object, **options: object
) -> NDArray: ...
def sin(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """Sine, of radians.

    Args:
        data: an array of any shape.
    """

def sinh(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """Hyperbolic sine.

    Args:
        data: an array of any shape.
    """

def size_array(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """The number of elements as an int64 array of one element.

    Args:
        data: an array of any shape.
    """

@overload
def slice(
    data: NDArray,
    begin: Places,
    end: Places,
    step: Places = (),
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """A region of the array, as Python's ``data[begin0:end0:step0, begin1:end1:step1]``.

    Args:
        data: an array of any shape.
        begin: where each slice begins; None for its natural begin, negative from the end.
        end: where each slice ends, not included.
        step: the step of each slice, may be negative; empty for 1.
    """

@overload
def slice(data: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
@overload
def slice_axis(
    data: NDArray,
    axis: Whole,
    begin: Whole,
    end: Whole | None,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """The part of the array from `begin` up to, not including, `end` along one axis.

    Args:
        data: an array of any shape.
        begin: the first position, negative from the end.
        end: the position after the last, negative from the end; None for the end.
    """

@overload
def slice_axis(data: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
@overload
def slice_like(
    data: NDArray,
    shape_like: NDArray,
    *,
    axes: Sizes = (),
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """The leading part of `data` that has the size of `shape_like` along some axes.

    Args:
        data: an array of any shape.
        shape_like: only its shape counts.
        axes: the axes; empty for all.
    """

@overload
def slice_like(
    data: NDArray,
    shape_like: NDArray,
    axes: Sizes = (),
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
def smooth_l1(
    data: NDArray, scalar: Real = 1.0, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """Huber's loss of each element: (s x)**2 / 2 where |x| < 1 / s**2, else |x| - 1 / (2 s**2).

    Here s is `scalar`.

    Args:
        data: an array of any shape.
        scalar: the number.
    """

@overload
def softmax(
    data: NDArray,
    length: NDArray | Any = None,
    *,
    axis: Whole = -1,
    temperature: Real | None = None,
    dtype: DTypeLike = None,
    use_length: Switch = False,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
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
    data: NDArray,
    length: NDArray | Any = None,
    axis: Whole = -1,
    temperature: Real | None = None,
    dtype: DTypeLike = None,
    use_length: Switch = False,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def softmax(
    data: NDArray, length: NDArray | Any = None, *, _unpacked: object, **options: object
) -> NDArray: ...
def softmax_cross_entropy(
    data: NDArray, label: NDArray, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """Sums the cross entropy of softmax over a batch: ``-sum(log(softmax(data)[label]))``.

    Args:
        data: (batch, classes), floating point.
        label: (batch,), the index of the right class; the fraction of a float does not count.

    Returns:
        (1,), the dtype of `data`. As in MXNet no probability counts as less than 1e-8.
    """

@overload
def softmin(
    data: NDArray,
    length: NDArray | Any = None,
    *,
    axis: Whole = -1,
    temperature: Real | None = None,
    dtype: DTypeLike = None,
    use_length: Switch = False,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Computes ``exp(-x) / sum(exp(-x))`` along an axis.

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
def softmin(
    data: NDArray,
    length: NDArray | Any = None,
    axis: Whole = -1,
    temperature: Real | None = None,
    dtype: DTypeLike = None,
    use_length: Switch = False,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def softmin(
    data: NDArray, length: NDArray | Any = None, *, _unpacked: object, **options: object
) -> NDArray: ...
def softsign(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """x / (1 + |x|).

    Args:
        data: an array of any shape.
    """

@overload
def sort(
    data: NDArray,
    axis: Whole | None = -1,
    is_ascend: Switch = True,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """The elements in order.

    Args:
        data: an array of any shape.
        axis: sort along this axis; None for the flattened array.
        is_ascend: the smallest first; otherwise the largest.
    """

@overload
def sort(data: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
def space_to_depth(
    data: NDArray, block_size: Whole, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """Lays square blocks out as channels: (N, C, H b, W b) becomes (N, C b b, H, W).

    Args:
        data: an array of any shape.
    """

@overload
def split(
    data: NDArray,
    num_outputs: Whole,
    axis: Whole = 1,
    squeeze_axis: Switch = False,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> Any:
    """Splits the array into equal parts along an axis.

    Args:
        data: an array of any shape.
        num_outputs: how many parts.
        squeeze_axis: remove the axis, which must then have size 1 in the parts.
    """

@overload
def split(data: NDArray, *, _unpacked: object, **options: object) -> Any: ...
def sqrt(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """Square root.

    Args:
        data: an array of any shape.
    """

def square(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """The element times itself.

    Args:
        data: an array of any shape.
    """

def squeeze(
    data: NDArray, axis: Wholes = None, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """Removes axes of size 1: the given ones (none for an empty tuple), or all for None.

    Args:
        data: an array of any shape.
    """

@overload
def stack(
    *data: NDArray | Sequence[NDArray],
    axis: Whole = 0,
    num_args: Whole = 0,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Joins arrays of equal shape along a new axis.

    Args:
        data: the arrays.
        axis: the position of the new axis in the result.
        num_args: how many there are; saved symbols hold it, calls need not give it.
    """

@overload
def stack(*data: NDArray | Sequence[NDArray], _unpacked: object, **options: object) -> NDArray: ...
def stop_gradient(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """The array itself, through which no gradient flows back.

    Args:
        data: an array of any shape.
    """

@overload
def sum(
    data: NDArray,
    axis: Wholes = None,
    keepdims: Switch = False,
    exclude: Switch = False,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Sum over axes.

    Args:
        data: the array.
        axis: an axis or several; None or () for all.
        keepdims: keep the reduced axes with size 1.
        exclude: reduce over all axes but the given ones.
    """

@overload
def sum(data: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
@overload
def sum_axis(
    data: NDArray,
    axis: Wholes = None,
    keepdims: Switch = False,
    exclude: Switch = False,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Sum over axes.

    Args:
        data: the array.
        axis: an axis or several; None or () for all.
        keepdims: keep the reduced axes with size 1.
        exclude: reduce over all axes but the given ones.
    """

@overload
def sum_axis(data: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
@overload
def swapaxes(
    data: NDArray,
    dim1: Whole = 0,
    dim2: Whole = 0,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Exchanges two axes.

    Args:
        data: an array of any shape.
    """

@overload
def swapaxes(data: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
@overload
def take(
    a: NDArray,
    indices: NDArray,
    *,
    axis: Whole = 0,
    mode: Literal["raise", "clip", "wrap"] | str = "clip",
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Slices of `a` at the given positions along an axis.

    Args:
        indices: positions, of any shape, which replaces the axis in the result.
        mode: what happens to positions outside: "clip" to the nearest, "wrap" around, or "raise":
            an error, at once or where a value is next read. Until then the result is NaN there
            (of integers, the least of the dtype).
    """

@overload
def take(
    a: NDArray,
    indices: NDArray,
    axis: Whole = 0,
    mode: Literal["raise", "clip", "wrap"] | str = "clip",
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def take(a: NDArray, indices: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
def tan(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """Tangent, of radians.

    Args:
        data: an array of any shape.
    """

def tanh(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """Hyperbolic tangent.

    Args:
        data: an array of any shape.
    """

def tile(
    data: NDArray, reps: Sizes, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """Repeats the whole array, `reps` times along each axis; `reps` is aligned at the right.

    Args:
        data: an array of any shape.
    """

@overload
def topk(
    data: NDArray,
    axis: Whole | None = -1,
    k: Whole = 1,
    ret_typ: Literal["both", "indices", "mask", "value"] | str = "indices",
    is_ascend: Switch = False,
    dtype: DTypeLike = "float32",
    *,
    out: NDArray | Any = None,
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
def topk(data: NDArray, *, _unpacked: object, **options: object) -> Any: ...
def transpose(
    data: NDArray, axes: Sizes = (), *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """Permutes the axes.

    Args:
        data: an array of any shape.
        axes: which axis of the data each axis of the result is; empty to reverse the order.
    """

def trunc(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """The element without its fraction.

    Args:
        data: an array of any shape.
    """

@overload
def uniform(
    low: Real = 0.0,
    high: Real = 1.0,
    shape: Sizes = (),
    ctx: str | Context = "",
    dtype: DTypeLike = None,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Draws from the uniform distribution on [low, high).

    Args:
        shape: of the result.
        ctx: where the result is, as 'cpu(0)'; by default the current context.
        dtype: of the result.

    Returns:
        An array of `shape` and `dtype`; default (1,) and float32.
    """

@overload
def uniform(*, _unpacked: object, **options: object) -> NDArray: ...
def unravel_index(
    data: NDArray, shape: Sizes, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """Coordinates in an array of this shape of positions in the flattened array.

    Args:
        data: positions, of any shape.
        shape: the shape of the array; the first size may be -1.
    """

def where(
    condition: NDArray, x: NDArray, y: NDArray, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """Elements of `x` where the condition is not zero, otherwise of `y`.

    Args:
        condition: of the shape of `x`, or of that of its first dimension, to choose whole rows.
        y: an array of the same shape.
    """

@overload
def zeros_like(
    data: NDArray,
    ctx: str | Context = "",
    dtype: DTypeLike = None,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Zeros of the same shape and dtype.

    Args:
        data: an array of any shape.
        ctx: without meaning, as in MXNet; use as_in_context.
        dtype: without meaning, too; use astype.
    """

@overload
def zeros_like(data: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
