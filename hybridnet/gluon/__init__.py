"""`gluon`: networks as Python objects, with their parameters and a trainer."""

from . import block as block
from . import contrib as contrib
from . import data as data
from . import loss as loss
from . import model_zoo as model_zoo
from . import nn as nn
from . import parameter as parameter
from . import rnn as rnn
from . import utils as utils
from .block import Block, HybridBlock, SymbolBlock
from .parameter import Constant, DeferredInitializationError, Parameter, ParameterDict, tensor_types
from .trainer import Trainer

__all__ = [
    "Block",
    "Constant",
    "DeferredInitializationError",
    "HybridBlock",
    "Parameter",
    "ParameterDict",
    "SymbolBlock",
    "Trainer",
    "block",
    "contrib",
    "data",
    "loss",
    "model_zoo",
    "nn",
    "parameter",
    "rnn",
    "tensor_types",
    "utils",
]
