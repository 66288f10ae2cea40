"""Lab 12: LeNet is trained with the part as the lowering of its convolutions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from hybridnet.base.errors import ShapeError
from hybridnet.base.lazy import jax
from hybridnet.lenet import Eager
from hybridnet.ops.alternatives import Site, alternative, builtin_choice

from ...training import Outcome, hold_against, ordinary_losses, train_lenet
from .drawing import draw_example, draw_times
from .layers import ConvolutionLayer
from .timing import (
    FIRST,
    SECOND,
    by_ours,
    by_xla,
    data_gradient,
    forward,
    medians,
    operands_of,
    weight_gradient,
)

_NAME: Final = "yours"
#: Sums of products in another order, as of lowerings of ours.
_ROUNDED: Final = 1e-5
#: How near the first losses must be to those of an ordinary run, as a share: each step rounds.
_NEAR: Final = 1e-3


def figure(folder: Path) -> None:
    """Draws the example of the page: windows as the columns of a matrix."""
    draw_example(folder / "figure.svg")


def run(part: Any, pictures: Path) -> Outcome:
    """Trains LeNet; the framework asks the part whenever a program with a convolution is built."""
    ordinary = ordinary_losses(Eager)
    counts = Counter(forward=0, gradient=0)
    _register(part, counts)
    outcome = train_lenet(Eager)
    outcome.counts = dict(counts)
    hold_against(ordinary, outcome.losses, rtol=_NEAR)
    outcome.draw(pictures / "times.svg", partial(draw_times, times=_times(part)))
    return outcome


def _register(part: Any, counts: Counter[str]) -> None:
    """Makes the part an alternative, chosen wherever it applies."""

    def lowering(
        data: Any,
        weight: Any,
        bias: Any = None,
        *,
        stride: Sequence[int],
        pad: Sequence[int],
        **_: Any,
    ) -> Any:
        layer = ConvolutionLayer(
            data.shape, weight.shape, _pair(stride, 1), _pair(pad, 0), data.dtype.name
        )
        y = part.convolution(data, weight, **layer.window)
        if y.shape != layer.result or y.dtype != data.dtype:
            wanted, found = (layer.result, data.dtype.name), (y.shape, y.dtype.name)
            raise ShapeError(f"convolution: the result must be {wanted}, got {found} of\n{layer}")
        return y if bias is None else y + bias.reshape(-1, 1, 1)

    # By this the framework knows that it is a user's, and that NumPy is not to run the operator.
    lowering.__module__ = part.__name__
    alternative("Convolution", _NAME, applies=_applies, tolerance=_ROUNDED)(lowering)

    @builtin_choice("Convolution")
    def choose(site: Site) -> str:
        counts[site.role] += _applies(site)
        return _NAME


def _applies(site: Site) -> bool:
    """Whether it is a convolution of images on a CPU, in one group and without holes."""
    attrs = site.attrs
    return (
        site.platform == "cpu"
        and site.is_static
        and len(attrs["kernel"]) == 2
        and attrs["layout"] in (None, "NCHW")
        and attrs["num_group"] == 1
        and set(attrs["dilate"]) <= {1}
    )


def _pair(value: Sequence[int], default: int) -> tuple[int, int]:
    return (value[0], value[1]) if value else (default, default)


def _times(part: Any) -> dict[tuple[str, str, str], float]:
    """Measures XLA's convolution, ours and the part, on both layers of LeNet."""
    layers = {
        "1 to 20 channels, 5x5, images of 28x28": FIRST,
        "20 to 50 channels, 5x5, images of 12x12": SECOND,
    }
    kinds: dict[str, Callable[..., Any]] = {
        "forward": forward,
        "weight's gradient": weight_gradient,
        "data's gradient": data_gradient,
    }
    methods = {"XLA": by_xla, "hybridnet": by_ours, "part.py": part.convolution}
    with jax.default_device(jax.local_devices(backend="cpu")[0]):
        return medians(
            {
                (title, kind, method): partial(make(convolution, layer), *operands)
                for title, layer in layers.items()
                for operands in (operands_of(layer),)
                for kind, make in kinds.items()
                for method, convolution in methods.items()
            }
        )
