"""``tf.contrib.nccl``: sums and the like of tensors on several devices, which all of them get.

What TensorFlow has NCCL do between GPUs are Operations like any others here: the devices' parts of
the graph send each other the tensors. So any devices will do, gradients flow, and one of the
results may be asked for without the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from ..graph import Tensor, convert_to_tensor, described, device, identity
from ..operations.elementwise import add_n, maximum, minimum, multiply

__all__ = ["all_max", "all_min", "all_prod", "all_sum", "broadcast", "reduce_sum"]


def all_sum(tensors: Sequence[Any]) -> list[Tensor]:
    """Returns the sum of tensors once for each of them, on its device.

    Args:
        tensors: of one shape and dtype.

    Raises:
        ValueError: there is none, or their shapes differ.
    """
    return _everywhere(add_n(_checked(tensors)), tensors)


def reduce_sum(tensors: Sequence[Any]) -> Tensor:
    """Returns the sum of tensors, once, on the device of the block that this is called in.

    Raises:
        ValueError: there is none, or their shapes differ.
    """
    return add_n(_checked(tensors))


def broadcast(tensor: Any) -> Tensor:
    """Returns a tensor for readers on any devices: it goes to each of these once anyway."""
    return identity(convert_to_tensor(tensor))


def _checked(tensors: Sequence[Any]) -> list[Tensor]:
    if not isinstance(tensors, (list, tuple)) or not tensors:
        raise ValueError("Must pass >0 tensors to all reduce operations")
    made = [convert_to_tensor(one) for one in tensors]
    for one in made[1:]:
        made[0].shape.assert_is_compatible_with(one.shape)
    return made


def _everywhere(total: Tensor, tensors: Sequence[Any]) -> list[Tensor]:
    """Returns a tensor on the device of each of others."""
    found = []
    for one in tensors:
        with device(getattr(one, "device", "") or None):
            found.append(identity(total))
    return found


def _all(name: str, what: str, function: Callable[[Any, Any], Tensor]) -> Callable[..., Any]:
    def made(tensors: Sequence[Any]) -> list[Tensor]:
        return _everywhere(reduce(function, _checked(tensors)), tensors)

    return described(made, name, f"Returns the {what}, as `all_sum` does the sum.")


all_prod = _all("all_prod", "product", multiply)
all_min = _all("all_min", "least elements", minimum)
all_max = _all("all_max", "greatest elements", maximum)
