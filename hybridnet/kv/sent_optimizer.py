"""The optimizer of a store with servers, and how they were told of it last."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, final

from hybridnet.optimizer import optimizer_to_json

from .server_updates import PREFIX

#: The attribute of optimizers that is `rescale_grad`.
_SCALE: Final = "_rescale_grad"


@final
class SentOptimizer:
    """An optimizer of this process that servers have by its name and numbers.

    Attributes:
        optimizer: it; None: the servers add up, and update nothing.
        form: its name at the servers and its numbers, as they were noted last.
    """

    def __init__(self) -> None:
        self._begun: tuple[Any, tuple[Any, ...]] | None = None
        self.take(None)

    def begin(self, optimizer: Any) -> None:
        """Takes notice of an optimizer as the program has made it, some time before it is sent."""
        self._begun = optimizer, _numbers(optimizer)

    def take(self, optimizer: Any) -> None:
        """Puts an optimizer, or None, in the place of the one there was."""
        self.optimizer = optimizer
        self.form: tuple[str, Mapping[str, Any]] = ("assign", {})
        self._numbers: tuple[Any, ...] = ()
        self._scale = 1.0
        if optimizer is not None:
            self.note()
            begun, self._begun = self._begun, None
            if begun is not None and begun[0] is optimizer:
                self._numbers = begun[1]  # what was changed since is a change

    def note(self) -> None:
        """Takes notice of the optimizer as it is now."""
        self._numbers = _numbers(self.optimizer)
        self._scale = float(self.optimizer.rescale_grad)
        self.form = self.now

    def note_scale(self, name: str, parameters: Mapping[str, Any]) -> None:
        """Takes notice of the scale of gradients that servers have: that of worker 0.

        Args:
            name: of the optimizer at the servers.
            parameters: its numbers, as in `form`.
        """
        if self.optimizer is not None and name == self.form[0]:
            self._scale = float(dict(parameters["attributes"]["dict"])[_SCALE])

    @property
    def now(self) -> tuple[str, Mapping[str, Any]]:
        """Its form as it is now; there is an optimizer."""
        form = optimizer_to_json(self.optimizer)
        return PREFIX + form["optimizer"], form

    @property
    def is_changed(self) -> bool:
        """Whether its numbers are others than were noted."""
        return self.optimizer is not None and _numbers(self.optimizer) != self._numbers

    @property
    def rescaled(self) -> float:
        """By how much the scale of gradients has grown since it was noted."""
        return 1.0 if self.optimizer is None else self.optimizer.rescale_grad / self._scale


def are_same(one: tuple[str, Mapping[str, Any]], other: tuple[str, Mapping[str, Any]]) -> bool:
    """Whether two forms are of the same optimizer, but for the scale."""
    return one[0] == other[0] and _unscaled(one[1]) == _unscaled(other[1])


def _unscaled(form: Mapping[str, Any]) -> dict[str, Any]:
    """The form of an optimizer as JSON gives it back, without its scale."""
    found: dict[str, Any] = json.loads(json.dumps(form))
    if "attributes" in found:
        pairs = found["attributes"]["dict"]
        found["attributes"] = [one for one in pairs if one[0] != _SCALE]
    return found


def _numbers(optimizer: Any) -> tuple[Any, ...]:
    """Returns the numbers of an optimizer that servers have, but for the scale."""
    own = ("num_update", "_device", _SCALE, *optimizer.running)
    return tuple(
        (name, value)
        for name, value in vars(optimizer).items()
        if isinstance(value, (int, float)) and name not in own
    )
