"""`gluon.contrib.nn`: branches, and layers for many devices and for finer pictures."""

from . import basic_layers as basic_layers
from .basic_layers import (
    Concurrent,
    HybridConcurrent,
    Identity,
    PixelShuffle1D,
    PixelShuffle2D,
    PixelShuffle3D,
    SparseEmbedding,
    SyncBatchNorm,
)

__all__ = [
    "Concurrent",
    "HybridConcurrent",
    "Identity",
    "PixelShuffle1D",
    "PixelShuffle2D",
    "PixelShuffle3D",
    "SparseEmbedding",
    "SyncBatchNorm",
]
