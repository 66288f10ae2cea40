"""`gluon.contrib`: further blocks, cells and samplers, and a training loop."""

from . import cnn as cnn
from . import data as data
from . import estimator as estimator
from . import nn as nn
from . import rnn as rnn

__all__ = ["cnn", "data", "estimator", "nn", "rnn"]
