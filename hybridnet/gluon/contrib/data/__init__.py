"""`gluon.contrib.data`: further samplers."""

from . import sampler as sampler
from .sampler import IntervalSampler

__all__ = ["IntervalSampler"]
