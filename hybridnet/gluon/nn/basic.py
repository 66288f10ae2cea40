"""Containers, and the dense, dropout, embedding and reshaping layers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, Unpack

import numpy as np

from hybridnet import ndarray, symbol
from hybridnet.base.array_types import DTypeLike
from hybridnet.base.errors import ParameterError
from hybridnet.initializer.base import InitLike

from ..block import Block, HybridBlock
from ..parameter import Parameter
from ..types import BlockNames, Data, Operators
from .activations import activation_of
from .axes import deferred

__all__ = [
    "Dense",
    "Dropout",
    "Embedding",
    "Flatten",
    "HybridLambda",
    "HybridSequential",
    "Lambda",
    "Sequential",
]


class _Chain(Block):
    """A container of blocks that are run one after another."""

    def add(self, *blocks: Block | Callable[..., Any]) -> None:
        """Appends blocks; in a `Sequential` also functions of what the one before gives."""
        for block in blocks:
            self.register_child(block)

    def _chained(self, x: Data, args: tuple[Any, ...]) -> Data:
        """Runs the blocks; the first gets all arguments."""
        for block in self._children.values():
            x = block(x, *args)
            args = ()
        return x

    def __getitem__(self, key: Any) -> Any:
        children = list(self._children.values())
        if not isinstance(key, slice):
            return children[key]
        part = type(self)(prefix=self.prefix)
        part.add(*children[key])
        return part

    def __len__(self) -> int:
        return len(self._children)

    def __iter__(self) -> Iterator[Block]:
        return iter(self._children.values())


class Sequential(_Chain):
    """Blocks run one after another: the result of each is what the next one gets.

    ``net[0]`` is a block, ``net[1:3]`` a container of the same blocks. `HybridSequential` can be
    compiled as a whole, if all its blocks can.
    """

    def forward(self, x: Any, *args: Any) -> Any:
        """Runs the blocks; the first gets all arguments."""
        return self._chained(x, args)

    def hybridize(self, active: bool = True, **kwargs: Any) -> None:
        """Makes each hybrid block run as a traced function of its own; see `HybridBlock`."""
        plain = type(self) is Sequential and len(self) > 0
        if active and plain and all(isinstance(block, HybridBlock) for block in self):
            warnings.warn(
                f"{self.name}: all blocks of this Sequential are hybrid, so that a "
                "HybridSequential would be traced, and run, as one",
                stacklevel=2,
            )
        super().hybridize(active, **kwargs)


class HybridSequential(_Chain, HybridBlock):
    """Hybrid blocks run one after another, traced as one after `hybridize`.

    ``net[0]`` is a block, ``net[1:3]`` a container of the same blocks.

    Examples:
        >>> net = gluon.nn.HybridSequential()
        >>> net.add(gluon.nn.Dense(16, activation="relu"), gluon.nn.Dense(3))
        >>> net.initialize()
        >>> net.hybridize()
        >>> net(nd.ones((2, 5))).shape
        (2, 3)
    """

    def hybrid_forward(self, F: Operators[Data], x: Data, *args: Any) -> Data:
        """Runs the blocks; the first gets all arguments."""
        return self._chained(x, args)


class Dense(HybridBlock):
    """A fully connected layer: activation(x Wᵀ + b).

    Args:
        units: outputs.
        activation: the name of an activation, or None.
        use_bias: whether there is a b.
        flatten: take (batch, ...) as (batch, in_units); else apply to the last axis.
        dtype: of the parameters.
        weight_initializer, bias_initializer: first values.
        in_units: inputs; 0 to find out from the first input.

    Input (batch, in_units) or any with `flatten`; output (batch, units). Without `flatten`,
    input (..., in_units) and output (..., units).
    """

    def __init__(
        self,
        units: int,
        activation: str | None = None,
        use_bias: bool = True,
        flatten: bool = True,
        dtype: DTypeLike = "float32",
        weight_initializer: InitLike | None = None,
        bias_initializer: InitLike | None = "zeros",
        in_units: int = 0,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(**kwargs)
        self._units = units
        self._in_units = in_units
        self._flatten = flatten
        shape = (units, in_units)
        self.weight = deferred(self, "weight", shape, weight_initializer, dtype=dtype)
        self.bias: Parameter | Any = None
        if use_bias:
            self.bias = deferred(self, "bias", (units,), bias_initializer, dtype=dtype)
        self.act = activation_of(self, activation)

    def hybrid_forward(
        self, F: Operators[Data], x: Data, weight: Data, bias: Data | None = None
    ) -> Data:
        """Computes the layer."""
        out = F.FullyConnected(
            x,
            weight,
            bias,
            no_bias=bias is None,
            num_hidden=self._units,
            flatten=self._flatten,
            name="fwd",
        )
        return out if self.act is None else self.act(out)

    def __repr__(self) -> str:
        shape = self.weight.shape or (0, 0)
        act = self.act if self.act is not None else "linear"
        return f"{type(self).__name__}({shape[1] or None} -> {shape[0]}, {act})"


class Dropout(HybridBlock):
    """Sets each element to 0 with probability `rate` while training, and scales the rest.

    Args:
        rate: the probability, 0 <= rate < 1.
        axes: axes along which the same elements are dropped.
    """

    def __init__(
        self, rate: float, axes: tuple[int, ...] = (), **kwargs: Unpack[BlockNames]
    ) -> None:
        super().__init__(**kwargs)
        self._rate = rate
        self._axes = axes

    def hybrid_forward(self, F: Operators[Data], x: Data) -> Data:
        """Drops, in training."""
        if self._rate > 0:
            return F.Dropout(x, p=self._rate, axes=self._axes, name="fwd")
        return F.identity(x)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p = {self._rate}, axes={self._axes})"


class Embedding(HybridBlock):
    """Vectors for whole numbers.

    Args:
        input_dim: numbers are from 0 to input_dim - 1.
        output_dim: length of a vector.
        dtype: of the vectors.
        weight_initializer: their first values.
        sparse_grad: whether the weight's gradient is a row-sparse array, of the rows looked up.

    Input of any shape; output with one more axis, of size output_dim.
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        dtype: DTypeLike = "float32",
        weight_initializer: InitLike | None = None,
        sparse_grad: bool = False,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(**kwargs)
        self._kwargs: dict[str, Any] = {
            "input_dim": input_dim,
            "output_dim": output_dim,
            "dtype": dtype,
        }
        if sparse_grad:
            self._kwargs["sparse_grad"] = True
        shape, stype = (input_dim, output_dim), "row_sparse" if sparse_grad else "default"
        self.weight = deferred(
            self, "weight", shape, weight_initializer, dtype=dtype, grad_stype=stype
        )

    def hybrid_forward(self, F: Operators[Data], x: Data, weight: Data) -> Data:
        """Looks the vectors up."""
        return F.Embedding(x, weight, name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        sizes = self._kwargs
        dtype = np.dtype(sizes["dtype"]).name
        return f"{type(self).__name__}({sizes['input_dim']} -> {sizes['output_dim']}, {dtype})"


class Flatten(HybridBlock):
    """(batch, a, b, ...) to (batch, a · b · ...)."""

    def hybrid_forward(self, F: Operators[Data], x: Data) -> Data:
        """Flattens all axes but the first."""
        return F.Flatten(x)

    def __repr__(self) -> str:
        return type(self).__name__


class Lambda(Block):
    """A function of arrays as a block.

    Args:
        function: a callable, or the name of a function of `nd`.
    """

    def __init__(self, function: str | Callable[..., Any], prefix: str | None = None) -> None:
        super().__init__(prefix=prefix)
        self._function = _find(ndarray, function)

    def forward(self, *args: Any) -> Any:
        """Calls the function."""
        return self._function(*args)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({_name_of(self._function)})"


class HybridLambda(HybridBlock):
    """A function ``f(F, x, ...)`` as a hybrid block.

    Args:
        function: a callable, or the name of a function that both `nd` and `sym` have.
    """

    def __init__(self, function: str | Callable[..., Any], prefix: str | None = None) -> None:
        super().__init__(prefix=prefix)
        if isinstance(function, str):
            _find(ndarray, function)
            _find(symbol, function)
        self._function = function

    def hybrid_forward(self, F: Operators[Data], x: Data, *args: Any) -> Any:
        """Calls the function."""
        if isinstance(self._function, str):
            return getattr(F, self._function)(x, *args)
        return self._function(F, x, *args)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({_name_of(self._function)})"


def _name_of(function: str | Callable[..., Any]) -> str:
    if isinstance(function, str):
        return function
    return getattr(function, "__name__", type(function).__name__)


def _find(module: ModuleType, function: str | Callable[..., Any]) -> Callable[..., Any]:
    if callable(function):
        return function
    found: Callable[..., Any] | None = getattr(module, function, None)
    if found is None:
        raise ParameterError(f"{module.__name__} has no function {function!r}")
    return found
