"""The checks that configurations of networks share, and the activations that they may name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, Final

from hybridnet.base.errors import ParameterError

from ... import nn
from ...block import HybridBlock

#: Hugging Face's names of the activations that there are -> layers that compute them.
ACTIVATIONS: Final[Mapping[str, Callable[[], HybridBlock]]] = {
    "gelu": nn.GELU,
    "gelu_new": lambda: nn.GELU("tanh"),
    "gelu_pytorch_tanh": lambda: nn.GELU("tanh"),
    "relu": lambda: nn.Activation("relu"),
    "silu": nn.SiLU,
    "swish": nn.SiLU,
    "tanh": lambda: nn.Activation("tanh"),
}


def activation(name: str) -> HybridBlock:
    """Returns a layer that computes an activation, by Hugging Face's name of it."""
    return ACTIVATIONS[name]()


def check_sizes(where: str, sizes: Any) -> None:
    """Checks the fields of a dataclass of sizes, of which None is let pass.

    Whole numbers are of 1 or more, what is called a dropout is from 0 to 1 without 1, an activation
    is one of those that there are, and `heads` divide `units` where there are no `head_units`.

    Raises:
        ParameterError: one does not fit; `where` begins the message.
    """
    values = {name: value for name, value in asdict(sizes).items() if value is not None}
    for name, value in values.items():
        default = getattr(type(sizes), name, None)
        if "dropout" in name:
            if type(value) not in (int, float) or not 0 <= value < 1:
                raise ParameterError(f"{where}: {name} must be from 0 to 1, without 1, got {value}")
        elif name.endswith("activation") and value not in ACTIVATIONS:
            known = ", ".join(ACTIVATIONS)
            raise ParameterError(f"{where}: {name} must be one of {known}, got {value!r}")
        elif type(default) is int or (default is None and not isinstance(value, dict)):
            check_count(where, name, value)
    if "head_units" not in values and values["units"] % values["heads"]:
        raise ParameterError(
            f"{where}: heads must divide units, got {values['heads']} and {values['units']}"
        )


def check_count(where: str, name: str, value: object) -> None:
    """Checks that a value is a whole number of 1 or more."""
    if type(value) is not int or value < 1:
        raise ParameterError(f"{where}: {name} must be a whole number of 1 or more, got {value!r}")
