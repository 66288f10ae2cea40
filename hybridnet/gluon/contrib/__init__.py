"""`gluon.contrib`: further blocks, cells and a training loop."""

from . import nn as nn
from . import rnn as rnn

__all__ = ["nn", "rnn"]
