"""``tf.image``: images, read, resized, cut out, coloured."""

# ruff: noqa: F403, F405

from .images.boxes import *
from .images.colours import *
from .images.cropping import *
from .images.cropping import transpose_image as transpose
from .images.decoding import *
from .images.resizing import *
from .operations.nn.blocks import extract_image_patches

__all__ = [
    "ResizeMethod", "adjust_brightness", "adjust_contrast", "adjust_gamma", "adjust_hue",
    "adjust_saturation", "central_crop", "convert_image_dtype", "crop_to_bounding_box",
    "decode_bmp", "decode_image", "decode_jpeg", "decode_png", "draw_bounding_boxes",
    "encode_jpeg", "encode_png", "extract_image_patches", "flip_left_right", "flip_up_down",
    "grayscale_to_rgb", "hsv_to_rgb", "pad_to_bounding_box", "per_image_standardization",
    "random_brightness", "random_contrast", "random_crop", "random_flip_left_right",
    "random_flip_up_down", "random_hue", "random_saturation", "resize", "resize_area",
    "resize_bicubic", "resize_bilinear", "resize_image_with_crop_or_pad", "resize_images",
    "resize_nearest_neighbor", "resize_with_crop_or_pad", "rgb_to_grayscale", "rgb_to_hsv",
    "rot90", "sample_distorted_bounding_box", "total_variation", "transpose", "transpose_image",
]  # fmt: skip
