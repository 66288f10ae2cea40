"""``tf.contrib.training``: the settings of a run, by name."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, final

__all__ = ["HParams"]

#: ``name=value``, ``name[index]=value`` or ``name=[value,value]``, and what comes after.
_SETTING = re.compile(
    r"(?P<name>[a-zA-Z][\w.]*)(\[\s*(?P<index>\d+)\s*\])?\s*=\s*"
    r"((?P<one>[^,\[]*)|\[(?P<many>[^\]]*)\])\s*($|,\s*)"
)


@final
class HParams:
    """Settings of a run, each an attribute with a dtype of its own: that of its first value.

    Args:
        hparam_def: without meaning here; must be None.
        model_structure: kept as it is.
        kwargs: the settings; lists must not be empty.

    Raises:
        ValueError: `hparam_def` is given, or a list is empty.
    """

    def __init__(self, hparam_def: Any = None, model_structure: Any = None, **kwargs: Any) -> None:
        if hparam_def is not None:
            raise ValueError("HParams: hparam_def is not there; give the settings by name")
        self._types: dict[str, tuple[type, bool]] = {}
        self._model_structure = model_structure
        for name, value in kwargs.items():
            self.add_hparam(name, value)

    def add_hparam(self, name: str, value: Any) -> None:
        """Adds a setting.

        Raises:
            ValueError: there is something of that name, or a list is empty.
        """
        if getattr(self, name, None) is not None:
            raise ValueError(f"Hyperparameter name is reserved: {name}")
        several = isinstance(value, (list, tuple))
        if several and not value:
            raise ValueError(f"Multi-valued hyperparameters cannot be empty: {name}")
        self._types[name] = (type(value[0]) if several else type(value), several)
        setattr(self, name, value)

    def set_hparam(self, name: str, value: Any) -> None:
        """Changes a setting, which keeps its type.

        Raises:
            KeyError: there is none of that name.
            ValueError: the value is of another type.
        """
        kind, several = self._types[name]
        if isinstance(value, list) is not several:
            raise ValueError(
                f"Must {'' if several else 'not '}pass a list for {name}, got {value!r}"
            )
        made = [_as(name, one, kind) for one in value] if several else _as(name, value, kind)
        setattr(self, name, made)

    def del_hparam(self, name: str) -> None:
        """Takes a setting out, if there is one of that name."""
        if hasattr(self, name):
            delattr(self, name)
            del self._types[name]

    def get(self, key: str, default: Any = None) -> Any:
        """Returns a setting, or something else if there is none of that name."""
        return getattr(self, key) if key in self._types else default

    def values(self) -> dict[str, Any]:
        """Returns all settings by name."""
        return {name: getattr(self, name) for name in self._types}

    def override_from_dict(self, values_dict: Mapping[str, Any]) -> HParams:
        """Changes settings; see `set_hparam`."""
        for name, value in values_dict.items():
            self.set_hparam(name, value)
        return self

    set_from_map = override_from_dict

    def parse(self, values: str) -> HParams:
        """Changes settings by a text: ``"rate=0.1,sizes=[3,4],sizes[1]=5"``.

        Raises:
            ValueError: the text is something else, or names what there is not.
        """
        at = 0
        while at < len(values):
            found = _SETTING.match(values, at)
            if found is None:
                raise ValueError(f"Malformed hyperparameter value: {values[at:]}")
            at = found.end()
            name, index = found["name"], found["index"]
            if name not in self._types:
                raise ValueError(f"Unknown hyperparameter type for {name}")
            kind, several = self._types[name]
            if found["many"] is not None:
                texts = [one.strip() for one in found["many"].split(",") if one.strip()]
                self.set_hparam(name, [_read(name, one, kind) for one in texts])
            elif index is not None:
                changed = list(getattr(self, name))
                changed[int(index)] = _read(name, found["one"].strip(), kind)
                setattr(self, name, changed)
            else:
                value = _read(name, found["one"].strip(), kind)
                self.set_hparam(name, [value] if several else value)
        return self

    def parse_json(self, values_json: str) -> HParams:
        """Changes settings by a JSON object."""
        return self.override_from_dict(json.loads(values_json))

    def to_json(self, indent: Any = None, separators: Any = None, sort_keys: bool = False) -> str:
        """Returns all settings as a JSON object; arguments as those of `json.dumps`."""
        return json.dumps(self.values(), indent=indent, separators=separators, sort_keys=sort_keys)

    def get_model_structure(self) -> Any:
        """Returns what was kept."""
        return self._model_structure

    def set_model_structure(self, model_structure: Any) -> None:
        """Keeps something else."""
        self._model_structure = model_structure

    def __contains__(self, key: str) -> bool:
        return key in self._types

    def __str__(self) -> str:
        return str(sorted(self.values().items()))

    def __repr__(self) -> str:
        return f"HParams({self})"


def _as(name: str, value: Any, kind: type) -> Any:
    """Returns a value in the type of its setting."""
    fits = kind is type(None) or isinstance(value, kind) or value is None
    whole = kind is float and isinstance(value, int) and not isinstance(value, bool)
    if not fits and not whole:
        raise ValueError(f"Could not cast hparam {name} of type {kind.__name__} from {value!r}")
    return float(value) if whole else value


def _read(name: str, text: str, kind: type) -> Any:
    if kind is bool:
        known = {"true": True, "True": True, "1": True, "false": False, "False": False, "0": False}
        if text not in known:
            raise ValueError(f"Could not parse {name}: {text!r} is no bool")
        return known[text]
    try:
        return kind(text)
    except (TypeError, ValueError):
        raise ValueError(f"Could not parse {name}: {text!r} is no {kind.__name__}") from None
