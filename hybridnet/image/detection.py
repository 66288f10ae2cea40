"""MXNet's name for the half of `image` that is about images with boxes."""

from .det_augmenters import DetAugmenter as DetAugmenter
from .det_augmenters import DetBorrowAug as DetBorrowAug
from .det_augmenters import DetHorizontalFlipAug as DetHorizontalFlipAug
from .det_augmenters import DetRandomSelectAug as DetRandomSelectAug
from .det_create import CreateDetAugmenter as CreateDetAugmenter
from .det_create import CreateMultiRandCropAugmenter as CreateMultiRandCropAugmenter
from .det_iter import ImageDetIter as ImageDetIter
from .det_regions import DetRandomCropAug as DetRandomCropAug
from .det_regions import DetRandomPadAug as DetRandomPadAug
