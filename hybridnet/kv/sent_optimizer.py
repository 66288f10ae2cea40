"""The optimizer of a store with servers, and how they were told of it last."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

from hybridnet.optimizer import optimizer_to_json

from .server_updates import PREFIX

__all__ = ["SentOptimizer"]


@final
class SentOptimizer:
    """An optimizer of this process that servers have by its name and numbers.

    Attributes:
        optimizer: it; None: the servers add up, and update nothing.
        form: its name at the servers and its numbers, as they were noted last.
    """

    def __init__(self) -> None:
        self.take(None)

    def take(self, optimizer: Any) -> None:
        """Puts an optimizer, or None, in the place of the one there was."""
        self.optimizer = optimizer
        self.form: tuple[str, Mapping[str, Any]] = ("assign", {})
        self._numbers: tuple[Any, ...] = ()
        self._scale = 1.0
        if optimizer is not None:
            self.note()

    def note(self) -> None:
        """Takes notice of the optimizer as it is now."""
        self._numbers = _numbers(self.optimizer)
        self._scale = float(self.optimizer.rescale_grad)
        form = optimizer_to_json(self.optimizer)
        self.form = (PREFIX + form["optimizer"], form)

    @property
    def is_changed(self) -> bool:
        """Whether its numbers are others than were noted."""
        return self.optimizer is not None and _numbers(self.optimizer) != self._numbers

    @property
    def rescaled(self) -> float:
        """By how much the scale of gradients has grown since it was noted."""
        return 1.0 if self.optimizer is None else self.optimizer.rescale_grad / self._scale


def _numbers(optimizer: Any) -> tuple[Any, ...]:
    """Returns the numbers of an optimizer that servers have, but for the scale."""
    own = ("num_update", "_device", "_rescale_grad", *optimizer.running)
    return tuple(
        (name, value)
        for name, value in vars(optimizer).items()
        if isinstance(value, (int, float)) and name not in own
    )
