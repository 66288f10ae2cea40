"""`gluon`: networks as Python objects, with their parameters and a trainer."""

from . import block as block
from . import loss as loss
from . import nn as nn
from . import parameter as parameter
from . import utils as utils
from .block import Block as Block
from .block import HybridBlock as HybridBlock
from .block import SymbolBlock as SymbolBlock
from .parameter import Constant as Constant
from .parameter import DeferredInitializationError as DeferredInitializationError
from .parameter import Parameter as Parameter
from .parameter import ParameterDict as ParameterDict
from .trainer import Trainer as Trainer

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
    "loss",
    "nn",
    "parameter",
    "utils",
]
