# Written by `python -m hybridnet.stubs`, which overwrites what is changed here.

from typing import Any, overload

from hybridnet.base.array_types import Real
from hybridnet.symbol._operators import ElementWiseSum as ElementWiseSum
from hybridnet.symbol._operators import Embedding as Embedding
from hybridnet.symbol._operators import FullyConnected as FullyConnected
from hybridnet.symbol._operators import LinearRegressionOutput as LinearRegressionOutput
from hybridnet.symbol._operators import LogisticRegressionOutput as LogisticRegressionOutput
from hybridnet.symbol._operators import MAERegressionOutput as MAERegressionOutput
from hybridnet.symbol._operators import abs as abs
from hybridnet.symbol._operators import adam_update as adam_update
from hybridnet.symbol._operators import add_n as add_n
from hybridnet.symbol._operators import arccos as arccos
from hybridnet.symbol._operators import arccosh as arccosh
from hybridnet.symbol._operators import arcsin as arcsin
from hybridnet.symbol._operators import arcsinh as arcsinh
from hybridnet.symbol._operators import arctan as arctan
from hybridnet.symbol._operators import arctanh as arctanh
from hybridnet.symbol._operators import broadcast_add as broadcast_add
from hybridnet.symbol._operators import broadcast_div as broadcast_div
from hybridnet.symbol._operators import broadcast_minus as broadcast_minus
from hybridnet.symbol._operators import broadcast_mul as broadcast_mul
from hybridnet.symbol._operators import broadcast_plus as broadcast_plus
from hybridnet.symbol._operators import broadcast_sub as broadcast_sub
from hybridnet.symbol._operators import cast_storage as cast_storage
from hybridnet.symbol._operators import cbrt as cbrt
from hybridnet.symbol._operators import ceil as ceil
from hybridnet.symbol._operators import clip as clip
from hybridnet.symbol._operators import concat as concat
from hybridnet.symbol._operators import cos as cos
from hybridnet.symbol._operators import cosh as cosh
from hybridnet.symbol._operators import degrees as degrees
from hybridnet.symbol._operators import dot as dot
from hybridnet.symbol._operators import elemwise_add as elemwise_add
from hybridnet.symbol._operators import elemwise_div as elemwise_div
from hybridnet.symbol._operators import elemwise_mul as elemwise_mul
from hybridnet.symbol._operators import elemwise_sub as elemwise_sub
from hybridnet.symbol._operators import exp as exp
from hybridnet.symbol._operators import expm1 as expm1
from hybridnet.symbol._operators import fix as fix
from hybridnet.symbol._operators import floor as floor
from hybridnet.symbol._operators import ftrl_update as ftrl_update
from hybridnet.symbol._operators import gamma as gamma
from hybridnet.symbol._operators import gammaln as gammaln
from hybridnet.symbol._operators import log as log
from hybridnet.symbol._operators import log1p as log1p
from hybridnet.symbol._operators import log2 as log2
from hybridnet.symbol._operators import log10 as log10
from hybridnet.symbol._operators import make_loss as make_loss
from hybridnet.symbol._operators import mean as mean
from hybridnet.symbol._operators import negative as negative
from hybridnet.symbol._operators import norm as norm
from hybridnet.symbol._operators import radians as radians
from hybridnet.symbol._operators import relu as relu
from hybridnet.symbol._operators import rint as rint
from hybridnet.symbol._operators import round as round
from hybridnet.symbol._operators import rsqrt as rsqrt
from hybridnet.symbol._operators import sgd_mom_update as sgd_mom_update
from hybridnet.symbol._operators import sgd_update as sgd_update
from hybridnet.symbol._operators import sigmoid as sigmoid
from hybridnet.symbol._operators import sign as sign
from hybridnet.symbol._operators import sin as sin
from hybridnet.symbol._operators import sinh as sinh
from hybridnet.symbol._operators import slice as slice
from hybridnet.symbol._operators import sqrt as sqrt
from hybridnet.symbol._operators import square as square
from hybridnet.symbol._operators import stop_gradient as stop_gradient
from hybridnet.symbol._operators import sum as sum
from hybridnet.symbol._operators import tan as tan
from hybridnet.symbol._operators import tanh as tanh
from hybridnet.symbol._operators import trunc as trunc
from hybridnet.symbol._operators import where as where
from hybridnet.symbol._operators import zeros_like as zeros_like
from hybridnet.symbol.symbol import Symbol

@overload
def adagrad_update(
    weight: Symbol | None = None,
    grad: Symbol | Any = None,
    history: Symbol | Any = None,
    *,
    lr: Real,
    epsilon: Real = 1e-07,
    wd: Real = 0.0,
    rescale_grad: Real = 1.0,
    clip_gradient: Real = -1.0,
    out: Symbol | Any = None,
    name: str | Any = None,
    attr: dict[str, str] | Any = None,
) -> Symbol:
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
    weight: Symbol | None,
    grad: Symbol | Any,
    history: Symbol | Any,
    lr: Real,
    epsilon: Real = 1e-07,
    wd: Real = 0.0,
    rescale_grad: Real = 1.0,
    clip_gradient: Real = -1.0,
    *,
    out: Symbol | Any = None,
    name: str | Any = None,
    attr: dict[str, str] | Any = None,
) -> Symbol: ...
@overload
def adagrad_update(
    weight: Symbol | None = None,
    grad: Symbol | Any = None,
    history: Symbol | Any = None,
    *,
    _unpacked: object,
    **options: object,
) -> Symbol: ...
def retain(
    data: Symbol | None = None,
    indices: Symbol | Any = None,
    *,
    out: Symbol | Any = None,
    name: str | Any = None,
    attr: dict[str, str] | Any = None,
) -> Symbol:
    """An array with some of its rows, and 0 in all others.

    Args:
        data: any shape of 1 dimension or more.
        indices: (n,), the rows that stay.
    """
