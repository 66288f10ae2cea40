"""`Initializer`: how an array's name decides what fills it, and the names of initializers."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import numpy as np

from hybridnet import nd, registry
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.ndarray import NDArray

__all__ = [
    "Filler",
    "InitDesc",
    "InitLike",
    "Initializer",
    "alias",
    "create",
    "register",
    "require_one_of",
]

_logger: Final = logging.getLogger(__name__)

#: What fills an array, called with its name: an initializer or another function.
Filler: TypeAlias = "Callable[[InitDesc, NDArray], object]"
#: The same, or the name of an initializer.
InitLike: TypeAlias = "Initializer | Filler | str"

# How a name ends, and the method that fills such an array; the first that fits is taken.
_SUFFIXES: Final = (
    ("weight", "_init_weight"),
    ("bias", "_init_bias"),
    ("gamma", "_init_gamma"),
    ("beta", "_init_beta"),
    ("min", "_init_zero"),
    ("max", "_init_one"),
    ("running_mean", "_init_zero"),
    ("moving_mean", "_init_zero"),
    ("moving_inv_var", "_init_zero"),
    ("moving_avg", "_init_zero"),
    ("running_var", "_init_one"),
    ("moving_var", "_init_one"),
    ("weight_quantize", "_init_quantized_weight"),
    ("bias_quantize", "_init_quantized_bias"),
)


def _method_for(name: str, is_plain: bool) -> str:
    """Returns the method that fills an array of this name.

    Args:
        name: the array's.
        is_plain: whether it came as text that is no `InitDesc`, as callers of MXNet's first
            initializers pass it: then how it begins counts, too.
    """
    if is_plain and name.startswith("upsampling"):
        return "_init_bilinear"
    if is_plain and name.startswith("stn_loc"):
        if name.endswith("weight"):
            return "_init_zero"
        if name.endswith("bias"):
            return "_init_loc_bias"
    return next((method for suffix, method in _SUFFIXES if name.endswith(suffix)), "_init_default")


class InitDesc(str):
    """An array's name with what is known about how to fill it.

    Args:
        name: the array's name.
        attrs: the attributes of its variable.
        global_init: the initializer that was asked for the whole network.
    """

    attrs: dict[str, Any]
    global_init: Initializer | None

    def __new__(
        cls,
        name: str,
        attrs: Mapping[str, Any] | None = None,
        global_init: Initializer | None = None,
    ) -> InitDesc:
        """Makes the name; see the class."""
        made = super().__new__(cls, name)
        made.attrs = dict(attrs or {})
        made.global_init = global_init
        return made


class Initializer:
    """The base of initializers; a subclass fills weights in ``_init_weight(name, arr)``.

    Args:
        kwargs: what the subclass was made with, for `dumps` and for comparing.
    """

    def __init__(self, **kwargs: Any) -> None:
        self._kwargs = kwargs
        self._verbose = False
        self._print_func: Callable[[NDArray], Any] = _magnitude

    def set_verbosity(
        self, verbose: bool = False, print_func: Callable[[NDArray], Any] | None = None
    ) -> Initializer:
        """Switches on a log line for each array filled.

        Args:
            verbose: whether to log.
            print_func: what to log of an array; default the root of its mean square.

        Returns:
            This initializer.
        """
        self._verbose = verbose
        self._print_func = print_func or _magnitude
        return self

    def dumps(self) -> str:
        """Returns JSON that `create` makes an equal initializer of."""
        return json.dumps([type(self).__name__.lower(), self._kwargs])

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.dumps() == self.dumps()

    def __hash__(self) -> int:
        return hash(self.dumps())

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={value!r}" for name, value in self._kwargs.items())
        return f"{type(self).__name__}({arguments})"

    def __call__(self, desc: str, arr: NDArray) -> None:
        """Fills an array.

        Args:
            desc: its name; an `InitDesc` may say more. Of plain text how it begins counts, too:
                ``upsampling...`` enlarges pictures, ``stn_loc...`` finds where to look.
            arr: the array, overwritten.

        Raises:
            ParameterError: the name does not say what the array is for.
        """
        if not isinstance(desc, str):
            raise ParameterError(
                f"{type(self).__name__}: the first argument must be the array's name or an "
                f"InitDesc, got {type(desc).__name__}"
            )
        is_plain = not isinstance(desc, InitDesc)
        if not isinstance(desc, InitDesc):
            desc = InitDesc(desc)
        if desc.global_init is None:
            desc.global_init = self
        own = desc.attrs.get("__init__", "")
        if own:
            chosen = create(own)
            if isinstance(chosen, Initializer):
                chosen._init_weight(desc, arr)
            else:
                chosen(str(desc), arr)
            how = str(own)
        else:
            method = _method_for(desc, is_plain)
            getattr(self, method)(desc, arr)
            how = method.removeprefix("_init_")
        if self._verbose:
            _logger.info("initialized %s as %s: %s", desc, how, self._print_func(arr))

    def _init_weight(self, name: str, arr: NDArray) -> None:
        raise NotImplementedError(f"{type(self).__name__} must define _init_weight(name, arr)")

    def _init_zero(self, name: str, arr: NDArray) -> None:
        arr[:] = 0.0

    def _init_one(self, name: str, arr: NDArray) -> None:
        arr[:] = 1.0

    _init_bias = _init_beta = _init_quantized_bias = _init_zero
    _init_gamma = _init_one

    def _init_bilinear(self, name: str, arr: NDArray) -> None:
        """Fills the weight of a deconvolution so that it enlarges pictures bilinearly."""
        if arr.ndim != 4:
            raise ShapeError(
                f"{type(self).__name__}: the weight of an upsampling layer requires 4 "
                f"dimensions, got {str(name)!r} of shape {arr.shape}"
            )
        # The factor is of the width, for the height too, as in MXNet: kernels are square.
        factor = math.ceil(arr.shape[3] / 2)
        center = (2 * factor - 1 - factor % 2) / (2 * factor)
        y, x = np.ogrid[: arr.shape[2], : arr.shape[3]]
        kernel = (1 - abs(x / factor - center)) * (1 - abs(y / factor - center))
        arr[:] = np.broadcast_to(kernel, arr.shape)

    def _init_loc_bias(self, name: str, arr: NDArray) -> None:
        """Fills the bias of a spatial transformer's last layer: it leaves pictures as they are."""
        if arr.shape[0] != 6:
            raise ShapeError(
                f"{type(self).__name__}: the bias of an affine transformation requires 6 "
                f"elements, got {str(name)!r} of shape {arr.shape}"
            )
        arr[:] = np.array([1, 0, 0, 0, 1, 0], arr.dtype)

    def _init_quantized_weight(self, name: str, arr: NDArray) -> None:
        """Fills a weight of 8 bits with whole numbers from -127 to 126."""
        arr[:] = nd.random.randint(-127, 127, shape=arr.shape)

    def _init_default(self, name: str, arr: NDArray) -> None:
        suffixes = ", ".join(suffix for suffix, _ in _SUFFIXES)
        raise ParameterError(
            f"{type(self).__name__}: the name of an array must end in one of {suffixes}, got "
            f"{str(name)!r}; say what it is with var({str(name)!r}, init=...) or Mixed"
        )


register = registry.get_register_func(Initializer, "initializer")
alias = registry.get_alias_func(Initializer, "initializer")
_create = registry.get_create_func(Initializer, "initializer")


def create(*args: Any, **kwargs: Any) -> Any:
    """Makes an initializer by name: ``create('xavier', magnitude=2)``.

    Args:
        args: first the name in any case, JSON from `Initializer.dumps`, or an initializer (also a
            `Mixed`, a `Load`, or a function of a name and an array), which is returned itself;
            then what the class takes.
        kwargs: what the class takes.

    Raises:
        ParameterError: no initializer has the name.
    """
    if len(args) == 1 and not kwargs and callable(args[0]):
        return args[0]
    return _create(*args, **kwargs)


def _magnitude(arr: NDArray) -> float:
    return float(np.sqrt(np.mean(np.square(arr.asnumpy().astype(np.float64)))))


def require_one_of(owner: str, name: str, value: Any, known: tuple[str, ...]) -> None:
    """Raises ParameterError unless an argument is one of the known words."""
    if value not in known:
        raise ParameterError(f"{owner}: {name} must be one of {', '.join(known)}, got {value!r}")
