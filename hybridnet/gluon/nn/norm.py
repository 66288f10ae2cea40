"""Normalization layers."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from hybridnet.base.array_types import DTypeLike
from hybridnet.initializer.base import InitLike

from ..block import HybridBlock
from ..parameter import Parameter, ParameterDict
from ..types import BlockNames, Data, Operators
from .axes import deferred

__all__ = ["BatchNorm", "BatchNormReLU", "GroupNorm", "InstanceNorm", "LayerNorm", "RMSNorm"]


class BatchNorm(HybridBlock):
    """Normalizes each channel over the batch (Ioffe and Szegedy 2015).

    In training with the batch's mean and variance, which also move the running ones; else with the
    running ones.

    Args:
        axis: the channel axis.
        momentum: of the running statistics.
        epsilon: added to the variance.
        center: whether beta is learned (else 0).
        scale: whether gamma is learned (else 1).
        use_global_stats: use the running statistics in training too.
        beta_initializer, gamma_initializer, running_mean_initializer,
            running_variance_initializer: first values.
        in_channels: channels; 0 to find out from the first input.

    The output has the shape of the input.
    """

    def __init__(
        self,
        axis: int = 1,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        use_global_stats: bool = False,
        beta_initializer: InitLike | None = "zeros",
        gamma_initializer: InitLike | None = "ones",
        running_mean_initializer: InitLike | None = "zeros",
        running_variance_initializer: InitLike | None = "ones",
        in_channels: int = 0,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(**kwargs)
        self._kwargs = {
            "axis": axis,
            "eps": epsilon,
            "momentum": momentum,
            "fix_gamma": not scale,
            "use_global_stats": use_global_stats,
        }
        self.gamma = self._parameter("gamma", gamma_initializer, in_channels, scale)
        self.beta = self._parameter("beta", beta_initializer, in_channels, center)
        mean_init, var_init = running_mean_initializer, running_variance_initializer
        self.running_mean = self._parameter("running_mean", mean_init, in_channels, False)
        self.running_var = self._parameter("running_var", var_init, in_channels, False)

    def _parameter(
        self, name: str, init: InitLike | None, channels: int, learned: bool
    ) -> Parameter:
        grad_req = "write" if learned else "null"
        return deferred(self, name, (channels,), init, grad_req=grad_req, differentiable=learned)

    def cast(self, dtype: DTypeLike) -> None:
        """Changes the element type; the statistics of half-precision data stay in float32."""
        super().cast("float32" if np.dtype(dtype).itemsize < 4 else dtype)

    def hybrid_forward(
        self,
        F: Operators[Data],
        x: Data,
        gamma: Data,
        beta: Data,
        running_mean: Data,
        running_var: Data,
    ) -> Data:
        """Normalizes."""
        return F.BatchNorm(x, gamma, beta, running_mean, running_var, name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        options = ", ".join(f"{name}={value}" for name, value in self._kwargs.items())
        return (
            f"{type(self).__name__}({options}, in_channels={(self.gamma.shape or (0,))[0] or None})"
        )


class BatchNormReLU(BatchNorm):
    """`BatchNorm`, then ``max(x, 0)``: one kernel after compilation, as the two layers would be.

    Args: those of `BatchNorm`.

    The output has the shape of the input.
    """

    def hybrid_forward(
        self,
        F: Operators[Data],
        x: Data,
        gamma: Data,
        beta: Data,
        running_mean: Data,
        running_var: Data,
    ) -> Data:
        """Normalizes, and replaces what is negative by 0."""
        normal = super().hybrid_forward(F, x, gamma, beta, running_mean, running_var)
        return F.Activation(normal, act_type="relu", name="relu")


class _Norm(HybridBlock):
    """Base of the layers with a learned scale and shift, and no running statistics."""

    gamma: Parameter
    beta: Parameter
    _kwargs: dict[str, Any]

    def __init__(
        self,
        channels: int,
        center: bool,
        scale: bool,
        beta_initializer: InitLike | None,
        gamma_initializer: InitLike | None,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(**kwargs)
        for name, init, learned in (
            ("gamma", gamma_initializer, scale),
            ("beta", beta_initializer, center),
        ):
            grad_req = "write" if learned else "null"
            setattr(self, name, deferred(self, name, (channels,), init, grad_req=grad_req))
        self._learned = {"center": center, "scale": scale}

    def __repr__(self) -> str:
        shown = {**self._kwargs, **self._learned}
        if "num_groups" not in shown:
            shown["in_channels"] = (self.gamma.shape or (0,))[0]
        options = ", ".join(f"{name}={value}" for name, value in shown.items())
        return f"{type(self).__name__}({options})"


class LayerNorm(_Norm):
    """Normalizes along one axis of each example (Ba et al. 2016).

    Args:
        axis: the axis.
        epsilon: added to the variance.
        center, scale: whether beta and gamma are learned.
        beta_initializer, gamma_initializer: first values.
        in_channels: the axis's size; 0 to find out from the first input.

    The output has the shape of the input.
    """

    def __init__(
        self,
        axis: int = -1,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        beta_initializer: InitLike | None = "zeros",
        gamma_initializer: InitLike | None = "ones",
        in_channels: int = 0,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(
            in_channels,
            center,
            scale,
            beta_initializer,
            gamma_initializer,
            prefix=prefix,
            params=params,
        )
        self._kwargs = {"eps": epsilon, "axis": axis}

    def hybrid_forward(self, F: Operators[Data], data: Data, gamma: Data, beta: Data) -> Data:
        """Normalizes."""
        return F.LayerNorm(data, gamma=gamma, beta=beta, **self._kwargs)


class RMSNorm(HybridBlock):
    """Scales along one axis by the root of the mean square (Zhang and Sennrich 2019).

    Args:
        axis: the axis.
        epsilon: added to the mean square.
        gamma_initializer: first values of the learned scale.
        in_channels: the axis's size; 0 to find out from the first input.

    The output has the shape of the input.
    """

    def __init__(
        self,
        axis: int = -1,
        epsilon: float = 1e-6,
        gamma_initializer: InitLike | None = "ones",
        in_channels: int = 0,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(**kwargs)
        self._kwargs = {"axis": axis, "eps": epsilon}
        self.gamma = deferred(self, "gamma", (in_channels,), gamma_initializer)

    def __repr__(self) -> str:
        options = ", ".join(f"{name}={value}" for name, value in self._kwargs.items())
        return f"RMSNorm({options}, in_channels={(self.gamma.shape or (0,))[0]})"

    def hybrid_forward(self, F: Operators[Data], data: Data, gamma: Data) -> Data:
        """Normalizes."""
        return F.RMSNorm(data, gamma=gamma, **self._kwargs)


class InstanceNorm(_Norm):
    """Normalizes each channel of each example (Ulyanov et al. 2016).

    Args:
        axis: the channel axis.
        epsilon: added to the variance.
        center, scale: whether beta and gamma are learned.
        beta_initializer, gamma_initializer: first values.
        in_channels: channels; 0 to find out from the first input.

    The output has the shape of the input.
    """

    def __init__(
        self,
        axis: int = 1,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = False,
        beta_initializer: InitLike | None = "zeros",
        gamma_initializer: InitLike | None = "ones",
        in_channels: int = 0,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(in_channels, center, scale, beta_initializer, gamma_initializer, **kwargs)
        self._kwargs = {"eps": epsilon, "axis": axis}

    def hybrid_forward(self, F: Operators[Data], x: Data, gamma: Data, beta: Data) -> Data:
        """Normalizes."""
        epsilon, axis = self._kwargs.values()
        if axis == 1:
            return F.InstanceNorm(x, gamma, beta, name="fwd", eps=epsilon)
        return F.InstanceNorm(x.swapaxes(1, axis), gamma, beta, eps=epsilon).swapaxes(1, axis)


class GroupNorm(_Norm):
    """Normalizes groups of channels of each example (Wu and He 2018).

    Args:
        num_groups: how many groups the channels (axis 1) are split into.
        epsilon: added to the variance.
        center, scale: whether beta and gamma are learned.
        beta_initializer, gamma_initializer: first values, one for each group.

    The output has the shape of the input.
    """

    def __init__(
        self,
        num_groups: int = 1,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        beta_initializer: InitLike | None = "zeros",
        gamma_initializer: InitLike | None = "ones",
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(
            num_groups,
            center,
            scale,
            beta_initializer,
            gamma_initializer,
            prefix=prefix,
            params=params,
        )
        self._kwargs = {"eps": epsilon, "num_groups": num_groups}

    def hybrid_forward(self, F: Operators[Data], data: Data, gamma: Data, beta: Data) -> Data:
        """Normalizes."""
        return F.GroupNorm(data, gamma=gamma, beta=beta, **self._kwargs)
