# Written by `python -m hybridnet.stubs`, which overwrites what is changed here.

from typing import Any, overload

from hybridnet.base.array_types import Real
from hybridnet.ndarray._operators import ElementWiseSum as ElementWiseSum
from hybridnet.ndarray._operators import Embedding as Embedding
from hybridnet.ndarray._operators import FullyConnected as FullyConnected
from hybridnet.ndarray._operators import LinearRegressionOutput as LinearRegressionOutput
from hybridnet.ndarray._operators import LogisticRegressionOutput as LogisticRegressionOutput
from hybridnet.ndarray._operators import MAERegressionOutput as MAERegressionOutput
from hybridnet.ndarray._operators import abs as abs
from hybridnet.ndarray._operators import adam_update as adam_update
from hybridnet.ndarray._operators import add_n as add_n
from hybridnet.ndarray._operators import arccos as arccos
from hybridnet.ndarray._operators import arccosh as arccosh
from hybridnet.ndarray._operators import arcsin as arcsin
from hybridnet.ndarray._operators import arcsinh as arcsinh
from hybridnet.ndarray._operators import arctan as arctan
from hybridnet.ndarray._operators import arctanh as arctanh
from hybridnet.ndarray._operators import broadcast_add as broadcast_add
from hybridnet.ndarray._operators import broadcast_div as broadcast_div
from hybridnet.ndarray._operators import broadcast_minus as broadcast_minus
from hybridnet.ndarray._operators import broadcast_mul as broadcast_mul
from hybridnet.ndarray._operators import broadcast_plus as broadcast_plus
from hybridnet.ndarray._operators import broadcast_sub as broadcast_sub
from hybridnet.ndarray._operators import cbrt as cbrt
from hybridnet.ndarray._operators import ceil as ceil
from hybridnet.ndarray._operators import clip as clip
from hybridnet.ndarray._operators import concat as concat
from hybridnet.ndarray._operators import cos as cos
from hybridnet.ndarray._operators import cosh as cosh
from hybridnet.ndarray._operators import degrees as degrees
from hybridnet.ndarray._operators import dot as dot
from hybridnet.ndarray._operators import elemwise_add as elemwise_add
from hybridnet.ndarray._operators import elemwise_div as elemwise_div
from hybridnet.ndarray._operators import elemwise_mul as elemwise_mul
from hybridnet.ndarray._operators import elemwise_sub as elemwise_sub
from hybridnet.ndarray._operators import exp as exp
from hybridnet.ndarray._operators import expm1 as expm1
from hybridnet.ndarray._operators import fix as fix
from hybridnet.ndarray._operators import floor as floor
from hybridnet.ndarray._operators import ftrl_update as ftrl_update
from hybridnet.ndarray._operators import gamma as gamma
from hybridnet.ndarray._operators import gammaln as gammaln
from hybridnet.ndarray._operators import log as log
from hybridnet.ndarray._operators import log1p as log1p
from hybridnet.ndarray._operators import log2 as log2
from hybridnet.ndarray._operators import log10 as log10
from hybridnet.ndarray._operators import make_loss as make_loss
from hybridnet.ndarray._operators import mean as mean
from hybridnet.ndarray._operators import negative as negative
from hybridnet.ndarray._operators import norm as norm
from hybridnet.ndarray._operators import radians as radians
from hybridnet.ndarray._operators import relu as relu
from hybridnet.ndarray._operators import rint as rint
from hybridnet.ndarray._operators import round as round
from hybridnet.ndarray._operators import rsqrt as rsqrt
from hybridnet.ndarray._operators import sgd_mom_update as sgd_mom_update
from hybridnet.ndarray._operators import sgd_update as sgd_update
from hybridnet.ndarray._operators import sigmoid as sigmoid
from hybridnet.ndarray._operators import sign as sign
from hybridnet.ndarray._operators import sin as sin
from hybridnet.ndarray._operators import sinh as sinh
from hybridnet.ndarray._operators import slice as slice
from hybridnet.ndarray._operators import sqrt as sqrt
from hybridnet.ndarray._operators import square as square
from hybridnet.ndarray._operators import stop_gradient as stop_gradient
from hybridnet.ndarray._operators import sum as sum
from hybridnet.ndarray._operators import tan as tan
from hybridnet.ndarray._operators import tanh as tanh
from hybridnet.ndarray._operators import trunc as trunc
from hybridnet.ndarray._operators import where as where
from hybridnet.ndarray._operators import zeros_like as zeros_like
from hybridnet.ndarray.ndarray import NDArray

@overload
def adagrad_update(
    weight: NDArray,
    grad: NDArray,
    history: NDArray,
    *,
    lr: Real,
    epsilon: Real = 1e-07,
    wd: Real = 0.0,
    rescale_grad: Real = 1.0,
    clip_gradient: Real = -1.0,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """AdaGrad (Duchi, Hazan and Singer, 2011).

    With ``g = clip(grad)``: ``history += g**2``, then
    ``weight - lr * (g / sqrt(history + epsilon) + wd * weight)``.

    Args:
        weight: what is updated, of any shape.
        grad: the gradient, in the shape of `weight`.
        lr: the learning rate.
        epsilon: keeps the division from zero.
        wd: the weight decay.
        rescale_grad: what the gradient is multiplied by first.
        clip_gradient: limits each element of the rescaled gradient; negative for no limit.
    """

@overload
def adagrad_update(
    weight: NDArray,
    grad: NDArray,
    history: NDArray,
    lr: Real,
    epsilon: Real = 1e-07,
    wd: Real = 0.0,
    rescale_grad: Real = 1.0,
    clip_gradient: Real = -1.0,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def adagrad_update(
    weight: NDArray, grad: NDArray, history: NDArray, *, _unpacked: object, **options: object
) -> NDArray: ...
def retain(
    data: NDArray, indices: NDArray, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """An array with some of its rows, and 0 in all others.

    Args:
        data: any shape of 1 dimension or more.
        indices: (n,), the rows that stay.
    """
