"""`Constant`: a value of a network that is not learned."""

from __future__ import annotations

from hybridnet import initializer, ndarray
from hybridnet.base.array_types import ArrayLike
from hybridnet.ndarray import NDArray

from ._parameter import Parameter


class Constant(Parameter):
    """A value that is part of the network and is not learned.

    Args:
        name: unique in its `ParameterDict`.
        value: an NDArray or what `nd.array` takes.

    Attributes:
        value: as an NDArray.
    """

    def __init__(self, name: str, value: ArrayLike | NDArray) -> None:
        self.value = value if isinstance(value, NDArray) else ndarray.array(value)
        super().__init__(
            name,
            grad_req="null",
            shape=self.value.shape,
            dtype=self.value.dtype,
            init=initializer.Constant(self.value),
            differentiable=False,
        )

    def _symbol_init(self) -> None:
        """A constant comes with the parameters of a network, not with its symbol."""
