"""Normalization layers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..block import HybridBlock

__all__ = ["BatchNorm", "GroupNorm", "InstanceNorm", "LayerNorm"]


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
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        running_mean_initializer: Any = "zeros",
        running_variance_initializer: Any = "ones",
        in_channels: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._options = {
            "axis": axis,
            "eps": epsilon,
            "momentum": momentum,
            "fix_gamma": not scale,
            "use_global_stats": use_global_stats,
        }
        self.gamma = self._parameter("gamma", gamma_initializer, in_channels, scale)
        self.beta = self._parameter("beta", beta_initializer, in_channels, center)
        self.running_mean = self._statistic("running_mean", running_mean_initializer, in_channels)
        self.running_var = self._statistic("running_var", running_variance_initializer, in_channels)

    def _parameter(self, name: str, init: Any, channels: int, learned: bool) -> Any:
        return self.params.get(
            name,
            grad_req="write" if learned else "null",
            shape=(channels,),
            init=init,
            allow_deferred_init=True,
            differentiable=learned,
        )

    def _statistic(self, name: str, init: Any, channels: int) -> Any:
        return self.params.get(
            name,
            grad_req="null",
            shape=(channels,),
            init=init,
            allow_deferred_init=True,
            differentiable=False,
        )

    def cast(self, dtype: Any) -> None:
        """Changes the element type; the statistics of half-precision data stay in float32."""
        super().cast("float32" if np.dtype(dtype).itemsize < 4 else dtype)

    def hybrid_forward(
        self, F: Any, x: Any, gamma: Any, beta: Any, running_mean: Any, running_var: Any
    ) -> Any:
        """Normalizes."""
        return F.BatchNorm(x, gamma, beta, running_mean, running_var, name="fwd", **self._options)

    def __repr__(self) -> str:
        options = ", ".join(f"{name}={value}" for name, value in self._options.items())
        return f"{type(self).__name__}({options}, in_channels={self.gamma.shape[0] or None})"


class _Norm(HybridBlock):
    """Base of the layers with a learned scale and shift, and no running statistics."""

    def __init__(
        self,
        channels: int,
        center: bool,
        scale: bool,
        beta_initializer: Any,
        gamma_initializer: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.gamma = self.params.get(
            "gamma",
            grad_req="write" if scale else "null",
            shape=(channels,),
            init=gamma_initializer,
            allow_deferred_init=True,
        )
        self.beta = self.params.get(
            "beta",
            grad_req="write" if center else "null",
            shape=(channels,),
            init=beta_initializer,
            allow_deferred_init=True,
        )
        self._shown: dict[str, Any] = {"center": center, "scale": scale}

    def __repr__(self) -> str:
        shown = self._shown
        if "num_groups" not in shown:
            shown = {**shown, "in_channels": (self.gamma.shape or (0,))[0]}
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
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        in_channels: int = 0,
        prefix: str | None = None,
        params: Any = None,
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
        self._axis = axis
        self._epsilon = epsilon
        self._shown = {"eps": epsilon, "axis": axis, **self._shown}

    def hybrid_forward(self, F: Any, data: Any, gamma: Any, beta: Any) -> Any:
        """Normalizes."""
        return F.LayerNorm(data, gamma=gamma, beta=beta, axis=self._axis, eps=self._epsilon)


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
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        in_channels: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(in_channels, center, scale, beta_initializer, gamma_initializer, **kwargs)
        self._axis = axis
        self._epsilon = epsilon
        self._shown = {"eps": epsilon, "axis": axis, **self._shown}

    def hybrid_forward(self, F: Any, x: Any, gamma: Any, beta: Any) -> Any:
        """Normalizes."""
        if self._axis == 1:
            return F.InstanceNorm(x, gamma, beta, name="fwd", eps=self._epsilon)
        moved = F.InstanceNorm(x.swapaxes(1, self._axis), gamma, beta, eps=self._epsilon)
        return moved.swapaxes(1, self._axis)


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
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        prefix: str | None = None,
        params: Any = None,
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
        self._num_groups = num_groups
        self._epsilon = epsilon
        self._shown = {"eps": epsilon, "num_groups": num_groups, **self._shown}

    def hybrid_forward(self, F: Any, data: Any, gamma: Any, beta: Any) -> Any:
        """Normalizes."""
        return F.GroupNorm(
            data, gamma=gamma, beta=beta, num_groups=self._num_groups, eps=self._epsilon
        )
