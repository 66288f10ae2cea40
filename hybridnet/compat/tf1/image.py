"""``tf.image``: images, read, resized, cut out, coloured."""

from .images.boxes import draw_bounding_boxes as draw_bounding_boxes
from .images.boxes import sample_distorted_bounding_box as sample_distorted_bounding_box
from .images.colours import adjust_brightness as adjust_brightness
from .images.colours import adjust_contrast as adjust_contrast
from .images.colours import adjust_gamma as adjust_gamma
from .images.colours import adjust_hue as adjust_hue
from .images.colours import adjust_saturation as adjust_saturation
from .images.colours import convert_image_dtype as convert_image_dtype
from .images.colours import grayscale_to_rgb as grayscale_to_rgb
from .images.colours import hsv_to_rgb as hsv_to_rgb
from .images.colours import per_image_standardization as per_image_standardization
from .images.colours import random_brightness as random_brightness
from .images.colours import random_contrast as random_contrast
from .images.colours import random_hue as random_hue
from .images.colours import random_saturation as random_saturation
from .images.colours import rgb_to_grayscale as rgb_to_grayscale
from .images.colours import rgb_to_hsv as rgb_to_hsv
from .images.colours import total_variation as total_variation
from .images.cropping import central_crop as central_crop
from .images.cropping import crop_to_bounding_box as crop_to_bounding_box
from .images.cropping import flip_left_right as flip_left_right
from .images.cropping import flip_up_down as flip_up_down
from .images.cropping import pad_to_bounding_box as pad_to_bounding_box
from .images.cropping import random_crop as random_crop
from .images.cropping import random_flip_left_right as random_flip_left_right
from .images.cropping import random_flip_up_down as random_flip_up_down
from .images.cropping import resize_image_with_crop_or_pad as resize_image_with_crop_or_pad
from .images.cropping import resize_with_crop_or_pad as resize_with_crop_or_pad
from .images.cropping import rot90 as rot90
from .images.cropping import transpose_image as transpose
from .images.cropping import transpose_image as transpose_image
from .images.decoding import decode_bmp as decode_bmp
from .images.decoding import decode_image as decode_image
from .images.decoding import decode_jpeg as decode_jpeg
from .images.decoding import decode_png as decode_png
from .images.decoding import encode_jpeg as encode_jpeg
from .images.decoding import encode_png as encode_png
from .images.resizing import ResizeMethod as ResizeMethod
from .images.resizing import resize as resize
from .images.resizing import resize_area as resize_area
from .images.resizing import resize_bicubic as resize_bicubic
from .images.resizing import resize_bilinear as resize_bilinear
from .images.resizing import resize_images as resize_images
from .images.resizing import resize_nearest_neighbor as resize_nearest_neighbor
from .operations.nn.blocks import extract_image_patches as extract_image_patches

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
