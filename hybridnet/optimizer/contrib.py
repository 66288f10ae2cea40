"""`optimizer.contrib`: update rules for special cases; `optimizer.create` makes them by name."""

from __future__ import annotations

from typing import Unpack

from hybridnet import nd
from hybridnet.base.errors import RefusedError
from hybridnet.ndarray import NDArray

from .adaptive import clipped, times
from .optimizer import Index, Optimizer, RatedOptions, States, register

__all__ = ["GroupAdaGrad"]


@register
class GroupAdaGrad(Optimizer):
    """`AdaGrad` with one learning rate for each row of a matrix, as for tables of embeddings.

    With ``g = clip(rescale_grad * grad)``: ``history += mean(g**2, axis=1)``, then
    ``weight -= lr * g / sqrt(history + eps)``. By a row-sparse gradient only the rows that it holds
    are updated.

    Args:
        eps: keeps the division finite.
        kwargs: see `Optimizer`; without weight decay.
    """

    def __init__(self, eps: float = 1e-5, **kwargs: Unpack[RatedOptions]) -> None:
        super().__init__(**kwargs)
        self.float_stable_eps = eps

    def create_state(self, index: Index, weight: NDArray) -> NDArray:
        """Returns the rows' means of squares: zeros, one for each row, stored as the weight is.

        Raises:
            RefusedError: the weight is no matrix.
        """
        if len(weight.shape) != 2:
            raise RefusedError(
                f"GroupAdaGrad: the weight {self.idx2name.get(index, index)!r} must be a matrix, "
                f"(rows, columns), got shape {weight.shape}"
            )
        return nd.zeros((weight.shape[0], 1), ctx=weight.context, stype=weight.stype)

    def update(self, index: Index, weight: NDArray, grad: NDArray, state: States) -> None:
        """Overwrites the weight and its history by one step.

        Raises:
            RefusedError: the weight has a weight decay.
        """
        if self._get_wd(index) != 0:
            raise RefusedError(
                f"GroupAdaGrad: the weight {self.idx2name.get(index, index)!r} must have no weight "
                f"decay, got {self._get_wd(index)}; leave out wd"
            )
        for w, g, history, scalars in self.steps(index, weight, grad, state):
            lr = scalars["lr"]
            if g.stype == "row_sparse":
                nd.contrib.group_adagrad_update(
                    *(w, g, history),
                    out=w,
                    lr=lr,
                    rescale_grad=scalars["rescale_grad"],
                    clip_gradient=self._clip_parameter(),
                    epsilon=float(self.float_stable_eps),
                )
                continue
            g = clipped(g, scalars, self.clip_gradient)
            history.assign(history + g.square().mean(axis=1, keepdims=True))
            scale = (history + self.float_stable_eps).sqrt()
            w.assign(w - nd.broadcast_div(times(g, lr), scale))
