"""`gluon.contrib.cnn`: convolutions whose taps move."""

from . import conv_layers as conv_layers
from .conv_layers import DeformableConvolution, ModulatedDeformableConvolution

__all__ = ["DeformableConvolution", "ModulatedDeformableConvolution"]
