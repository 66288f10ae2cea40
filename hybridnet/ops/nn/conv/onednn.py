"""Convolutions, deconvolutions and products on CPUs by oneDNN, where it is there (`native.onednn`).

A convolution is linear in its data and in its weights, and so are its two gradients. Each of the
three has the other two for derivatives:

    y = forward(x, w)       dx = data_gradient(w, dy)       dw = weight_gradient(x, dy)

so that any derivative, of any order, is again made of these three.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import cache, partial
from typing import Any, Final, NamedTuple

from hybridnet.base.dtype import FLOAT32
from hybridnet.native import onednn
from hybridnet.ops.host.namespace import jax, jnp

from ...core.alternatives import PLAIN, Site, alternative, builtin_choice, constant_choice
from .lowerings import convolved_size, deconvolution_padding
from .row_sums import plus_bias

#: What the alternatives are called.
NAME: Final = "onednn"
#: With weights in the order of the kernel; these must stay the same.
PACKED: Final = "onednn_packed"
# Sums of products in another order.
_TOLERANCE: Final = 1e-5

# Elements of a weight, and multiplications; with fewer, the call costs more than it saves.
_MIN_WEIGHT_ELEMENTS: Final = 1 << 15
_MIN_MULTIPLICATIONS: Final = 1 << 22

_FORWARD: Final = 0
_DATA_GRADIENT: Final = 1
_WEIGHT_GRADIENT: Final = 2


class Window(NamedTuple):
    """A convolution, all but the numbers; see `onednn.cc`.

    Attributes:
        groups: of channels.
        weights_last: weights are (filter, *kernel, channel); else (filter, channel, *kernel).
        source: the shape of the data, (batch, channel, *spatial).
        destination: that of the result.
        kernel, stride, dilate, before, after: by spatial axis; the latter are zeros at the ends.
        winograd: by Winograd's method, see `winograd.py`.
    """

    groups: int
    weights_last: bool
    source: tuple[int, ...]
    destination: tuple[int, ...]
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    dilate: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    winograd: bool = False

    def spec(
        self,
        kind: int,
        *,
        packed: bool = False,
        bias: bool = False,
        addend: bool = False,
        relu: bool = False,
    ) -> list[int]:
        """Returns it as `onednn.cc` reads it."""
        axes = len(self.kernel)
        flags = (self.weights_last, packed, bias, addend, relu, self.winograd)
        sizes = (self.source, self.destination)
        windows = (self.kernel, self.stride, self.dilate, self.before, self.after)
        return [axes, kind, self.groups, *map(int, flags), *sum((*sizes, *windows), ())]

    @property
    def source_last(self) -> tuple[int, ...]:
        """The shape of the data with the channels last."""
        return (self.source[0], *self.source[2:], self.source[1])

    @property
    def destination_last(self) -> tuple[int, ...]:
        """The shape of the result with the channels last."""
        return (self.destination[0], *self.destination[2:], self.destination[1])

    @property
    def weight(self) -> tuple[int, ...]:
        """The shape of the weights."""
        filters, channels = self.destination[1], self.source[1] // self.groups
        if self.weights_last:
            return (filters, *self.kernel, channels)
        return (filters, channels, *self.kernel)


@cache
def _linear() -> tuple[Any, Any, Any]:
    """Returns the three functions of windows and arrays; data have their channels last.

    forward(window, x, (w,) or (w, bias)) -> y
    data_gradient(window, w, dy) -> dx
    weight_gradient(window, with_bias, x, dy) -> (dw,) or (dw, dbias)
    """

    @partial(jax.custom_vjp, nondiff_argnums=(0,))
    def forward(window: Window, x: Any, weights: Any) -> Any:
        spec = window.spec(_FORWARD, bias=len(weights) > 1)
        return onednn.compute(spec, [window.destination_last], x, *weights)[0]

    @partial(jax.custom_vjp, nondiff_argnums=(0,))
    def data_gradient(window: Window, w: Any, dy: Any) -> Any:
        return onednn.compute(window.spec(_DATA_GRADIENT), [window.source_last], w, dy)[0]

    @partial(jax.custom_vjp, nondiff_argnums=(0, 1))
    def weight_gradient(window: Window, with_bias: bool, x: Any, dy: Any) -> Any:
        shapes = [window.weight, window.destination[1:2]]
        spec = window.spec(_WEIGHT_GRADIENT, bias=with_bias)
        return tuple(onednn.compute(spec, shapes[: 1 + with_bias], x, dy))

    forward.defvjp(
        lambda window, x, weights: (forward(window, x, weights), (x, weights)),
        lambda window, saved, dy: (
            data_gradient(window, saved[1][0], dy),
            weight_gradient(window, len(saved[1]) > 1, saved[0], dy),
        ),
    )
    data_gradient.defvjp(
        lambda window, w, dy: (data_gradient(window, w, dy), (w, dy)),
        lambda window, saved, dx: (
            weight_gradient(window, False, dx, saved[1])[0],
            forward(window, dx, saved[:1]),
        ),
    )
    weight_gradient.defvjp(
        lambda window, with_bias, x, dy: (weight_gradient(window, with_bias, x, dy), (x, dy)),
        lambda window, _, saved, dweights: (
            data_gradient(window, dweights[0], saved[1]),
            forward(window, saved[0], dweights),
        ),
    )
    return forward, data_gradient, weight_gradient


def _is_last(layout: str | None) -> bool:
    return layout is not None and layout.endswith("C")


def _first(shape: Sequence[int], is_last: bool) -> tuple[int, ...]:
    """Returns a shape with the channels after the batch."""
    return (shape[0], shape[-1], *shape[1:-1]) if is_last else tuple(shape)


def _given(*arrays: Any) -> tuple[Any, ...]:
    return tuple(array for array in arrays if array is not None)


def _per_axis(given: Sequence[int], default: int, axes: int) -> tuple[int, ...]:
    return tuple(given) or (default,) * axes


def applies(site: Site) -> bool:
    """Whether oneDNN can compute a convolution."""
    return (
        site.platform == "cpu"
        and site.is_static
        and all(operand.dtype == FLOAT32 and 0 not in operand.shape for operand in site.operands)
        and onednn.load()
    )


# Convolution ------------------------------------------------------------------------------------


def convolution_window(
    data: Any,
    weight: Any,
    *,
    kernel: Sequence[int],
    stride: Sequence[int],
    dilate: Sequence[int],
    pad: Sequence[int],
    num_group: int,
    layout: str | None,
    winograd: bool = False,
    **_: Any,
) -> Window:
    """Returns what a convolution is; params are those of `convolution`."""
    axes = len(kernel)
    stride, dilate, pad = (
        _per_axis(given, default, axes) for given, default in ((stride, 1), (dilate, 1), (pad, 0))
    )
    is_last = _is_last(layout)
    source = _first(data.shape, is_last)
    sizes = map(convolved_size, source[2:], kernel, stride, dilate, pad)
    destination = (source[0], weight.shape[0], *sizes)
    kernel = tuple(kernel)
    return Window(
        num_group, is_last, source, destination, kernel, stride, dilate, pad, pad, winograd
    )


@alternative("Convolution", NAME, applies=applies, tolerance=_TOLERANCE)
def convolution(data: Any, weight: Any, bias: Any = None, **params: Any) -> Any:
    """Convolution with the channels last; params are the operator's, and `Window`'s `winograd`."""
    window = convolution_window(data, weight, **params)
    forward, _data_gradient, _weight_gradient = _linear()
    x = data if window.weights_last else jnp.moveaxis(data, 1, -1)
    y = forward(window, x, _given(weight, bias))
    return y if window.weights_last else jnp.moveaxis(y, -1, 1)


# With weights that stay the same -----------------------------------------------------------------


def applies_packed(site: Site) -> bool:
    """Whether it can compute a convolution with weights that are packed once."""
    return _infers(site) and _is_last(site.attrs["layout"])


def _infers(site: Site) -> bool:
    return site.constant_weights and site.wanted is None and applies(site)


@alternative("Convolution", PACKED, applies=applies_packed, tolerance=_TOLERANCE)
@alternative("_fused_convolution", PACKED, applies=applies_packed, tolerance=_TOLERANCE)
def packed_convolution(
    data: Any,
    weight: Any,
    bias: Any = None,
    addend: Any = None,
    *,
    relu: bool = False,
    **params: Any,
) -> Any:
    """Convolution of (batch, *spatial, channel), and what follows it; params as `convolution`'s."""
    window = convolution_window(data, weight, **params)
    return _packed(window, data, weight, bias, addend, relu)


def _packed(
    window: Window, data: Any, weight: Any, bias: Any, addend: Any = None, relu: bool = False
) -> Any:
    spec = window.spec(
        _FORWARD, packed=True, bias=bias is not None, addend=addend is not None, relu=relu
    )
    arrays = _given(data, onednn.pack(spec, weight), bias, addend)
    return onednn.compute(spec, [window.destination_last], *arrays)[0]


@alternative("FullyConnected", PACKED, applies=_infers, tolerance=_TOLERANCE)
def _packed_product(data: Any, weight: Any, bias: Any = None, **params: Any) -> Any:
    """A dense layer; params are the operator's."""
    window, lead = _product_window(data, weight, **params)
    return _packed(window, data.reshape(window.source), weight, bias).reshape(*lead, -1)


@constant_choice("FullyConnected")
def _choose_packed_product(site: Site) -> str | None:
    # Milliseconds, XLA's, this and with weights as they come: 1 x 25088 x 4096 15.4, 16.3 and 12.9,
    # 4 rows 45.0, 16.4; 16 x 9216 x 4096 24.0, 11.2 and 21.1; 128 x 784 x 512 0.60, 0.45 and 0.41;
    # 64 x 800 x 500 0.51, 0.27 and 0.28; 32 x 512 x 10 0.015 and 0.019.
    if not site.is_static or math.prod(site.operands[1].shape) < _MIN_WEIGHT_ELEMENTS:
        return None
    return NAME if _rows(site) == 1 else PACKED


# Products ---------------------------------------------------------------------------------------


def _product_window(
    data: Any, weight: Any, *, num_hidden: int, flatten: bool, **_: Any
) -> tuple[Window, tuple[int, ...]]:
    """Returns a dense layer as a convolution without spatial axes, and the axes of its rows."""
    lead = tuple(data.shape[:1] if flatten else data.shape[:-1])
    rows = math.prod(lead)
    window = Window(1, False, (rows, weight.shape[1]), (rows, num_hidden), (), (), (), (), ())
    return window, lead


@alternative("FullyConnected", NAME, applies=applies, tolerance=_TOLERANCE)
def _product(data: Any, weight: Any, bias: Any = None, **params: Any) -> Any:
    """A dense layer; params are the operator's."""
    window, lead = _product_window(data, weight, **params)
    forward, _data_gradient, _weight_gradient = _linear()
    return forward(window, data.reshape(window.source), _given(weight, bias)).reshape(*lead, -1)


def product(x: Any, weight: Any) -> Any:
    """Returns ``x @ weight.T`` in float32 for an x of any rank; its gradients are oneDNN's, too."""
    return _product(x, weight, num_hidden=weight.shape[0], flatten=False)


def product_weight_gradient(x: Any, grad: Any) -> Any:
    """Returns the gradient of `weight` in `product`.

    Args:
        x: (..., inputs).
        grad: (..., outputs), that of the product.
    """
    source = (math.prod(x.shape[:-1]), x.shape[-1])
    destination = (source[0], grad.shape[-1])
    window = Window(1, False, source, destination, (), (), (), (), ())
    _forward, _data_gradient, weight_gradient = _linear()
    return weight_gradient(window, False, x.reshape(source), grad.reshape(destination))[0]


def _rows(site: Site) -> int:
    rows: int = math.prod(site.operands[0].shape) // site.operands[1].shape[1]
    return rows


def multiplications(site: Site) -> int:
    """Returns how many multiplications a dense layer's forward pass is."""
    data, weight = (operand.shape for operand in site.operands[:2])
    count: int = math.prod(data) * weight[0]
    return count


@builtin_choice("FullyConnected")
def _choose_product(site: Site) -> str:
    # Milliseconds forward and of both gradients, XLA's and this (Intel, gradients; both, forward):
    # 16 x 9216 x 4096 23 to 29, 27.7, 42.6 and 14, 15.7, 40.7; 16 x 4096 x 4096 7 to 12, 9.5, 20.0
    # and 6, 5.7, 18.5; 64 x 800 x 500 0.4 to 0.7, 0.48, 0.34 and 0.3 to 0.45, 0.31, 0.24;
    # 128 x 784 x 512 0.5 to 1.1, 0.50, 0.60 and 0.4 to 0.8, 0.41, 0.49.
    # Whether oneDNN is there is asked after the program's own rule (`programs.program_rules`), so
    # that a network of dense layers compiles no calls of it.
    return NAME if site.is_static and multiplications(site) >= _MIN_MULTIPLICATIONS else PLAIN


# Deconvolution ----------------------------------------------------------------------------------


def _deconvolution_window(
    data: Any,
    weight: Any,
    *,
    kernel: Sequence[int],
    stride: Sequence[int],
    dilate: Sequence[int],
    pad: Sequence[int],
    adj: Sequence[int],
    target_shape: Sequence[int],
    num_group: int,
    layout: str | None,
    **_: Any,
) -> Window:
    """Returns the convolution whose gradient of the data it is."""
    axes = len(kernel)
    stride, dilate, pad, adj = (
        _per_axis(given, default, axes)
        for given, default in ((stride, 1), (dilate, 1), (pad, 0), (adj, 0))
    )
    targets = tuple(target_shape) if any(target_shape) else (None,) * axes
    is_last = _is_last(layout)
    given = _first(data.shape, is_last)
    along = zip(given[2:], kernel, stride, dilate, pad, adj, targets, strict=True)
    before, sizes = zip(*itertools.starmap(deconvolution_padding, along), strict=True)
    channels = weight.shape[-1 if is_last else 1] * num_group
    whole = [
        (size - 1) * step + gap * (taps - 1) + 1
        for size, taps, step, gap in zip(given[2:], kernel, stride, dilate, strict=True)
    ]
    after = tuple(total - size - cut for total, size, cut in zip(whole, sizes, before, strict=True))
    source = (given[0], channels, *sizes)
    return Window(num_group, is_last, source, given, tuple(kernel), stride, dilate, before, after)


def _is_whole(site: Site) -> bool:
    """Whether a deconvolution's output is no longer than what its windows reach."""
    return applies(site) and min(_deconvolution_window(*site.operands[:2], **site.attrs).after) >= 0


@alternative("Deconvolution", NAME, applies=_is_whole, tolerance=_TOLERANCE)
def _deconvolution(data: Any, weight: Any, bias: Any = None, **params: Any) -> Any:
    """Deconvolution with the channels last; params are the operator's."""
    window = _deconvolution_window(data, weight, **params)
    _forward, data_gradient, _weight_gradient = _linear()
    x = data if window.weights_last else jnp.moveaxis(data, 1, -1)
    y = data_gradient(window, weight, x)
    if bias is not None:
        y = plus_bias(y, bias)
    return y if window.weights_last else jnp.moveaxis(y, -1, 1)


@builtin_choice("Deconvolution")
def _choose_deconvolution(site: Site) -> str:
    return NAME
