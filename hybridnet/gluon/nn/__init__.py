"""`gluon.nn`: the layers."""

from ..block import Block as Block
from ..block import HybridBlock as HybridBlock
from ..block import SymbolBlock as SymbolBlock
from .activations import ELU as ELU
from .activations import GELU as GELU
from .activations import SELU as SELU
from .activations import Activation as Activation
from .activations import LeakyReLU as LeakyReLU
from .activations import PReLU as PReLU
from .activations import Swish as Swish
from .basic import Dense as Dense
from .basic import Dropout as Dropout
from .basic import Embedding as Embedding
from .basic import Flatten as Flatten
from .basic import HybridLambda as HybridLambda
from .basic import HybridSequential as HybridSequential
from .basic import Lambda as Lambda
from .basic import Sequential as Sequential
from .conv import Conv1D as Conv1D
from .conv import Conv1DTranspose as Conv1DTranspose
from .conv import Conv2D as Conv2D
from .conv import Conv2DTranspose as Conv2DTranspose
from .conv import Conv3D as Conv3D
from .conv import Conv3DTranspose as Conv3DTranspose
from .norm import BatchNorm as BatchNorm
from .norm import GroupNorm as GroupNorm
from .norm import InstanceNorm as InstanceNorm
from .norm import LayerNorm as LayerNorm
from .pool import AvgPool1D as AvgPool1D
from .pool import AvgPool2D as AvgPool2D
from .pool import AvgPool3D as AvgPool3D
from .pool import GlobalAvgPool1D as GlobalAvgPool1D
from .pool import GlobalAvgPool2D as GlobalAvgPool2D
from .pool import GlobalAvgPool3D as GlobalAvgPool3D
from .pool import GlobalMaxPool1D as GlobalMaxPool1D
from .pool import GlobalMaxPool2D as GlobalMaxPool2D
from .pool import GlobalMaxPool3D as GlobalMaxPool3D
from .pool import MaxPool1D as MaxPool1D
from .pool import MaxPool2D as MaxPool2D
from .pool import MaxPool3D as MaxPool3D

__all__ = [
    "ELU",
    "GELU",
    "SELU",
    "Activation",
    "AvgPool1D",
    "AvgPool2D",
    "AvgPool3D",
    "BatchNorm",
    "Block",
    "Conv1D",
    "Conv1DTranspose",
    "Conv2D",
    "Conv2DTranspose",
    "Conv3D",
    "Conv3DTranspose",
    "Dense",
    "Dropout",
    "Embedding",
    "Flatten",
    "GlobalAvgPool1D",
    "GlobalAvgPool2D",
    "GlobalAvgPool3D",
    "GlobalMaxPool1D",
    "GlobalMaxPool2D",
    "GlobalMaxPool3D",
    "GroupNorm",
    "HybridBlock",
    "HybridLambda",
    "HybridSequential",
    "InstanceNorm",
    "Lambda",
    "LayerNorm",
    "LeakyReLU",
    "MaxPool1D",
    "MaxPool2D",
    "MaxPool3D",
    "PReLU",
    "Sequential",
    "Swish",
    "SymbolBlock",
]
