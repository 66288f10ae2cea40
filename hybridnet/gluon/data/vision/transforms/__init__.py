"""`gluon.data.vision.transforms`: blocks that change images, for ``dataset.transform_first``.

Images are (height, width, channel) until `ToTensor` makes them (channel, height, width).
"""

from ._color import (
    RandomBrightness,
    RandomColorJitter,
    RandomContrast,
    RandomGray,
    RandomHue,
    RandomLighting,
    RandomSaturation,
)
from ._compose import Compose, HybridCompose, HybridRandomApply, RandomApply
from ._geometry import CropResize, RandomFlipLeftRight, RandomFlipTopBottom, Resize
from ._tensor import Cast, Normalize, ToTensor

__all__ = [
    "Cast",
    "Compose",
    "CropResize",
    "HybridCompose",
    "HybridRandomApply",
    "Normalize",
    "RandomApply",
    "RandomBrightness",
    "RandomColorJitter",
    "RandomContrast",
    "RandomFlipLeftRight",
    "RandomFlipTopBottom",
    "RandomGray",
    "RandomHue",
    "RandomLighting",
    "RandomSaturation",
    "Resize",
    "ToTensor",
]
