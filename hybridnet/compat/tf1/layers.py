"""``tf.layers``: layers as functions, and as objects whose variables are shared by all calls.

A function makes an object and calls it. Its arguments are those of the object, and are told there;
`name` is the exact name of the scope of its variables (default one that is free), and with
``reuse=True`` these must be there already.
"""

from __future__ import annotations

from collections.abc import Sequence
from inspect import Parameter, Signature, signature
from typing import Any

from .graph import described
from .layer.base import Layer
from .layer.conv import Conv1D, Conv2D, Conv2DTranspose, Conv3D, SeparableConv1D, SeparableConv2D
from .layer.core import Dense, Dropout, Flatten
from .layer.norm import BatchNormalization
from .layer.pool import (
    AveragePooling1D,
    AveragePooling2D,
    AveragePooling3D,
    MaxPooling1D,
    MaxPooling2D,
    MaxPooling3D,
)

__all__ = [
    "AveragePooling1D", "AveragePooling2D", "AveragePooling3D", "BatchNormalization", "Conv1D",
    "Conv2D", "Conv2DTranspose", "Conv3D", "Dense", "Dropout", "Flatten", "Layer", "MaxPooling1D",
    "MaxPooling2D", "MaxPooling3D", "SeparableConv1D", "SeparableConv2D", "average_pooling1d",
    "average_pooling2d", "average_pooling3d", "batch_normalization", "conv1d", "conv2d",
    "conv2d_transpose", "conv3d", "dense", "dropout", "flatten", "max_pooling1d", "max_pooling2d",
    "max_pooling3d", "separable_conv1d", "separable_conv2d",
]  # fmt: skip


def _function(
    name: str, layer: type[Layer], training: str = "", reuse: bool = True, early: Sequence[str] = ()
) -> Any:
    """Returns the function that makes a layer and calls it.

    Args:
        name: of the function.
        layer: what it makes.
        training: the argument before which `training` comes, which is given to the call; "": none.
        reuse: whether it has `reuse`.
        early: arguments of the layer that come right after `training`, and later in the layer.
    """
    own = list(signature(layer).parameters.values())[:-1]
    taken = {one.name for one in own}
    kind = Parameter.POSITIONAL_OR_KEYWORD
    listed = [Parameter("inputs", kind), *own]
    if "name" not in taken:
        listed.append(Parameter("name", kind, default=None))
    if training:
        moved = [one for one in listed if one.name in early]
        listed = [one for one in listed if one.name not in early]
        place = [one.name for one in listed].index(training)
        listed[place:place] = [Parameter("training", kind, default=False), *moved]
    if reuse:
        place = [one.name for one in listed].index("name") + 1
        listed.insert(place, Parameter("reuse", kind, default=None))
    whole = Signature(listed, return_annotation="Tensor")

    def function(*args: Any, **keywords: Any) -> Any:
        given = whole.bind(*args, **keywords).arguments
        inputs, late = given.pop("inputs"), {}
        if "training" in given:
            late["training"] = given.pop("training")
        again, scope = given.pop("reuse", None), given.get("name")
        return layer(**given, _scope=scope, _reuse=again)(inputs, **late)

    function.__signature__ = whole  # type: ignore[attr-defined]
    return described(function, name, f"Makes a `{layer.__name__}` and calls it; see there.")


dense = _function("dense", Dense)
dropout = _function("dropout", Dropout, training="name", reuse=False)


def flatten(inputs: Any, name: str | None = None, data_format: str = "channels_last") -> Any:
    """Makes a `Flatten` and calls it; see there."""
    return Flatten(data_format, name=name, _scope=name)(inputs)


conv1d = _function("conv1d", Conv1D)
conv2d = _function("conv2d", Conv2D)
conv3d = _function("conv3d", Conv3D)
conv2d_transpose = _function("conv2d_transpose", Conv2DTranspose)
separable_conv1d = _function("separable_conv1d", SeparableConv1D)
separable_conv2d = _function("separable_conv2d", SeparableConv2D)
max_pooling1d = _function("max_pooling1d", MaxPooling1D, reuse=False)
max_pooling2d = _function("max_pooling2d", MaxPooling2D, reuse=False)
max_pooling3d = _function("max_pooling3d", MaxPooling3D, reuse=False)
average_pooling1d = _function("average_pooling1d", AveragePooling1D, reuse=False)
average_pooling2d = _function("average_pooling2d", AveragePooling2D, reuse=False)
average_pooling3d = _function("average_pooling3d", AveragePooling3D, reuse=False)
batch_normalization = _function(
    "batch_normalization", BatchNormalization, training="renorm", early=("trainable", "name")
)
