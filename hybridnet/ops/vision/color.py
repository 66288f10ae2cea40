"""Changes of images at random: flips, and of brightness, contrast, saturation, hue and lighting.

Data are (height, width, channel) with 1 or 3 channels, red first. Those that change an image at
random take a batch, too, and change each of its images by itself; MXNet's have no such form.
Integer images stay within 0 and 255 and are cut off to whole numbers; floating ones are not
limited. Saturation and hue leave images of one channel as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Final

import numpy as np

from hybridnet.base.attrs import Floats, RandomState, Range
from hybridnet.base.dtype import FLOAT32, is_float
from hybridnet.base.errors import ParameterError
from hybridnet.base.tensor_type import TensorType
from hybridnet.ops.host.namespace import jnp, lax

from ..core.checks import wide
from ..core.families import signed
from ..core.registry import operator
from ..core.rules import same_type
from ..random.state import children, next_key, normals, uniforms
from .image import image_names, require_image

#: The weights of red, green and blue in a gray value (ITU-R BT.601).
_GRAY: Final = (0.299, 0.587, 0.114)
#: What a step along each principal component of ImageNet's colors adds to red, green and blue:
#: eigenvectors times the roots of their eigenvalues (Krizhevsky et al., "AlexNet", 2012).
_COMPONENTS: Final = (
    (55.46 * -0.5675, 4.794 * 0.7192, 1.148 * 0.4009),
    (55.46 * -0.5808, 4.794 * -0.0045, 1.148 * -0.8140),
    (55.46 * -0.5836, 4.794 * -0.6948, 1.148 * 0.4203),
)

_Factor = Annotated[float, Range(0)]


def _one_each(numbers: Any) -> Any:
    """Returns numbers, one for each image of a batch (or for the one), to combine with these."""
    return numbers[..., None, None, None] if numbers.shape else numbers


def _flips(name: str, axis: int, words: str) -> None:
    """Registers a flip, and the same one time in two."""

    def always(data: Any) -> Any:
        return jnp.flip(data, axis)

    def sometimes(data: Any, *, state: Any) -> Any:
        key, state = next_key(state)
        flip = _one_each(uniforms(key, data.shape[:-3], np.float32) < 0.5)
        if isinstance(flip, np.bool_):  # of one image, by NumPy
            return (jnp.flip(data, axis) if flip else data), state
        return jnp.where(flip, jnp.flip(data, axis), data), state

    one = "(height, width, channel)"
    many = f"{one}; or a batch of such, of which each is mirrored or not by itself"
    for prefix, lowering, when in (("", always, "."), ("random_", sometimes, " one time in two.")):
        op, alias = image_names(f"{prefix}flip_{name}")

        def check(data: TensorType, op: str = op, batch: bool = bool(prefix), **_: Any) -> None:
            require_image(op, data, batch=batch)

        operator(
            op,
            aliases=(alias,),
            check=check,
            infer=same_type,
            doc=f"Mirrors an image {words}{when}\n\nArgs:\n    data: {many if prefix else one}.\n",
        )(lowering if not prefix else signed(lowering, ("data",), {"state": (RandomState, None)}))


_flips("left_right", -2, "from left to right")
_flips("top_bottom", -3, "from top to bottom")


# Each takes a floating image and a factor and returns the changed image.


def _brightness(image: Any, factor: Any) -> Any:
    return image * factor


def _gray(image: Any) -> Any:
    if image.shape[-1] == 1:
        return image
    red, green, blue = (image[..., i : i + 1] * weight for i, weight in enumerate(_GRAY))
    return red + green + blue


def _contrast(image: Any, factor: Any) -> Any:
    return image * factor + (1 - factor) * _mean(_gray(image))


def _mean(image: Any) -> Any:
    return _one_each(jnp.mean(image, (-3, -2, -1)))


def _saturation(image: Any, factor: Any) -> Any:
    return image if image.shape[-1] == 1 else image * factor + (1 - factor) * _gray(image)


def _hue(image: Any, turn: Any) -> Any:
    """Turns the hue by a part of the color circle, in the HLS color space."""
    if image.shape[-1] == 1:
        return image
    image = image / 255
    high, low = image.max(-1), image.min(-1)
    spread, light = high - low, (high + low) / 2
    gray = spread == 0
    safe = jnp.where(gray, 1, spread)
    red, green, blue = (image[..., i] for i in range(3))
    sector = jnp.where(
        high == red,
        (green - blue) / safe,
        jnp.where(high == green, 2 + (blue - red) / safe, 4 + (red - green) / safe),
    )
    hue = sector / 6 + (turn[..., 0] if turn.shape else turn)
    saturated = jnp.where(light < 0.5, high + low, 2 - high - low)
    saturation = jnp.where(gray, 0, spread / jnp.where(gray, 1, saturated))
    top = jnp.where(light <= 0.5, light * (1 + saturation), light + saturation * (1 - light))
    bottom = 2 * light - top

    def channel(shift: float) -> Any:
        """The color's height along the circle: up, flat, down and flat again."""
        place = (hue + shift) % 1.0 * 6
        rise = jnp.clip(jnp.minimum(place, 4 - place), 0, 1)
        return bottom + (top - bottom) * rise

    return 255 * jnp.stack([channel(1 / 3), channel(0.0), channel(-1 / 3)], -1)


def _lighting(image: Any, alpha: Any) -> Any:
    if image.shape[-1] == 1:
        return image
    color = (np.asarray(_COMPONENTS, image.dtype) * alpha[..., None, :]).sum(-1)
    return image + (color[..., None, None, :] if color.ndim > 1 else color)


def _changed(data: Any, change: Callable[[Any], Any]) -> Any:
    """Applies a change to an image of any dtype, in float32 at least."""
    kind = np.dtype(data.dtype)
    if is_float(kind):
        return change(data.astype(wide(kind))).astype(kind)
    limits = np.iinfo(kind)
    changed = jnp.clip(change(data.astype(FLOAT32)), max(limits.min, 0), min(limits.max, 255))
    return changed.astype(kind)


def _between(key: Any, low: float, high: float, image: Any) -> Any:
    """Draws a number from [low, high), or one for each image of a batch."""
    drawn = uniforms(key, image.shape[:-3], np.float32)
    return _one_each((low + (high - low) * drawn).astype(image.dtype))


def _apply(change: Callable[[Any, Any], Any], factor: Any, image: Any) -> Any:
    return change(image, factor).astype(image.dtype)


def _unchanged(image: Any) -> Any:
    return image


_CHANGES: Final[dict[str, tuple[Callable[[Any, Any], Any], str]]] = {
    "brightness": (_brightness, "Multiplies an image by a random factor."),
    "contrast": (_contrast, "Moves an image away from its mean gray value, or towards it."),
    "saturation": (
        _saturation,
        "Moves each pixel away from its gray value, or towards it.\n\nMXNet leaves out what red "
        "and green add to the gray value.",
    ),
    "hue": (_hue, "Turns the hue of each pixel by a part of the color circle."),
}


def _check_colors(op: str, batch: bool = False) -> Callable[..., None]:
    """Returns a check that the data are one image of 1 or 3 channels, or may be a batch of such."""
    return lambda data, **_: require_image(op, data, batch=batch, channels=True)


def _random_change(name: str, change: Callable[[Any, Any], Any], doc: str) -> None:
    """Registers a change by a factor that is drawn from an interval."""
    op, alias = image_names(f"random_{name}")

    def check(data: TensorType, *, min_factor: float, max_factor: float) -> None:
        require_image(op, data, batch=True, channels=True)
        if max_factor < min_factor:
            raise ParameterError(
                f"{op}: max_factor must be at least min_factor={min_factor}, got {max_factor}"
            )

    @operator(
        op,
        aliases=(alias,),
        check=check,
        infer=same_type,
        doc=f"{doc}\n\nArgs:\n    data: (height, width, channel) with 1 or 3 channels; or a batch\n"
        "        of such, each with a factor of its own.\n"
        "    min_factor: the least factor.\n    max_factor: the greatest.\n",
    )
    def lowering(data: Any, *, min_factor: _Factor, max_factor: _Factor, state: RandomState) -> Any:
        key, state = next_key(state)

        def apply(image: Any) -> Any:
            return change(image, _between(key, min_factor, max_factor, image))

        return _changed(data, apply), state


for _name, (_change, _doc) in _CHANGES.items():
    _random_change(_name, _change, _doc)


@operator(
    "_image_random_color_jitter",
    aliases=image_names("random_color_jitter")[1:],
    check=_check_colors("_image_random_color_jitter"),
    infer=same_type,
)
def random_color_jitter(
    data: Any,
    *,
    brightness: _Factor,
    contrast: _Factor,
    saturation: _Factor,
    hue: _Factor,
    state: RandomState,
) -> Any:
    """Changes brightness, contrast, saturation and hue at random, in random order.

    Args:
        data: (height, width, channel) with 1 or 3 channels.
        brightness: how far the factor is from 1 at most; 0 leaves it out.
        contrast: likewise.
        saturation: likewise.
        hue: how far the hue is turned at most, as a part of the color circle.
    """
    key, state = next_key(state)
    order, *keys = children(key, 5)
    # The order of four random numbers is each permutation, as likely.
    steps = jnp.argsort(uniforms(order, (4,), np.float32))
    widths = (brightness, contrast, saturation, hue)

    def change(image: Any) -> Any:
        branches = []
        for (name, (apply, _)), own, width in zip(_CHANGES.items(), keys, widths, strict=True):
            middle = 0.0 if name == "hue" else 1.0
            factor = _between(own, middle - width, middle + width, image)
            # A change by nothing would leave errors of rounding: it is left out.
            branches.append(partial(_apply, apply, factor) if width else _unchanged)
        for step in range(4):
            image = lax.switch(steps[step], branches, image)
        return image

    return _changed(data, change), state


def _check_adjust(data: TensorType, *, alpha: tuple[float, ...]) -> None:
    _check_colors("_image_adjust_lighting")(data)
    if len(alpha) != 3:
        raise ParameterError(f"_image_adjust_lighting: alpha must be 3 numbers, got {alpha}")


@operator(
    "_image_adjust_lighting",
    aliases=image_names("adjust_lighting")[1:],
    check=_check_adjust,
    infer=same_type,
)
def adjust_lighting(data: Any, *, alpha: Floats) -> Any:
    """Adds a color along the principal components of ImageNet's colors (AlexNet, 2012).

    Args:
        data: (height, width, channel) with 1 or 3 channels; one channel is left as it is.
        alpha: how far along each of the three components.
    """
    return _changed(data, lambda image: _lighting(image, np.asarray(alpha, image.dtype)))


@operator(
    "_image_random_lighting",
    aliases=image_names("random_lighting")[1:],
    check=_check_colors("_image_random_lighting", batch=True),
    infer=same_type,
)
def random_lighting(data: Any, *, alpha_std: _Factor = 0.05, state: RandomState) -> Any:
    """Adds a random color along the principal components of ImageNet's colors (AlexNet, 2012).

    Args:
        data: (height, width, channel) with 1 or 3 channels; one channel is left as it is. Or a
            batch of such, each with a color of its own.
        alpha_std: the standard deviation of how far, along each component.
    """
    key, state = next_key(state)

    def change(image: Any) -> Any:
        return _lighting(image, alpha_std * normals(key, (*image.shape[:-3], 3), image.dtype))

    return _changed(data, change), state
