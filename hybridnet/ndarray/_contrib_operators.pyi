# Written by `python -m hybridnet.stubs`, which overwrites what is changed here.

from collections.abc import Sequence
from typing import Any, Literal, overload

from hybridnet.base.array_types import DTypeLike, Places, Real, Reals, Sizes, Switch, Whole
from hybridnet.base.context import Context
from hybridnet.ndarray._operators import CTCLoss as CTCLoss
from hybridnet.ndarray._operators import ctc_loss as ctc_loss
from hybridnet.ndarray.ndarray import NDArray

def AdaptiveAvgPooling2D(
    data: NDArray, output_size: Sizes = (), *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """Averages a grid of regions, whatever the size of the image.

    Region i of n on an axis of size s goes from ``floor(i * s / n)`` to ``ceil((i + 1) * s / n)``.

    Args:
        data: (batch, channels, height, width).
        output_size: rows and columns of the grid; one number for both; () for 1 x 1.

    Returns:
        (batch, channels, rows, columns).
    """

@overload
def BilinearResize2D(
    data: NDArray,
    like: NDArray | Any = None,
    *,
    height: Whole = 1,
    width: Whole = 1,
    scale_height: Real | None = None,
    scale_width: Real | None = None,
    mode: str = "size",
    align_corners: Switch = True,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Resizes images by bilinear interpolation.

    Args:
        data: (batch, channels, height, width).
        like: (any, any, height, width), the new size; with mode='like' alone.
        height: the new height, with mode='size' and no scales.
        width: the new width, likewise.
        scale_height: new height over old, rounded down, with mode='size' and 'odd_scale', which
            keeps an odd size odd: one less is scaled, and one added.
        scale_width: likewise.
        mode: where the new size comes from; the last four change each size by at most 1 to be
            even or odd.
        align_corners: whether the corner pixels keep their places, or else the image's borders.

    Returns:
        (batch, channels, new height, new width).
    """

@overload
def BilinearResize2D(
    data: NDArray,
    like: NDArray | Any = None,
    height: Whole = 1,
    width: Whole = 1,
    scale_height: Real | None = None,
    scale_width: Real | None = None,
    mode: str = "size",
    align_corners: Switch = True,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def BilinearResize2D(
    data: NDArray, like: NDArray | Any = None, *, _unpacked: object, **options: object
) -> NDArray: ...
@overload
def DeformableConvolution(
    data: NDArray,
    offset: NDArray,
    weight: NDArray,
    bias: NDArray | Any = None,
    *,
    kernel: Sizes,
    stride: Sizes = (),
    dilate: Sizes = (),
    pad: Sizes = (),
    num_filter: Whole,
    num_group: Whole = 1,
    num_deformable_group: Whole = 1,
    workspace: Whole = 1024,
    no_bias: Switch = False,
    layout: Literal["NCDHW", "NCHW", "NCW"] | str | None = None,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Convolution of images whose taps are moved by offsets, by bilinear interpolation.

    Outside of the image all is zero: as in MXNet it ends at the center of its first pixels, and a
    pixel past that of its last ones.

    Args:
        data: (batch, channels, height, width).
        offset: (batch, num_deformable_group * taps * 2, new height, new width), by how many pixels
            each tap is moved, y and then x.
        weight: (num_filter, channels / num_group, *kernel).
        bias: (num_filter,); not taken with no_bias=True.
        kernel: rows and columns of taps.
        stride: the distance of two windows, default 1.
        dilate: the distance of two taps, default 1.
        pad: zeros around the image, default 0.
        num_filter: how many channels the result has.
        num_group: how many groups of channels there are, each with its own filters.
        num_deformable_group: how many groups of channels there are, each with its own offsets.
        workspace: without meaning here; read for MXNet's sake.
        no_bias: leave the bias out.
        layout: NCHW is the only one.

    Returns:
        (batch, num_filter, new height, new width), sizes as for `Convolution`.
    """

@overload
def DeformableConvolution(
    data: NDArray,
    offset: NDArray,
    weight: NDArray,
    bias: NDArray | Any,
    kernel: Sizes,
    stride: Sizes = (),
    dilate: Sizes = (),
    pad: Sizes = (),
    *,
    num_filter: Whole,
    num_group: Whole = 1,
    num_deformable_group: Whole = 1,
    workspace: Whole = 1024,
    no_bias: Switch = False,
    layout: Literal["NCDHW", "NCHW", "NCW"] | str | None = None,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def DeformableConvolution(
    data: NDArray,
    offset: NDArray,
    weight: NDArray,
    bias: NDArray | Any,
    kernel: Sizes,
    stride: Sizes,
    dilate: Sizes,
    pad: Sizes,
    num_filter: Whole,
    num_group: Whole = 1,
    num_deformable_group: Whole = 1,
    workspace: Whole = 1024,
    no_bias: Switch = False,
    layout: Literal["NCDHW", "NCHW", "NCW"] | str | None = None,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def DeformableConvolution(
    data: NDArray,
    offset: NDArray,
    weight: NDArray,
    bias: NDArray | Any = None,
    *,
    _unpacked: object,
    **options: object,
) -> NDArray: ...
@overload
def ModulatedDeformableConvolution(
    data: NDArray,
    offset: NDArray,
    mask: NDArray,
    weight: NDArray,
    bias: NDArray | Any = None,
    *,
    kernel: Sizes,
    stride: Sizes = (),
    dilate: Sizes = (),
    pad: Sizes = (),
    num_filter: Whole,
    num_group: Whole = 1,
    num_deformable_group: Whole = 1,
    workspace: Whole = 1024,
    no_bias: Switch = False,
    im2col_step: Whole = 64,
    layout: Literal["NCDHW", "NCHW", "NCW"] | str | None = None,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """`DeformableConvolution` whose taps are weighted, each at each place, by a predicted mask.

    Here the image fades out within a pixel around it.

    Args:
        data: (batch, channels, height, width).
        offset: (batch, num_deformable_group * taps * 2, new height, new width).
        mask: (batch, num_deformable_group * taps, new height, new width).
        weight: (num_filter, channels / num_group, *kernel).
        bias: (num_filter,); not taken with no_bias=True.
        kernel: rows and columns of taps; see DeformableConvolution for this and what follows.
        stride: the distance of two windows, default 1.
        dilate: the distance of two taps, default 1.
        pad: zeros around the image, default 0.
        num_filter: how many channels the result has.
        num_group: groups of channels with their own filters.
        num_deformable_group: groups of channels with their own offsets and masks.
        workspace: without meaning here, like `im2col_step`; read for MXNet's sake.
        no_bias: leave the bias out.
        im2col_step: see `workspace`.
        layout: NCHW is the only one.

    Returns:
        (batch, num_filter, new height, new width).
    """

@overload
def ModulatedDeformableConvolution(
    data: NDArray,
    offset: NDArray,
    mask: NDArray,
    weight: NDArray,
    bias: NDArray | Any,
    kernel: Sizes,
    stride: Sizes = (),
    dilate: Sizes = (),
    pad: Sizes = (),
    *,
    num_filter: Whole,
    num_group: Whole = 1,
    num_deformable_group: Whole = 1,
    workspace: Whole = 1024,
    no_bias: Switch = False,
    im2col_step: Whole = 64,
    layout: Literal["NCDHW", "NCHW", "NCW"] | str | None = None,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def ModulatedDeformableConvolution(
    data: NDArray,
    offset: NDArray,
    mask: NDArray,
    weight: NDArray,
    bias: NDArray | Any,
    kernel: Sizes,
    stride: Sizes,
    dilate: Sizes,
    pad: Sizes,
    num_filter: Whole,
    num_group: Whole = 1,
    num_deformable_group: Whole = 1,
    workspace: Whole = 1024,
    no_bias: Switch = False,
    im2col_step: Whole = 64,
    layout: Literal["NCDHW", "NCHW", "NCW"] | str | None = None,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def ModulatedDeformableConvolution(
    data: NDArray,
    offset: NDArray,
    mask: NDArray,
    weight: NDArray,
    bias: NDArray | Any = None,
    *,
    _unpacked: object,
    **options: object,
) -> NDArray: ...
@overload
def MultiBoxDetection(
    cls_prob: NDArray,
    loc_pred: NDArray,
    anchor: NDArray,
    *,
    clip: Switch = True,
    threshold: Real = 0.01,
    background_id: Whole = 0,
    nms_threshold: Real = 0.5,
    force_suppress: Switch = False,
    variances: Reals = (0.1, 0.1, 0.2, 0.2),
    nms_topk: Whole = -1,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
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
def MultiBoxDetection(
    cls_prob: NDArray,
    loc_pred: NDArray,
    anchor: NDArray,
    clip: Switch = True,
    threshold: Real = 0.01,
    background_id: Whole = 0,
    nms_threshold: Real = 0.5,
    force_suppress: Switch = False,
    variances: Reals = (0.1, 0.1, 0.2, 0.2),
    nms_topk: Whole = -1,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def MultiBoxDetection(
    cls_prob: NDArray, loc_pred: NDArray, anchor: NDArray, *, _unpacked: object, **options: object
) -> NDArray: ...
@overload
def MultiBoxPrior(
    data: NDArray,
    sizes: Reals = (1.0,),
    ratios: Reals = (1.0,),
    clip: Switch = False,
    steps: Reals = (-1.0, -1.0),
    offsets: Reals = (0.5, 0.5),
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
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
def MultiBoxPrior(data: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
@overload
def MultiBoxTarget(
    anchor: NDArray,
    label: NDArray,
    cls_pred: NDArray,
    *,
    overlap_threshold: Real = 0.5,
    ignore_label: Real = -1.0,
    negative_mining_ratio: Real = -1.0,
    negative_mining_thresh: Real = 0.5,
    minimum_negative_samples: Whole = 0,
    variances: Reals = (0.1, 0.1, 0.2, 0.2),
    out: NDArray | Any = None,
    name: str | Any = None,
) -> list[NDArray]:
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
def MultiBoxTarget(
    anchor: NDArray,
    label: NDArray,
    cls_pred: NDArray,
    overlap_threshold: Real = 0.5,
    ignore_label: Real = -1.0,
    negative_mining_ratio: Real = -1.0,
    negative_mining_thresh: Real = 0.5,
    minimum_negative_samples: Whole = 0,
    variances: Reals = (0.1, 0.1, 0.2, 0.2),
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> list[NDArray]: ...
@overload
def MultiBoxTarget(
    anchor: NDArray, label: NDArray, cls_pred: NDArray, *, _unpacked: object, **options: object
) -> list[NDArray]: ...
@overload
def MultiProposal(
    cls_prob: NDArray,
    bbox_pred: NDArray,
    im_info: NDArray,
    *,
    rpn_pre_nms_top_n: Whole = 6000,
    rpn_post_nms_top_n: Whole = 300,
    threshold: Real = 0.7,
    rpn_min_size: Whole = 16,
    scales: Reals = (4.0, 8.0, 16.0, 32.0),
    ratios: Reals = (0.5, 1.0, 2.0),
    feature_stride: Whole = 16,
    output_score: Switch = False,
    iou_loss: Switch = False,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> Any:
    """Proposes regions: anchors moved as predicted, the best ones that overlap little.

    `Proposal` for a batch of images.

    Args:
        cls_prob: (batch, 2 * anchors, height, width), for each anchor the probability that there
            is nothing, and after these that there is something.
        bbox_pred: (batch, 4 * anchors, height, width), how each anchor is moved and stretched.
        im_info: (batch, 3), height, width and scale of each image.
        rpn_pre_nms_top_n: how many boxes, by probability, are looked at; 0 or less for all.
        rpn_post_nms_top_n: how many are returned; where there are fewer, they are repeated.
        threshold: the overlap above which the less probable of two is dropped.
        rpn_min_size: smaller boxes, in pixels of the unscaled image, come last.
        scales: sizes of the anchors, in feature strides.
        ratios: heights of the anchors over their widths.
        feature_stride: how many pixels of the image one of the feature map is.
        output_score: return the probabilities as well.
        iou_loss: `bbox_pred` is by how many pixels each side is moved.

    Returns:
        (batch * rpn_post_nms_top_n, 5): image, left, top, right, bottom; with `output_score` also the
        probabilities, (batch * rpn_post_nms_top_n, 1).
    """

@overload
def MultiProposal(
    cls_prob: NDArray,
    bbox_pred: NDArray,
    im_info: NDArray,
    rpn_pre_nms_top_n: Whole = 6000,
    rpn_post_nms_top_n: Whole = 300,
    threshold: Real = 0.7,
    rpn_min_size: Whole = 16,
    scales: Reals = (4.0, 8.0, 16.0, 32.0),
    ratios: Reals = (0.5, 1.0, 2.0),
    feature_stride: Whole = 16,
    output_score: Switch = False,
    iou_loss: Switch = False,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> Any: ...
@overload
def MultiProposal(
    cls_prob: NDArray, bbox_pred: NDArray, im_info: NDArray, *, _unpacked: object, **options: object
) -> Any: ...
@overload
def PSROIPooling(
    data: NDArray,
    rois: NDArray,
    *,
    spatial_scale: Real,
    output_dim: Whole,
    pooled_size: Whole,
    group_size: Whole = 0,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """The mean of each part of a grid over a region, from channels of that part's own.

    Dai et al., "R-FCN", 2016. The corners are rounded to pixels of the image.

    Args:
        data: (batch, output_dim * group_size**2, height, width): for each output channel a square
            of channels, one for each part.
        rois: (regions, 5): image, left, top, right, bottom.
        spatial_scale: the size of the feature map over that of the image.
        output_dim: how many channels the result has.
        pooled_size: rows, and columns, of the grid.
        group_size: rows, and columns, of the squares of channels; 0 for those of the grid. Of
            fewer each is for several parts.

    Returns:
        (regions, output_dim, pooled_size, pooled_size); 0 for a part without a pixel.
    """

@overload
def PSROIPooling(
    data: NDArray,
    rois: NDArray,
    spatial_scale: Real,
    output_dim: Whole,
    pooled_size: Whole,
    group_size: Whole = 0,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def PSROIPooling(
    data: NDArray, rois: NDArray, *, _unpacked: object, **options: object
) -> NDArray: ...
@overload
def Proposal(
    cls_prob: NDArray,
    bbox_pred: NDArray,
    im_info: NDArray,
    *,
    rpn_pre_nms_top_n: Whole = 6000,
    rpn_post_nms_top_n: Whole = 300,
    threshold: Real = 0.7,
    rpn_min_size: Whole = 16,
    scales: Reals = (4.0, 8.0, 16.0, 32.0),
    ratios: Reals = (0.5, 1.0, 2.0),
    feature_stride: Whole = 16,
    output_score: Switch = False,
    iou_loss: Switch = False,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> Any:
    """Proposes regions: anchors moved as predicted, the best ones that overlap little.

    For one image; `MultiProposal` is for several.

    Args:
        cls_prob: (batch, 2 * anchors, height, width), for each anchor the probability that there
            is nothing, and after these that there is something.
        bbox_pred: (batch, 4 * anchors, height, width), how each anchor is moved and stretched.
        im_info: (batch, 3), height, width and scale of each image.
        rpn_pre_nms_top_n: how many boxes, by probability, are looked at; 0 or less for all.
        rpn_post_nms_top_n: how many are returned; where there are fewer, they are repeated.
        threshold: the overlap above which the less probable of two is dropped.
        rpn_min_size: smaller boxes, in pixels of the unscaled image, come last.
        scales: sizes of the anchors, in feature strides.
        ratios: heights of the anchors over their widths.
        feature_stride: how many pixels of the image one of the feature map is.
        output_score: return the probabilities as well.
        iou_loss: `bbox_pred` is by how many pixels each side is moved.

    Returns:
        (batch * rpn_post_nms_top_n, 5): image, left, top, right, bottom; with `output_score` also the
        probabilities, (batch * rpn_post_nms_top_n, 1).
    """

@overload
def Proposal(
    cls_prob: NDArray,
    bbox_pred: NDArray,
    im_info: NDArray,
    rpn_pre_nms_top_n: Whole = 6000,
    rpn_post_nms_top_n: Whole = 300,
    threshold: Real = 0.7,
    rpn_min_size: Whole = 16,
    scales: Reals = (4.0, 8.0, 16.0, 32.0),
    ratios: Reals = (0.5, 1.0, 2.0),
    feature_stride: Whole = 16,
    output_score: Switch = False,
    iou_loss: Switch = False,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> Any: ...
@overload
def Proposal(
    cls_prob: NDArray, bbox_pred: NDArray, im_info: NDArray, *, _unpacked: object, **options: object
) -> Any: ...
@overload
def ROIAlign(
    data: NDArray,
    rois: NDArray,
    *,
    pooled_size: Sizes,
    spatial_scale: Real,
    sample_ratio: Whole = -1,
    position_sensitive: Switch = False,
    aligned: Switch = False,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """The average of samples in each part of a grid over a region, by bilinear interpolation.

    He et al., "Mask R-CNN", 2017. Nothing is rounded.

    Args:
        data: (batch, channels, height, width).
        rois: (regions, 5): image, left, top, right, bottom.
        pooled_size: rows and columns of the grid; one number for both.
        spatial_scale: the size of the feature map over that of the image.
        sample_ratio: how many samples of a part there are on each axis; 0 or less for as many as
            it has pixels, rounded up.
        position_sensitive: each part has channels of its own (Dai et al., "R-FCN", 2016).
        aligned: pixels have their centers half a pixel from their corners, and regions may be
            smaller than a pixel.

    Returns:
        (regions, channels, rows, columns), the channels being those of `data` over the number of
        parts with `position_sensitive`.
    """

@overload
def ROIAlign(
    data: NDArray,
    rois: NDArray,
    pooled_size: Sizes,
    spatial_scale: Real,
    sample_ratio: Whole = -1,
    position_sensitive: Switch = False,
    aligned: Switch = False,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def ROIAlign(data: NDArray, rois: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
@overload
def RROIAlign(
    data: NDArray,
    rois: NDArray,
    *,
    pooled_size: Sizes,
    spatial_scale: Real,
    sampling_ratio: Whole = -1,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """The average of samples in each part of a grid over a turned region.

    Ma et al., "Arbitrary-Oriented Scene Text Detection via Rotation Proposals", 2018. Nothing is
    rounded. Regions have no gradient.

    Args:
        data: (batch, channels, height, width).
        rois: (regions, 6): image, x and y of the middle, width, height, angle in degrees.
        pooled_size: rows and columns of the grid; one number for both.
        spatial_scale: the size of the feature map over that of the image.
        sampling_ratio: how many samples of a part there are on each axis; 0 or less for as many as
            it has pixels, rounded up.

    Returns:
        (regions, channels, rows, columns).
    """

@overload
def RROIAlign(
    data: NDArray,
    rois: NDArray,
    pooled_size: Sizes,
    spatial_scale: Real,
    sampling_ratio: Whole = -1,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def RROIAlign(data: NDArray, rois: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
@overload
def SparseEmbedding(
    data: NDArray,
    weight: NDArray,
    *,
    input_dim: Whole,
    output_dim: Whole,
    dtype: DTypeLike = "float32",
    deterministic: Switch = False,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Rows of a table, whose gradient is row-sparse; `Embedding` with `sparse_grad`.

    Args:
        data: positions, of any shape; those outside are clipped.
        weight: (input_dim, output_dim).
        input_dim: how many rows the table has.
        output_dim: the length of each.
        dtype: the element type of a weight that is made for this operator.
        deterministic: without meaning here: sums are always in the same order.
    """

@overload
def SparseEmbedding(
    data: NDArray,
    weight: NDArray,
    input_dim: Whole,
    output_dim: Whole,
    dtype: DTypeLike = "float32",
    deterministic: Switch = False,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def SparseEmbedding(
    data: NDArray, weight: NDArray, *, _unpacked: object, **options: object
) -> NDArray: ...
@overload
def SyncBatchNorm(
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
    ndev: Whole = 1,
    key: str | Context = "",
    out: NDArray | Any = None,
    name: str | Any = None,
) -> Any:
    """BatchNorm over axis 1 whose statistics are those of the program's whole batch.

    Args:
        data: (batch, channels, ...); see BatchNorm for this and what follows.
        gamma: (channels,).
        beta: (channels,).
        moving_mean: (channels,).
        moving_var: (channels,).
        eps: keeps the root from zero.
        momentum: of the moving statistics.
        fix_gamma: take gamma as 1.
        use_global_stats: use the moving statistics in training too.
        output_mean_var: show the mean and the variance as well.
        ndev: without meaning here, like `key`: a batch that is spread over devices by one program
            is normalized as one; read for MXNet's sake.
        key: see `ndev`.
    """

@overload
def SyncBatchNorm(
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
    ndev: Whole = 1,
    key: str | Context = "",
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> Any: ...
@overload
def SyncBatchNorm(
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
def allclose(
    a: NDArray,
    b: NDArray,
    *,
    rtol: Real = 1e-05,
    atol: Real = 1e-08,
    equal_nan: Switch = True,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Whether ``abs(a - b) <= atol + rtol * abs(b)`` everywhere.

    An infinity equals itself alone, as in NumPy (in MXNet any number equals an infinite `b`).

    Args:
        a: any shape.
        b: the shape of `a`.
        rtol: the part of `b` that the difference may be.
        atol: what it may be more.
        equal_nan: whether NaN equals NaN.

    Returns:
        (), uint8: 1 or 0.
    """

@overload
def allclose(
    a: NDArray,
    b: NDArray,
    rtol: Real = 1e-05,
    atol: Real = 1e-08,
    equal_nan: Switch = True,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def allclose(a: NDArray, b: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
@overload
def arange_like(
    data: NDArray,
    start: Real = 0.0,
    step: Real = 1.0,
    repeat: Whole = 1,
    ctx: str | Context = "",
    axis: Whole | None = None,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
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
def arange_like(data: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
@overload
def bipartite_matching(
    data: NDArray,
    is_ascend: Switch = False,
    *,
    threshold: Real,
    topk: Whole = -1,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> list[NDArray]:
    """Matches rows with columns, the best pair first, each at most once.

    Args:
        data: (..., rows, columns), floating point: how well a row and a column fit.
        is_ascend: small numbers fit best.
        threshold: pairs that do not fit better than this are not matched.
        topk: stop after this many matches and one more (as MXNet does); negative for all.

    Returns:
        For each row its column, (..., rows), and for each column its row, (..., columns); -1 for
        one that has none.
    """

@overload
def bipartite_matching(
    data: NDArray,
    is_ascend: Switch,
    threshold: Real,
    topk: Whole = -1,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> list[NDArray]: ...
@overload
def bipartite_matching(data: NDArray, *, _unpacked: object, **options: object) -> list[NDArray]: ...
@overload
def boolean_mask(
    data: NDArray,
    index: NDArray,
    *,
    axis: Whole = 0,
    size: Whole | None = None,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Takes the slices along an axis at which a mask is not zero.

    The shape of the result depends on the values of `index`: a call on arrays waits for them, and
    each number of slices is a program of its own. In a graph `size` must be given.

    Args:
        data: any shape of 1 dimension or more.
        index: (data.shape[axis],), the mask.
        size: how many slices there are; measured on arrays. Where it is more than the mask has,
            zeros follow; where it is less, the first ones are taken.

    Returns:
        The shape of `data` with `size` along `axis`.
    """

@overload
def boolean_mask(
    data: NDArray,
    index: NDArray,
    axis: Whole = 0,
    size: Whole | None = None,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def boolean_mask(
    data: NDArray, index: NDArray, *, _unpacked: object, **options: object
) -> NDArray: ...
@overload
def box_decode(
    data: NDArray,
    anchors: NDArray,
    *,
    std0: Real = 1.0,
    std1: Real = 1.0,
    std2: Real = 1.0,
    std3: Real = 1.0,
    clip: Real = -1.0,
    format: Literal["center", "corner"] | str = "center",
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Moves and stretches anchors as predicted: the way back from `box_encode`.

    Args:
        data: (batch, n, 4), the predictions.
        anchors: (1, n, 4).
        std0: what the prediction of the center's x is multiplied by.
        std1: of the center's y.
        std2: of the width.
        std3: of the height.
        clip: the most that the logarithm of a stretch may be; negative for no limit.
        format: that of the anchors.

    Returns:
        (batch, n, 4), boxes in the format 'corner'.
    """

@overload
def box_decode(
    data: NDArray,
    anchors: NDArray,
    std0: Real = 1.0,
    std1: Real = 1.0,
    std2: Real = 1.0,
    std3: Real = 1.0,
    clip: Real = -1.0,
    format: Literal["center", "corner"] | str = "center",
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def box_decode(
    data: NDArray, anchors: NDArray, *, _unpacked: object, **options: object
) -> NDArray: ...
def box_encode(
    samples: NDArray,
    matches: NDArray,
    anchors: NDArray,
    refs: NDArray,
    means: NDArray,
    stds: NDArray,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> list[NDArray]:
    """The offsets and scales by which anchors become their boxes: targets for a regression.

    Ren et al., "Faster R-CNN", 2015: differences of the centers in widths and heights of the
    anchor, and logarithms of the ratios of the sizes; less `means`, divided by `stds`.

    Args:
        samples: (batch, n), 1 for anchors that have a box, -1 or 0 for others.
        matches: (batch, n), which box that is.
        anchors: (batch, n, 4), in the format 'corner', like `refs`.
        refs: (batch, m, 4), the boxes.
        means: (4,), for center x, center y, width, height.
        stds: (4,), likewise.

    Returns:
        The targets, (batch, n, 4), 0 for anchors without a box; and 1 and 0 for those with and
        without one, in the same shape.
    """

@overload
def box_iou(
    lhs: NDArray,
    rhs: NDArray,
    *,
    format: Literal["center", "corner"] | str = "corner",
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """The overlap of each box with each other: the area of intersection over that of the union.

    Args:
        lhs: (..., 4), boxes.
        rhs: (..., 4), others.
        format: that of the boxes.

    Returns:
        (*lhs.shape[:-1], *rhs.shape[:-1]), from 0 to 1.
    """

@overload
def box_iou(
    lhs: NDArray,
    rhs: NDArray,
    format: Literal["center", "corner"] | str = "corner",
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def box_nms(
    data: NDArray,
    overlap_thresh: Real = 0.5,
    valid_thresh: Real = 0.0,
    topk: Whole = -1,
    coord_start: Whole = 2,
    score_index: Whole = 1,
    id_index: Whole = -1,
    background_id: Whole = -1,
    force_suppress: Switch = False,
    in_format: Literal["center", "corner"] | str = "corner",
    out_format: Literal["center", "corner"] | str = "corner",
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Drops boxes that overlap with a box of a higher score: non-maximum suppression.

    Args:
        data: (..., boxes, numbers), floating point; the numbers of a box are named below.
        overlap_thresh: the overlap (see `box_iou`) above which the lesser box is dropped.
        valid_thresh: boxes with this score or less are dropped first.
        topk: how many of the others are looked at, by score; negative for all.
        coord_start: where the four coordinates begin among the numbers of a box.
        score_index: where the score is.
        id_index: where the class is, which alone suppresses its own; -1 for no classes.
        background_id: the class whose boxes are dropped first, where there are classes; default
            -1.
        force_suppress: boxes suppress those of other classes too.
        in_format: that of the coordinates.
        out_format: that of the result's.

    Returns:
        The shape of `data`: the boxes that are kept, by falling score, and then boxes of -1. The
        gradient of a box goes where it came from (MXNet leaves a change of format out of it).
    """

@overload
def box_nms(data: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
@overload
def box_non_maximum_suppression(
    data: NDArray,
    overlap_thresh: Real = 0.5,
    valid_thresh: Real = 0.0,
    topk: Whole = -1,
    coord_start: Whole = 2,
    score_index: Whole = 1,
    id_index: Whole = -1,
    background_id: Whole = -1,
    force_suppress: Switch = False,
    in_format: Literal["center", "corner"] | str = "corner",
    out_format: Literal["center", "corner"] | str = "corner",
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Drops boxes that overlap with a box of a higher score: non-maximum suppression.

    Args:
        data: (..., boxes, numbers), floating point; the numbers of a box are named below.
        overlap_thresh: the overlap (see `box_iou`) above which the lesser box is dropped.
        valid_thresh: boxes with this score or less are dropped first.
        topk: how many of the others are looked at, by score; negative for all.
        coord_start: where the four coordinates begin among the numbers of a box.
        score_index: where the score is.
        id_index: where the class is, which alone suppresses its own; -1 for no classes.
        background_id: the class whose boxes are dropped first, where there are classes; default
            -1.
        force_suppress: boxes suppress those of other classes too.
        in_format: that of the coordinates.
        out_format: that of the result's.

    Returns:
        The shape of `data`: the boxes that are kept, by falling score, and then boxes of -1. The
        gradient of a box goes where it came from (MXNet leaves a change of format out of it).
    """

@overload
def box_non_maximum_suppression(
    data: NDArray, *, _unpacked: object, **options: object
) -> NDArray: ...
def cache_write(
    cache: NDArray,
    data: NDArray,
    starts: NDArray,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Returns a cache with some rows of each sequence replaced.

    Args:
        cache: (batch, length, ...).
        data: (batch, n, ...), what is written to positions ``starts[b]`` up to ``starts[b] + n``.
        starts: (batch,), whole numbers from 0 to ``length - n``; others are an error, at once or
            where a value is next read.

    Returns:
        The shape and dtype of `cache`, in its memory where nobody else needs that.
    """

@overload
def count_sketch(
    data: NDArray,
    h: NDArray,
    s: NDArray,
    *,
    out_dim: Whole,
    processing_batch_size: Whole = 32,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Adds up the columns of an array that have one number, each with its sign.

    Args:
        data: (n, d).
        h: (1, d), the number of each column, from 0 to out_dim - 1.
        s: (1, d), the sign of each column, 1 or -1.
        out_dim: how many columns there are then.
        processing_batch_size: without meaning here; read for MXNet's sake.

    Returns:
        (n, out_dim).
    """

@overload
def count_sketch(
    data: NDArray,
    h: NDArray,
    s: NDArray,
    out_dim: Whole,
    processing_batch_size: Whole = 32,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def count_sketch(
    data: NDArray, h: NDArray, s: NDArray, *, _unpacked: object, **options: object
) -> NDArray: ...
@overload
def dequantize(
    data: NDArray,
    min_range: NDArray,
    max_range: NDArray,
    *,
    out_type: Literal["float32"] | str = "float32",
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Turns whole numbers back into the floats that they stand for.

    Args:
        data: uint8 or int8, as `quantize` returns it; or int32, the sums of a quantized layer.
        min_range: one number, as it returns it.
        max_range: likewise.
        out_type: the dtype of the result.
    """

@overload
def dequantize(
    data: NDArray,
    min_range: NDArray,
    max_range: NDArray,
    out_type: Literal["float32"] | str = "float32",
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
def div_sqrt_dim(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """Divides by the root of the length of the last axis, as attention does with its scores.

    Args:
        data: an array of any shape.
    """

@overload
def dot_product_attention(
    queries: NDArray,
    keys: NDArray,
    values: NDArray,
    mask: NDArray | Any = None,
    bias: NDArray | Any = None,
    lengths: NDArray | Any = None,
    starts: NDArray | Any = None,
    *,
    causal: Switch = False,
    window: Whole | None = None,
    scale: Real | None = None,
    dropout: Real = 0.0,
    use_mask: Switch = False,
    use_bias: Switch = False,
    use_lengths: Switch = False,
    use_starts: Switch = False,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Mixes values by how well their keys fit each query: ``softmax(scale * q kᵀ + bias) v``.

    Vaswani et al., "Attention is all you need", 2017. Of long sequences the scores are computed in
    blocks and again for the gradient, so that memory grows with the length and not its square. A
    query that sees no key gives 0.

    Args:
        queries: (batch, queries, heads, units), floating point.
        keys: (batch, keys, key heads, units); the key heads divide the heads, and each serves as
            many heads in a row (grouped-query attention).
        values: (batch, keys, key heads, value units).
        mask: where a query sees a key: not 0. (batch, heads, queries, keys), each of which may be
            1; or (batch, queries, keys), or (queries, keys).
        bias: added to the scores, of the shapes that `mask` may have.
        lengths: (batch,), how many keys of a sequence there are, from the front; or (batch,
            queries), how many a query sees.
        starts: (batch,), the position of the first query among the keys, for `causal` and
            `window`; default: the last query is where the last key is.
        causal: hide the keys after a query.
        window: a query sees so many keys: its own and those before it; with causal=False as many
            after it, too. Default all.
        scale: default ``1 / sqrt(units)``.
        dropout: the probability that a share is dropped, in training.
        use_mask: whether these are given; set where they are.
        use_bias: whether these are given; set where they are.
        use_lengths: whether these are given; set where they are.
        use_starts: whether these are given; set where they are.

    Returns:
        (batch, queries, heads, value units), the dtype of `queries`; narrow floats are computed in
        float32. Hidden: the logarithms of the sums of the exponentials, (batch, queries, heads).
    """

@overload
def dot_product_attention(
    queries: NDArray,
    keys: NDArray,
    values: NDArray,
    mask: NDArray | Any = None,
    bias: NDArray | Any = None,
    lengths: NDArray | Any = None,
    starts: NDArray | Any = None,
    causal: Switch = False,
    window: Whole | None = None,
    scale: Real | None = None,
    dropout: Real = 0.0,
    use_mask: Switch = False,
    use_bias: Switch = False,
    use_lengths: Switch = False,
    use_starts: Switch = False,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def dot_product_attention(
    queries: NDArray,
    keys: NDArray,
    values: NDArray,
    mask: NDArray | Any = None,
    bias: NDArray | Any = None,
    lengths: NDArray | Any = None,
    starts: NDArray | Any = None,
    *,
    _unpacked: object,
    **options: object,
) -> NDArray: ...
def fft(
    data: NDArray, compute_size: Whole = 128, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """The discrete Fourier transform along the last axis.

    Args:
        data: (n, d) or (n, c, h, d), real.
        compute_size: without meaning here; read for MXNet's sake.

    Returns:
        The shape of `data` with 2 * d: the real and the imaginary part of each number in turn.
    """

def getnnz(
    data: NDArray, axis: Whole | None = None, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """The number of elements that are not zero (MXNet: of elements stored, in csr arrays alone).

    Args:
        data: an array of any shape.
        axis: count along this axis; None for all.

    Returns:
        (1,), or the shape of `data` without `axis`; int64.
    """

@overload
def gradientmultiplier(
    data: NDArray,
    scalar: Real = 1.0,
    is_int: Switch = True,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Passes on the data; on the way back multiplies the gradient by a number.

    With -1 it is the gradient reversal of Ganin and Lempitsky, "Unsupervised domain adaptation by
    backpropagation", 2015.

    Args:
        data: an array of any shape.
        scalar: the number.
        is_int: without meaning here; read for MXNet's sake.
    """

@overload
def gradientmultiplier(data: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
@overload
def group_adagrad_update(
    weight: NDArray,
    grad: NDArray,
    history: NDArray,
    *,
    lr: Real,
    rescale_grad: Real = 1.0,
    clip_gradient: Real = -1.0,
    epsilon: Real = 1e-05,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """AdaGrad with one history for each row, to which the row's mean square is added.

    Args:
        weight: what is updated, of any shape.
        grad: the gradient, in the shape of `weight`.
        lr: the learning rate.
        rescale_grad: what the gradient is multiplied by first.
        clip_gradient: limits each element of the rescaled gradient; negative for no limit.
        epsilon: keeps the division from zero.
    """

@overload
def group_adagrad_update(
    weight: NDArray,
    grad: NDArray,
    history: NDArray,
    lr: Real,
    rescale_grad: Real = 1.0,
    clip_gradient: Real = -1.0,
    epsilon: Real = 1e-05,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def group_adagrad_update(
    weight: NDArray, grad: NDArray, history: NDArray, *, _unpacked: object, **options: object
) -> NDArray: ...
def ifft(
    data: NDArray, compute_size: Whole = 128, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """The inverse of `fft` times d, real parts alone: divide by d to have back what went in.

    Args:
        data: (n, 2 * d) or (n, c, h, 2 * d): real and imaginary parts in turn.
        compute_size: without meaning here; read for MXNet's sake.

    Returns:
        The shape of `data` with d.
    """

def index_array(
    data: NDArray, axes: Places = None, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """The position of each element, along a new last axis.

    Args:
        data: any shape of 1 dimension or more.
        axes: the axes to tell the position on; None for all.

    Returns:
        (*data.shape, len(axes)), int64.
    """

def index_copy(
    old_tensor: NDArray,
    index_vector: NDArray,
    new_tensor: NDArray,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Returns an array with some of its rows (first axis) replaced.

    Args:
        old_tensor: (rows, ...).
        index_vector: (k,), from 0 to rows - 1: which rows; fractions are cut off. Of a row that is
            named twice the value is one of the two.
        new_tensor: (k, ...), what they become.

    Returns:
        The shape and dtype of `old_tensor`.
    """

@overload
def interleaved_matmul_encdec_qk(
    queries: NDArray,
    keys_values: NDArray,
    *,
    heads: Whole,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Products of a decoder's queries and an encoder's keys, the queries divided as in selfatt_qk.

    Args:
        queries: (queries, batch, heads * head size).
        keys_values: (keys, batch, heads * 2 * head size).
        heads: how many heads there are.

    Returns:
        (batch * heads, queries, keys).
    """

@overload
def interleaved_matmul_encdec_qk(
    queries: NDArray,
    keys_values: NDArray,
    heads: Whole,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def interleaved_matmul_encdec_valatt(
    keys_values: NDArray,
    attention: NDArray,
    *,
    heads: Whole,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Mixes an encoder's values by the attention paid to them.

    Args:
        keys_values: (keys, batch, heads * 2 * head size).
        attention: (batch * heads, queries, keys).
        heads: how many heads there are.

    Returns:
        (queries, batch, heads * head size).
    """

@overload
def interleaved_matmul_encdec_valatt(
    keys_values: NDArray,
    attention: NDArray,
    heads: Whole,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
def interleaved_matmul_selfatt_qk(
    queries_keys_values: NDArray, heads: Whole, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """Products of queries and keys, the queries divided by the root of a head's size.

    Args:
        queries_keys_values: (length, batch, heads * 3 * head size).
        heads: how many heads there are.

    Returns:
        (batch * heads, length, length), by query and then by key.
    """

@overload
def interleaved_matmul_selfatt_valatt(
    queries_keys_values: NDArray,
    attention: NDArray,
    *,
    heads: Whole,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Mixes the values by the attention paid to them.

    Args:
        queries_keys_values: (length, batch, heads * 3 * head size).
        attention: (batch * heads, length, length), by query and then by key.
        heads: how many heads there are.

    Returns:
        (length, batch, heads * head size).
    """

@overload
def interleaved_matmul_selfatt_valatt(
    queries_keys_values: NDArray,
    attention: NDArray,
    heads: Whole,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def linear_cross_entropy(
    data: NDArray,
    weight: NDArray,
    label: NDArray,
    *,
    smoothing: Real = 0.0,
    ignore_label: Whole | None = None,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Cross entropy of the softmax of ``data @ weight.T``, whose scores need not be kept.

    Of large vocabularies the scores are computed some rows at a time, and again for the gradient.

    Args:
        data: (rows, units), floating point: hidden states.
        weight: (classes, units).
        label: (rows,), class numbers. One outside is an error, at once or where a value is next
            read.
        smoothing: how much of the label is spread over all classes (Szegedy et al., 2016).
        ignore_label: a label whose rows have no loss.

    Returns:
        (rows,), float32 or wider. Hidden: the logarithms of the sums of the exponentials.
    """

@overload
def linear_cross_entropy(
    data: NDArray,
    weight: NDArray,
    label: NDArray,
    smoothing: Real = 0.0,
    ignore_label: Whole | None = None,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def linear_cross_entropy(
    data: NDArray, weight: NDArray, label: NDArray, *, _unpacked: object, **options: object
) -> NDArray: ...
@overload
def quadratic(
    data: NDArray,
    a: Real = 0.0,
    b: Real = 0.0,
    c: Real = 0.0,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Computes ``a * data**2 + b * data + c``.

    Args:
        data: an array of any shape.
        a: the coefficient of the square.
        b: of the first power.
        c: the constant.
    """

@overload
def quadratic(data: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
@overload
def quantize(
    data: NDArray,
    min_range: NDArray,
    max_range: NDArray,
    *,
    out_type: Literal["int8", "uint8"] | str = "uint8",
    out: NDArray | Any = None,
    name: str | Any = None,
) -> list[NDArray]:
    """Turns floats of a range into 8-bit whole numbers, rounding halves away from 0.

    Args:
        data: float32, any shape.
        min_range: one number, the least of `data`.
        max_range: one number, the greatest.
        out_type: 'uint8' makes 0 of `min_range` and 255 of `max_range`; 'int8' leaves 0 at 0, and
            makes 127 of the larger of their magnitudes.

    Returns:
        The whole numbers, and the range that they stand for, two arrays of shape (1,).
    """

@overload
def quantize(
    data: NDArray,
    min_range: NDArray,
    max_range: NDArray,
    out_type: Literal["int8", "uint8"] | str = "uint8",
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> list[NDArray]: ...
@overload
def quantize_v2(
    data: NDArray,
    out_type: Literal["auto", "int8", "uint8"] | str = "int8",
    min_calib_range: Real | None = None,
    max_calib_range: Real | None = None,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> list[NDArray]:
    """Turns floats into 8-bit whole numbers; what is outside the range becomes its nearer end.

    Args:
        data: float32, any shape.
        out_type: as for `quantize`; 'auto' is 'uint8' where `min_calib_range` is 0 or more.
        min_calib_range: the least number, known from other data; default that of `data`.
        max_calib_range: the greatest, likewise.

    Returns:
        The whole numbers, and the range that they stand for, two arrays of shape (1,).
    """

@overload
def quantize_v2(data: NDArray, *, _unpacked: object, **options: object) -> list[NDArray]: ...
@overload
def quantized_act(
    data: NDArray,
    min_data: NDArray,
    max_data: NDArray,
    *,
    act_type: Literal["relu"] | str = "relu",
    out: NDArray | Any = None,
    name: str | Any = None,
) -> list[NDArray]:
    """Puts 0 in the place of negative numbers.

    Args:
        data: int8 or uint8.
        min_data: its range, which is returned.
        max_data: likewise.
        act_type: 'relu'.
    """

@overload
def quantized_act(
    data: NDArray,
    min_data: NDArray,
    max_data: NDArray,
    act_type: Literal["relu"] | str = "relu",
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> list[NDArray]: ...
@overload
def quantized_concat(
    *data: NDArray | Sequence[NDArray],
    num_args: Whole = 0,
    dim: Whole = 1,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> list[NDArray]:
    """Joins arrays of 8-bit whole numbers along an axis, in steps of one size.

    The range of the result reaches from the least end of all ranges to the greatest, 0 included. It
    is int8 if one of the arrays is, else uint8.

    Args:
        data: the arrays, and then both ends of the range of each of them.
        num_args: how many arrays; 0: a third of `data`.
        dim: the axis.
    """

@overload
def quantized_concat(
    *data: NDArray | Sequence[NDArray], _unpacked: object, **options: object
) -> list[NDArray]: ...
@overload
def quantized_conv(
    data: NDArray,
    weight: NDArray,
    bias: NDArray,
    min_data: NDArray,
    max_data: NDArray,
    min_weight: NDArray,
    max_weight: NDArray | Any = None,
    min_bias: NDArray | Any = None,
    max_bias: NDArray | Any = None,
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
) -> list[NDArray]:
    """Slides filters of 8-bit whole numbers over the spatial axes.

    Args:
        data: int8 or uint8, (batch, channel, *spatial).
        weight: int8, (num_filter, channel, *kernel).
        bias: int8, (num_filter,); not taken with no_bias=True.
        min_data: the range of `data`, as quantize_v2 returns it.
        max_data: likewise.
        min_weight: the range of `weight`, or (channels,) of each output channel.
        max_weight: likewise.
        min_bias: the range of `bias`, or (channels,) of each of its numbers.
        max_bias: likewise.
        kernel: the window's size along each spatial axis.
        stride: the distance of two windows, default 1 everywhere.
        dilate: the distance of two taps of a window, default 1 everywhere.
        num_filter: how many channels the output has.
        num_group: 1.
        workspace: without meaning here; read for MXNet's sake.
        no_bias: leave the bias out.
        cudnn_off: without meaning here; read for MXNet's sake.
        layout: one with the channels before the spatial axes.

    Returns:
        int32 sums, and the range of which the greatest int32 stands for the end.
    """

@overload
def quantized_conv(
    data: NDArray,
    weight: NDArray,
    bias: NDArray,
    min_data: NDArray,
    max_data: NDArray,
    min_weight: NDArray,
    max_weight: NDArray | Any,
    min_bias: NDArray | Any,
    max_bias: NDArray | Any,
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
) -> list[NDArray]: ...
@overload
def quantized_conv(
    data: NDArray,
    weight: NDArray,
    bias: NDArray,
    min_data: NDArray,
    max_data: NDArray,
    min_weight: NDArray,
    max_weight: NDArray | Any,
    min_bias: NDArray | Any,
    max_bias: NDArray | Any,
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
) -> list[NDArray]: ...
@overload
def quantized_conv(
    data: NDArray,
    weight: NDArray,
    bias: NDArray,
    min_data: NDArray,
    max_data: NDArray,
    min_weight: NDArray,
    max_weight: NDArray | Any = None,
    min_bias: NDArray | Any = None,
    max_bias: NDArray | Any = None,
    *,
    _unpacked: object,
    **options: object,
) -> list[NDArray]: ...
def quantized_elemwise_add(
    lhs: NDArray,
    rhs: NDArray,
    lhs_min: NDArray,
    lhs_max: NDArray,
    rhs_min: NDArray,
    rhs_max: NDArray,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> list[NDArray]:
    """Adds arrays of 8-bit whole numbers; the sum is int32.

    Its range is as wide as both ranges together, so that no sum is outside.

    Args:
        lhs: int8 or uint8.
        rhs: likewise, of the same shape.
        lhs_min: the range of `lhs`.
        lhs_max: the range of `lhs`.
        rhs_min: that of `rhs`.
        rhs_max: that of `rhs`.
    """

def quantized_flatten(
    data: NDArray,
    min_data: NDArray,
    max_data: NDArray,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> list[NDArray]:
    """Makes one axis of all axes but the first.

    Args:
        data: int8 or uint8.
        min_data: its range, which is returned.
        max_data: likewise.
    """

@overload
def quantized_fully_connected(
    data: NDArray,
    weight: NDArray,
    bias: NDArray,
    min_data: NDArray,
    max_data: NDArray,
    min_weight: NDArray,
    max_weight: NDArray | Any = None,
    min_bias: NDArray | Any = None,
    max_bias: NDArray | Any = None,
    *,
    num_hidden: Whole,
    no_bias: Switch = False,
    flatten: Switch = True,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> list[NDArray]:
    """Applies a dense layer of 8-bit whole numbers.

    Args:
        data: int8 or uint8, shaped as for FullyConnected.
        weight: int8, (num_hidden, features).
        bias: int8, (num_hidden,); not taken with no_bias=True.
        min_data: the range of `data`, as quantize_v2 returns it.
        max_data: likewise.
        min_weight: the range of `weight`, or (channels,) of each output channel.
        max_weight: likewise.
        min_bias: the range of `bias`, or (channels,) of each of its numbers.
        max_bias: likewise.
        num_hidden: how many outputs there are for each row.
        no_bias: leave the bias out.
        flatten: as for FullyConnected.

    Returns:
        int32 sums, and the range of which the greatest int32 stands for the end.
    """

@overload
def quantized_fully_connected(
    data: NDArray,
    weight: NDArray,
    bias: NDArray,
    min_data: NDArray,
    max_data: NDArray,
    min_weight: NDArray,
    max_weight: NDArray | Any,
    min_bias: NDArray | Any,
    max_bias: NDArray | Any,
    num_hidden: Whole,
    no_bias: Switch = False,
    flatten: Switch = True,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> list[NDArray]: ...
@overload
def quantized_fully_connected(
    data: NDArray,
    weight: NDArray,
    bias: NDArray,
    min_data: NDArray,
    max_data: NDArray,
    min_weight: NDArray,
    max_weight: NDArray | Any = None,
    min_bias: NDArray | Any = None,
    max_bias: NDArray | Any = None,
    *,
    _unpacked: object,
    **options: object,
) -> list[NDArray]: ...
@overload
def quantized_pooling(
    data: NDArray,
    min_data: NDArray,
    max_data: NDArray,
    *,
    kernel: Sizes = (),
    pool_type: Literal["avg", "max"] | str = "max",
    global_pool: Switch = False,
    cudnn_off: Switch = False,
    pooling_convention: Literal["full", "same", "valid"] | str = "valid",
    stride: Sizes = (),
    pad: Sizes = (),
    count_include_pad: Switch | None = None,
    layout: Literal["NCW", "NCHW", "NCDHW", "NWC", "NHWC", "NDHWC"] | str | None = None,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> list[NDArray]:
    """Reduces each window of 8-bit whole numbers to one, of the same range.

    Args:
        data: int8 or uint8, shaped as for Pooling.
        min_data: its range.
        max_data: likewise.
        kernel: the window's size along each spatial axis.
        pool_type: 'max', or 'avg', which rounds to the nearest whole number.
        cudnn_off: without meaning here; read for MXNet's sake.
        stride: the distance of two windows, default 1 everywhere.
        layout: NCW, NCHW or NCDHW (the defaults), or NWC, NHWC or NDHWC.
    """

@overload
def quantized_pooling(
    data: NDArray,
    min_data: NDArray,
    max_data: NDArray,
    kernel: Sizes = (),
    pool_type: Literal["avg", "max"] | str = "max",
    global_pool: Switch = False,
    cudnn_off: Switch = False,
    pooling_convention: Literal["full", "same", "valid"] | str = "valid",
    stride: Sizes = (),
    pad: Sizes = (),
    count_include_pad: Switch | None = None,
    layout: Literal["NCW", "NCHW", "NCDHW", "NWC", "NHWC", "NDHWC"] | str | None = None,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> list[NDArray]: ...
@overload
def quantized_pooling(
    data: NDArray, min_data: NDArray, max_data: NDArray, *, _unpacked: object, **options: object
) -> list[NDArray]: ...
@overload
def requantize(
    data: NDArray,
    min_range: NDArray,
    max_range: NDArray,
    *,
    out_type: Literal["auto", "int8", "uint8"] | str = "int8",
    min_calib_range: Real | None = None,
    max_calib_range: Real | None = None,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> list[NDArray]:
    """Turns the sums that a quantized layer returns into 8-bit whole numbers.

    Args:
        data: int32, any shape, of which the greatest int32 stands for the end of the range.
        min_range: one number, as the layer returns it.
        max_range: likewise.
        out_type: 'int8' is centered at 0, 'uint8' begins at 0; 'auto' is 'uint8' where
            `min_calib_range` is 0 or more.
        min_calib_range: the least result, known from other data; default that of `data`.
        max_calib_range: the greatest, likewise.

    Returns:
        The whole numbers, and the range that they stand for, two arrays of shape (1,).
    """

@overload
def requantize(
    data: NDArray,
    min_range: NDArray,
    max_range: NDArray,
    out_type: Literal["auto", "int8", "uint8"] | str = "int8",
    min_calib_range: Real | None = None,
    max_calib_range: Real | None = None,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> list[NDArray]: ...
@overload
def requantize(
    data: NDArray, min_range: NDArray, max_range: NDArray, *, _unpacked: object, **options: object
) -> list[NDArray]: ...
@overload
def rotary_embedding(
    data: NDArray,
    positions: NDArray,
    frequencies: NDArray,
    *,
    interleaved: Switch = False,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Turns pairs of units (x, y) by ``position * frequency``.

    Su et al., "RoFormer: enhanced transformer with rotary position embedding", 2021.

    Args:
        data: (batch, length, heads, units), floating point: queries or keys.
        positions: (length,) or (batch, length).
        frequencies: (n,), the angle in radians of each pair at position 1; n is half of the units,
            or less: then the units after the first 2 n stay.
        interleaved: whether pairs are neighbours, as in the paper; else unit i goes with unit
            ``i + n``, as in Llama.

    Returns:
        The shape and dtype of `data`; narrow floats are computed in float32.
    """

@overload
def rotary_embedding(
    data: NDArray,
    positions: NDArray,
    frequencies: NDArray,
    interleaved: Switch = False,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
def round_ste(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """Rounds half away from zero; the gradient passes straight through.

    Bengio, Leonard and Courville, "Estimating or propagating gradients through stochastic
    neurons", 2013.

    Args:
        data: an array of any shape.
    """

def sign_ste(data: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """The sign, 1, 0 or -1; the gradient passes straight through, as in `round_ste`.

    Args:
        data: an array of any shape.
    """
