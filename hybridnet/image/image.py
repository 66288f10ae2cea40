"""MXNet's name for the half of `image` that is about images alone."""

from .augmenters import Augmenter as Augmenter
from .augmenters import CastAug as CastAug
from .augmenters import CenterCropAug as CenterCropAug
from .augmenters import ForceResizeAug as ForceResizeAug
from .augmenters import HorizontalFlipAug as HorizontalFlipAug
from .augmenters import RandomCropAug as RandomCropAug
from .augmenters import RandomOrderAug as RandomOrderAug
from .augmenters import RandomSizedCropAug as RandomSizedCropAug
from .augmenters import ResizeAug as ResizeAug
from .augmenters import SequentialAug as SequentialAug
from .colours import BrightnessJitterAug as BrightnessJitterAug
from .colours import ColorJitterAug as ColorJitterAug
from .colours import ColorNormalizeAug as ColorNormalizeAug
from .colours import ContrastJitterAug as ContrastJitterAug
from .colours import HueJitterAug as HueJitterAug
from .colours import LightingAug as LightingAug
from .colours import RandomGrayAug as RandomGrayAug
from .colours import SaturationJitterAug as SaturationJitterAug
from .colours import color_normalize as color_normalize
from .create import CreateAugmenter as CreateAugmenter
from .cropping import center_crop as center_crop
from .cropping import fixed_crop as fixed_crop
from .cropping import random_crop as random_crop
from .cropping import random_size_crop as random_size_crop
from .image_iter import ImageIter as ImageIter
from .reading import imdecode as imdecode
from .reading import imread as imread
from .resizing import choose_method as _get_interp_method  # noqa: F401  packages import it by MXNet's name
from .resizing import copyMakeBorder as copyMakeBorder
from .resizing import imresize as imresize
from .resizing import resize_short as resize_short
from .resizing import scale_down as scale_down
from .rotation import imrotate as imrotate
from .rotation import random_rotate as random_rotate
