"""Images of TensorFlow's 1.x API; see `tf1_case.py`. Names inside are TensorFlow's own affair."""

from __future__ import annotations

from typing import Any

import numpy as np
from oracle.tf1_case import case, error_of, numbers


def _run(tf: Any, tensors: Any, feeds: Any = None) -> list[Any]:
    """Returns values and static shapes."""
    with tf.Session() as session:
        values = session.run(tensors, feeds)
    return [values, [str(one.shape) for one in tensors]]


@case
def resized(tf: Any) -> Any:
    x = tf.constant(numbers(2, 5, 7, 3, low=0, high=9))
    bytes_ = tf.constant(numbers(6, 4, 1, low=0, high=255, dtype="uint8"))
    image = tf.image
    made = [image.resize_images(x, size, m) for size in ([3, 4], [9, 10]) for m in range(4)]
    made += [image.resize_images(x, [8, 3], m, align_corners=True) for m in range(4)]
    made += [
        image.resize_images(bytes_, [3, 8], method=image.ResizeMethod.NEAREST_NEIGHBOR),
        image.resize_images(bytes_, [3, 8]), image.resize_images(bytes_, [6, 4]),
        image.resize_images(bytes_, tf.stack([tf.constant(2), 3])),
        image.resize_bilinear(x, [4, 4], half_pixel_centers=True),
        image.resize_nearest_neighbor(x, [4, 4], half_pixel_centers=True),
        image.resize_bicubic(x, [4, 4]), image.resize_area(x, [4, 4]),
    ]  # fmt: skip
    made += tf.gradients(tf.reduce_sum(tf.square(image.resize_bilinear(x, [3, 9]))), [x])
    return _run(tf, made)


@case
def resized_when_it_runs(tf: Any) -> Any:
    p = tf.placeholder(tf.uint8, [None, None, 3])
    image = tf.image
    made = [image.resize_images(p, [4, 6], m) for m in range(4)]
    made += [
        image.resize_image_with_crop_or_pad(p, 4, 9), image.resize_image_with_crop_or_pad(p, 7, 3),
        image.central_crop(p, 0.5), image.crop_to_bounding_box(p, 1, 2, 3, 4),
        image.flip_left_right(p), image.transpose_image(p), image.per_image_standardization(p),
        image.pad_to_bounding_box(p, 1, 2, 7, 10), image.convert_image_dtype(p, tf.float32),
        *tf.unstack(p, 3, axis=-1),
    ]  # fmt: skip
    return _run(tf, made, {p: numbers(5, 7, 3, low=0, high=255, dtype="uint8")})


@case
def cut_and_turned(tf: Any) -> Any:
    x, several = tf.constant(numbers(5, 8, 3)), tf.constant(numbers(2, 4, 6, 1))
    image = tf.image
    made = [
        image.flip_left_right(x), image.flip_up_down(several), image.transpose_image(several),
        image.crop_to_bounding_box(several, 1, 2, 2, 3),
        image.pad_to_bounding_box(x, 1, 0, 7, 9), image.resize_image_with_crop_or_pad(x, 3, 11),
        image.resize_image_with_crop_or_pad(several, 7, 4), image.central_crop(x, 0.6),
        image.central_crop(x, 1.0), image.random_crop(x, [5, 8, 3]),
    ]  # fmt: skip
    wrong = [
        error_of(lambda: image.crop_to_bounding_box(x, 3, 0, 3, 3)),
        error_of(lambda: image.central_crop(x, 0.0)),
        error_of(lambda: image.resize_image_with_crop_or_pad(x, 0, 4)),
        error_of(lambda: image.pad_to_bounding_box(x, 1, 0, 5, 9)),
        error_of(lambda: image.resize_images(x[0], [2, 2])),
    ]
    turned = _run(tf, [image.rot90(x), image.rot90(several, 3), image.rot90(x, 2)])[0]
    return [_run(tf, made), turned, wrong]


@case
def coloured(tf: Any) -> Any:
    x = tf.constant(numbers(4, 5, 3, low=0, high=1))
    wide = tf.constant(numbers(4, 5, 3, low=0, high=255, dtype="uint8"))
    image = tf.image
    hsv = image.rgb_to_hsv(x)
    made = [
        hsv, image.hsv_to_rgb(hsv), image.rgb_to_grayscale(x), image.rgb_to_grayscale(wide),
        image.grayscale_to_rgb(x[..., :1]), image.adjust_brightness(x, 0.3),
        image.adjust_brightness(wide, 0.3), image.adjust_contrast(x, 1.5),
        image.adjust_contrast(wide, 0.5), image.adjust_gamma(x, 2.0, 0.5), image.adjust_hue(x, 0.3),
        image.adjust_hue(x, -0.7), image.adjust_saturation(x, 0.4), image.adjust_saturation(x, 3.0),
        image.per_image_standardization(x), image.per_image_standardization(tf.zeros([2, 2, 3])),
        image.convert_image_dtype(x, tf.uint8), image.convert_image_dtype(wide, tf.float32),
        image.convert_image_dtype(x * 2.0, tf.uint8, saturate=True), image.total_variation(x),
    ]  # fmt: skip
    wrong = [
        error_of(lambda: image.random_contrast(x, 2.0, 1.0)),
        error_of(lambda: image.random_hue(x, 0.6)),
        error_of(lambda: image.random_brightness(x, -1.0)),
    ]
    return [_run(tf, made), wrong]


@case
def boxes(tf: Any) -> Any:
    x = tf.constant(numbers(1, 9, 11, 3, low=0, high=1))
    edges = tf.constant([[[0.1, 0.2, 0.6, 0.7], [0.5, 0.3, 1.2, 0.9], [-0.5, 0.0, 0.2, 0.4]]])
    drawn = tf.image.draw_bounding_boxes(x, edges)
    inside = tf.clip_by_value(edges, 0.0, 1.0)
    begin, size, part = tf.image.sample_distorted_bounding_box(
        tf.shape(x[0]), inside, min_object_covered=0.4
    )
    cut = tf.slice(x[0], begin, size)
    with tf.Session() as session:
        values = session.run([drawn, begin, size, part, cut, x])
    top, left = values[1][:2]
    same = values[4].shape == (*values[2][:2], 3) and np.array_equal(
        values[4], values[5][0, top : top + values[2][0], left : left + values[2][1]]
    )
    return [values[0], bool(same), str(part.shape), str(begin.shape), str(drawn.shape)]


@case
def files_of_images(tf: Any) -> Any:
    smooth = np.add.outer(np.arange(16) * 7, np.arange(24) * 5).astype("uint8")
    image = np.stack([smooth, smooth[::-1], 255 - smooth], -1)
    png = tf.image.encode_png(image)
    grey = tf.image.encode_png(image[..., :1])
    solid = tf.image.encode_png(np.concatenate([image, image[..., :1]], -1))
    jpeg = tf.image.decode_jpeg(tf.image.encode_jpeg(image, quality=95), channels=3)
    made = [
        tf.image.decode_png(png), tf.image.decode_png(grey), tf.image.decode_png(grey, channels=3),
        tf.image.decode_png(solid), tf.image.decode_png(png, channels=4),
        tf.image.decode_image(png, channels=3), tf.image.decode_image(png, dtype=tf.float32),
        tf.image.decode_png(solid, channels=3),
    ]  # fmt: skip
    with tf.Session() as session:
        near = np.abs(session.run(jpeg).astype(int) - image).mean() < 3
        wrong = error_of(lambda: session.run(tf.image.decode_jpeg("nothing")))
    return [_run(tf, made), bool(near), wrong, str(jpeg.shape)]
