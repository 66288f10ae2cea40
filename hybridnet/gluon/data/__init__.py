"""`gluon.data`: datasets, samplers, and the loader that makes batches of them."""

from . import batchify as batchify
from . import dataloader as dataloader
from . import dataset as dataset
from . import sampler as sampler
from . import vision as vision
from .dataloader import DataLoader
from .dataset import ArrayDataset, Dataset, RecordFileDataset, SimpleDataset
from .sampler import (
    BatchSampler,
    FilterSampler,
    IntervalSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
)

__all__ = [
    "ArrayDataset",
    "BatchSampler",
    "DataLoader",
    "Dataset",
    "FilterSampler",
    "IntervalSampler",
    "RandomSampler",
    "RecordFileDataset",
    "Sampler",
    "SequentialSampler",
    "SimpleDataset",
    "batchify",
    "dataloader",
    "dataset",
    "sampler",
    "vision",
]
