"""Dense layers of trained networks in another form: with a small part to train, or in 8 bits."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from hybridnet import initializer
from hybridnet import ndarray as nd
from hybridnet.base.array_types import DTypeLike
from hybridnet.base.dtype import as_dtype
from hybridnet.base.errors import ParameterError

from ...block import Block, HybridBlock
from ...nn import Dense
from ...parameter import Parameter
from ...types import Data, Operators

__all__ = ["Int8Dense", "LoRADense", "add_lora", "merge_lora", "quantize_dense"]

_Net = TypeVar("_Net", bound=Block)


class LoRADense(HybridBlock):
    """A dense layer that stays, and a product of two narrow ones that is trained beside it.

    ``base(x) + alpha / rank * up(down(x))`` (Hu et al., "LoRA: low-rank adaptation of large
    language models", 2021). `up` begins as zeros, so that nothing changes at first.

    Args:
        base: the layer; its parameters get no gradient any more.
        rank: units between `down` and `up`.
        alpha: see the formula; None for `rank`.

    Input and output are those of `base`.
    """

    def __init__(self, base: Dense, rank: int, alpha: float | None = None) -> None:
        units, in_units = base.weight.shape or (0, 0)
        if rank < 1 or min(units, in_units) < 1:
            raise ParameterError(
                "LoRADense: rank must be >= 1 and the layer's shape known (give in_units, or run "
                f"some input through the network first), got rank={rank} and {base}"
            )
        if base.act is not None:
            raise ParameterError(
                f"LoRADense: what is trained is added before an activation, got {base}; make the "
                "activation a layer of its own"
            )
        super().__init__(prefix=f"{base.prefix}lora_")
        self.base = base
        self._scale = (rank if alpha is None else alpha) / rank
        _freeze(base)
        options: dict[str, Any] = {"use_bias": False, "flatten": base._flatten}
        options["dtype"] = base.weight.dtype
        with self.name_scope():
            self.down = Dense(
                rank,
                in_units=in_units,
                weight_initializer=initializer.Normal(in_units**-0.5),
                prefix="down_",
                **options,
            )
            self.up = Dense(
                units, in_units=rank, weight_initializer="zeros", prefix="up_", **options
            )

    def hybrid_forward(self, F: Operators[Data], x: Data) -> Data:
        """Computes the layer."""
        return self.base(x) + self.up(self.down(x)) * self._scale

    def merged(self) -> Dense:
        """Returns `base`, with what was trained added to its weight."""
        up, down = self.up.weight.data(), self.down.weight.data()
        weight = self.base.weight
        weight.set_data(weight.data() + nd.dot(up, down) * self._scale)
        return self.base


class Int8Dense(HybridBlock):
    """A dense layer whose weight is in 8 bits, for inference.

    ``weight = scale * round(weight / scale)``, where the scale of an output is the 127th part of
    its weight's largest magnitude. Products are computed in the dtype of the inputs.

    Args:
        base: the layer, with values; its bias and activation are taken over.

    Input and output are those of `base`.
    """

    weight: Parameter
    scale: Parameter

    def __init__(self, base: Dense) -> None:
        super().__init__(prefix=f"{base.prefix}int8_")
        self._units: int
        self._units, in_units = base.weight.shape or (0, 0)
        self._flatten = base._flatten
        self.act = base.act
        value, ctx = base.weight.data(), base.weight.list_ctx()
        dtype = value.dtype
        scale = nd.maximum(value.abs().max(axis=1), 1e-30) / 127
        levels = nd.round(nd.broadcast_div(value, scale.expand_dims(1))).astype("int8")
        zeros = initializer.Zero()
        with self.name_scope():
            for name, array in (("weight", levels), ("scale", scale.astype(dtype))):
                parameter = self.params.get(
                    name, shape=array.shape, dtype=array.dtype, init=zeros, grad_req="null"
                )
                setattr(self, name, parameter)
                parameter.initialize(ctx=ctx)
                parameter.set_data(array)
        self.bias = base.bias
        self._dtype = dtype
        self._in_units = in_units

    def cast(self, dtype: DTypeLike) -> None:
        """Changes the dtype of scale and bias, and of the products; the weight stays in 8 bits."""
        self._clear_cached_op()
        for parameter in (self.scale, self.bias):
            if parameter is not None:
                parameter.cast(dtype)
        self._dtype = as_dtype(dtype).type

    def hybrid_forward(
        self,
        F: Operators[Data],
        x: Data,
        weight: Data,
        scale: Data,
        bias: Data | None = None,
    ) -> Data:
        """Computes the layer."""
        out = F.FullyConnected(
            x,
            F.cast(weight, dtype=self._dtype),
            no_bias=True,
            num_hidden=self._units,
            flatten=self._flatten,
        )
        out = F.broadcast_mul(out, scale)
        if bias is not None:
            out = F.broadcast_add(out, bias)
        return out if self.act is None else self.act(out)

    def __repr__(self) -> str:
        return f"Int8Dense({self._in_units} -> {self._units})"


def add_lora(net: _Net, rank: int = 8, alpha: float | None = None, layers: str = "") -> _Net:
    """Adds LoRA to a network: small parts beside its dense layers are trained, and nothing else.

    Args:
        net: a trained network; all its parameters get ``grad_req='null'``.
        rank, alpha: see `LoRADense`.
        layers: a regular expression that is looked for in the paths of layers, such as
            ``'layers.3.query'``; default all of them.

    Returns:
        The network, with `LoRADense` in the place of those layers. The new parameters are
        initialized where the others are: train by ``gluon.Trainer`` of ``net.collect_params()``.

    Raises:
        ParameterError: no dense layer is meant, or it has no values yet.
    """
    _freeze(net)
    for found in _replace(net, "add_lora", layers, lambda base: LoRADense(base, rank, alpha)):
        for layer in (found.down, found.up):
            layer.initialize(ctx=found.base.weight.list_ctx())
    return net


def merge_lora(net: _Net) -> _Net:
    """Adds what `add_lora` has trained to the weights, and puts the dense layers back."""
    places = list(_places(net, LoRADense, ""))
    if not places:
        raise ParameterError(f"merge_lora: {type(net).__name__} has no LoRADense; see add_lora")
    for parent, name, layer in places:
        _put(parent, name, layer.merged())
    return net


def quantize_dense(net: _Net, layers: str = "") -> _Net:
    """Puts the weights of a network's dense layers into 8 bits, for inference.

    Args:
        net: a network with values.
        layers: a regular expression, as of `add_lora`.

    Returns:
        The network, with `Int8Dense` in the place of those layers. A weight that several layers
        share is put into 8 bits for each, and stays as it is for others, such as an embedding.

    Raises:
        ParameterError: no dense layer is meant, or it has no values yet.
    """
    for _ in _replace(net, "quantize_dense", layers, Int8Dense):
        pass
    return net


# -- walking ---------------------------------------------------------------------------------------

_Layer = TypeVar("_Layer", bound=HybridBlock)


def _freeze(net: Block) -> None:
    for parameter in net.collect_params().values():
        parameter.grad_req = "null"


def _places(
    net: Block, kind: type[_Layer], pattern: str, path: str = ""
) -> Iterator[tuple[Block, str, _Layer]]:
    """Yields the layers of a kind that are meant, with their parents and names there."""
    for name, child in list(net._children.items()):
        place = f"{path}.{name}" if path else name
        if type(child) is kind:
            if re.search(pattern, place):
                yield net, name, child
        elif not isinstance(child, LoRADense):
            yield from _places(child, kind, pattern, place)


def _replace(
    net: Block, where: str, pattern: str, make: Callable[[Dense], _Layer]
) -> Iterator[_Layer]:
    places = list(_places(net, Dense, pattern))
    if not places:
        raise ParameterError(
            f"{where}: {type(net).__name__} has no Dense layer whose path matches {pattern!r}"
        )
    for parent, name, layer in places:
        made = make(layer)
        _put(parent, name, made)
        yield made


def _put(parent: Block, name: str, layer: HybridBlock) -> None:
    """Puts a layer into the place of another."""
    before = parent._children[name]
    for attribute, value in list(vars(parent).items()):
        if value is before:
            setattr(parent, attribute, layer)
    parent.register_child(layer, name)
