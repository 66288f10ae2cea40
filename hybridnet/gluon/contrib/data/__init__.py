"""`gluon.contrib.data`: further samplers, and texts."""

from . import sampler as sampler
from . import text as text
from .sampler import IntervalSampler

__all__ = ["IntervalSampler", "sampler", "text"]
