"""The settings of a network, as a config.json has them: each is of its kind, or refused by name."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, TypeVar

from hybridnet.base.errors import FormatError

from .sizes import ACTIVATIONS

_T = TypeVar("_T")

#: Hugging Face's names of settings -> ours of the same.
Names = Mapping[str, str]


class Settings:
    """The settings of one config.json, or of one object in it.

    Args:
        values: by name.
        where: begins messages: the file, and where in it.
        tensors: how many tensors the files have: there are no more layers than that.
    """

    def __init__(self, values: Mapping[str, Any], where: str, tensors: int = 0) -> None:
        self.values = values
        self.where = where
        self._tensors = tensors

    def size(self, name: str, default: int | None = None, least: int = 1) -> int:
        """Returns a whole number."""
        value = self._value(name, default)
        if type(value) is not int or value < least:
            raise self.refuse(name, f"a whole number of {least} or more", value)
        return value

    def number(self, name: str, default: float | None = None, least: float = 0.0) -> float:
        """Returns a number, finite and not below `least`."""
        value = self._value(name, default)
        if type(value) not in (int, float) or not least <= value < float("inf"):
            raise self.refuse(name, f"a number of {least} or more", value)
        return float(value)

    def rate(self, name: str, default: float | None = None) -> float:
        """Returns the probability of a dropout: a number from 0 to 1, without 1."""
        value = self.number(name, default)
        if value >= 1:
            raise self.refuse(name, "a number from 0 to 1, without 1", value)
        return value

    def flag(self, name: str, default: bool) -> bool:
        """Returns true or false."""
        value = self._value(name, default)
        if type(value) is not bool:
            raise self.refuse(name, "true or false", value)
        return value

    def choice(self, name: str, default: str, choices: Collection[str]) -> str:
        """Returns one of several words."""
        value = self._value(name, default)
        if not isinstance(value, str) or value not in choices:
            raise self.refuse(name, f"one of {', '.join(sorted(choices))}", value)
        return value

    def only(self, name: str, supported: _T) -> None:
        """Refuses a setting that is there with another value than the one that is supported."""
        value = self.values.get(name, supported)
        if value != supported:
            raise self.refuse(name, f"{supported!r} (no other is implemented)", value)

    def classes(self) -> int:
        """Returns how many classes there are: 2 where nothing is said, as in transformers."""
        return len(self.part("id2label").values) or 2

    def sizes(self, names: Names, plain: object) -> dict[str, Any]:
        """Returns the values of several settings, by our names.

        Args:
            names: theirs to ours. What we call activation or dropout is checked as such.
            plain: has the default of each as an attribute of our name, which is of its type; None
                is that of whole numbers, and of dropouts.
        """
        return {
            ours: self._as(theirs, ours, getattr(plain, ours)) for theirs, ours in names.items()
        }

    def _as(self, theirs: str, ours: str, default: Any) -> Any:
        if default is None and not self.has(theirs):
            return None
        if ours.endswith("activation"):
            return self.choice(theirs, default, ACTIVATIONS)
        if "dropout" in ours:
            return self.rate(theirs, default)
        if isinstance(default, bool):
            return self.flag(theirs, default)
        if isinstance(default, float):
            return self.number(theirs, default)
        found = self.size(theirs, default)
        if ours == "layers" and found > self._tensors:
            # Before so many are made, which may take all memory.
            wanted = f"{self._tensors} at most, since the files have no more tensors"
            raise self.refuse(theirs, wanted, found)
        return found

    def part(self, name: str) -> Settings:
        """Returns the settings in an object; none where there is no object, or null."""
        value = self.values.get(name)
        if value is not None and not isinstance(value, Mapping):
            raise self.refuse(name, "an object", value)
        return Settings(value or {}, f"{self.where}: {name}")

    def has(self, name: str) -> bool:
        """Whether there is a value, and not null."""
        return self.values.get(name) is not None

    def refuse(self, name: str, wanted: str, got: object) -> FormatError:
        """Returns the error of a setting that is none of what can be read."""
        return FormatError(f"{self.where}: {name} must be {wanted}, got {got!r}")

    def _value(self, name: str, default: _T | None) -> Any:
        value = self.values.get(name)
        if value is None:
            value = default
        if value is None:
            raise FormatError(
                f"{self.where}: {name} is missing; without it the network's size is not known"
            )
        return value


def class_names(count: int) -> dict[str, str]:
    """Returns names of `count` classes as ``id2label`` has them, for want of others."""
    return {str(number): f"LABEL_{number}" for number in range(count)}
