"""`gluon.contrib`: further blocks, cells and samplers."""

from . import cnn as cnn
from . import data as data
from . import nn as nn
from . import rnn as rnn

__all__ = ["cnn", "data", "nn", "rnn"]
