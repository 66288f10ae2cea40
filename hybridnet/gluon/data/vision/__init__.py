"""`gluon.data.vision`: data sets of images, and transforms of them."""

from . import datasets as datasets
from . import transforms as transforms
from .datasets import *  # noqa: F403
from .datasets import __all__ as _names

__all__ = [*_names, "datasets", "transforms"]
