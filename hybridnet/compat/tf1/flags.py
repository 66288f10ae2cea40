"""``tf.app.flags``: options of a script, read from its command line when one is first looked at.

    tf.app.flags.DEFINE_string("job_name", "", "ps or worker")
    FLAGS = tf.app.flags.FLAGS
    FLAGS.job_name                       # of python script.py --job_name=ps

``--name=value`` and ``--name value`` are the same, as are one dash and two; a truth value is
``--name``, ``--noname`` or ``--name=false``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Final, final

__all__ = [
    "FLAGS", "DEFINE_bool", "DEFINE_boolean", "DEFINE_enum", "DEFINE_float", "DEFINE_integer",
    "DEFINE_list", "DEFINE_multi_float", "DEFINE_multi_integer", "DEFINE_multi_string",
    "DEFINE_string", "DuplicateFlagError", "Error", "FlagValues", "IllegalFlagValueError",
    "UnrecognizedFlagError", "mark_flag_as_required", "mark_flags_as_required",
]  # fmt: skip

_TRUE: Final = ("true", "t", "1")
_FALSE: Final = ("false", "f", "0")


class Error(Exception):
    """Something is wrong with a flag."""


class IllegalFlagValueError(Error):
    """A flag has a value that it cannot have."""


class UnrecognizedFlagError(Error):
    """There is no such flag."""


class DuplicateFlagError(Error):
    """Two flags have one name."""


@final
@dataclass(eq=False, slots=True)
class _Flag:
    """A flag.

    Attributes:
        name: as it is written.
        parse: from what was written to a value.
        default: its value where nothing is written.
        help: what it is for.
        kind: of values, in words.
        truth: whether it stands without a value.
        several: whether each that is written counts, and not the last one.
        value: it is now.
        present: how often it was written.
        required: whether it must be written.
    """

    name: str
    parse: Callable[[str], Any]
    default: Any
    help: str
    kind: str = ""
    truth: bool = False
    several: bool = False
    value: Any = field(default=None, init=False)
    present: int = field(default=0, init=False)
    required: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        if isinstance(self.default, str):
            self.default = self.read(self.default)
        self.value = self.default

    def read(self, text: str) -> Any:
        """Returns the value that was written.

        Raises:
            IllegalFlagValueError: it is none.
        """
        try:
            return self.parse(text)
        except ValueError as error:
            raise IllegalFlagValueError(f"flag --{self.name}={text}: {error}") from None

    def take(self, text: str) -> None:
        """Takes what was written."""
        made = self.read(text)
        if self.several:
            made = [*(self.value if self.present else ()), made]
        self.value = made
        self.present += 1


@final
class FlagValues:
    """The flags of a program, by name: ``FLAGS.name`` is a value, ``FLAGS["name"]`` the flag.

    Calling it with the arguments of a program (its name first) reads them.
    """

    def __init__(self) -> None:
        self.__dict__["_flags"] = {}
        self.__dict__["_parsed"] = False

    def add(self, flag: _Flag) -> None:
        """Adds a flag.

        Raises:
            DuplicateFlagError: there is one of that name.
        """
        if flag.name in self._flags:
            first = self._flags[flag.name].help
            raise DuplicateFlagError(f"The flag '{flag.name}' is defined twice; first as: {first}")
        self._flags[flag.name] = flag

    def __call__(self, argv: Sequence[str], known_only: bool = False) -> list[str]:
        """Reads the arguments of a program.

        Args:
            argv: the program's name and its arguments.
            known_only: whether flags that are not defined are handed back, and no error.

        Returns:
            The program's name, and the arguments that are no flags.

        Raises:
            Error: a flag is unknown, has a value that it cannot have, or is missing.
        """
        self.__dict__["_parsed"] = True
        rest, words = [argv[0]], iter(argv[1:])
        for word in words:
            if word == "--":
                rest += [word, *words] if known_only else words
            elif word.startswith("-") and word != "-":
                if not self._take(word, words):
                    if not known_only:
                        self._refuse(word)
                    rest.append(word)
            else:
                rest.append(word)
        missing = [one.name for one in self._flags.values() if one.required and one.value is None]
        if missing:
            raise IllegalFlagValueError(f"flag --{missing[0]} must have a value other than None")
        return rest

    def _take(self, word: str, words: Iterator[str]) -> bool:
        """Reads one flag; returns whether there is such a one."""
        name, is_there, text = word.lstrip("-").partition("=")
        flag = self._flags.get(name)
        if flag is None:
            flag = self._flags.get(name.removeprefix("no"))
            if flag is None or not flag.truth or is_there or not name.startswith("no"):
                return False
            text = "false"
        elif not is_there:
            following = "true" if flag.truth else next(words, None)
            if following is None:
                raise Error(f"Missing value for flag --{name}")
            text = following
        flag.take(text)
        return True

    def _refuse(self, word: str) -> None:
        name = word.lstrip("-").partition("=")[0]
        near = get_close_matches(name, self._flags)
        hint = f". Did you mean: {', '.join(near)} ?" if near else ""
        raise UnrecognizedFlagError(f"Unknown command line flag '{name}'{hint}")

    def is_parsed(self) -> bool:
        """Returns whether the arguments of the program were read."""
        return bool(self._parsed)

    def mark_as_parsed(self) -> None:
        """Marks the flags as parsed, so that no arguments are read and they keep their values."""
        self.__dict__["_parsed"] = True

    def flag_values_dict(self) -> dict[str, Any]:
        """Returns the values by name."""
        return {name: flag.value for name, flag in self._flags.items()}

    def get_help(self) -> str:
        """Returns what each flag is for, in lines."""
        lines = []
        for name in sorted(self._flags):
            flag = self._flags[name]
            lines.append(f"  --{'[no]' if flag.truth else ''}{name}: {flag.help}")
            lines.append(f"    (default: {flag.default!r}{'; ' + flag.kind if flag.kind else ''})")
        return "\n".join(lines)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name not in self._flags:
            raise AttributeError(name)
        if not self._parsed:
            self(sys.argv)
        return self._flags[name].value

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._flags:
            raise AttributeError(f"there is no flag {name!r}")
        self._flags[name].value = value

    def __delattr__(self, name: str) -> None:
        if name not in self._flags:
            raise AttributeError(f"there is no flag {name!r}")
        del self._flags[name]

    def __getitem__(self, name: str) -> _Flag:
        found: _Flag = self._flags[name]
        return found

    def __contains__(self, name: str) -> bool:
        return name in self._flags

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._flags))

    def __len__(self) -> int:
        return len(self._flags)


#: The flags of this program.
FLAGS: Final = FlagValues()


def _truth(text: str) -> bool:
    if text.lower() not in (*_TRUE, *_FALSE):
        raise ValueError(f"a truth value is one of {', '.join((*_TRUE, *_FALSE))}")
    return text.lower() in _TRUE


def _whole(text: str) -> int:
    digits = text.lstrip("+-").lower()
    return int(text, 16 if digits.startswith("0x") else 8 if digits.startswith("0o") else 10)


def _listed(text: str) -> list[str]:
    return [one.strip() for one in text.split(",")] if text else []


def _define(flag_values: FlagValues | None, *about: Any, **more: Any) -> None:
    (FLAGS if flag_values is None else flag_values).add(_Flag(*about, **more))


def DEFINE_string(
    name: str, default: Any, help: str, flag_values: FlagValues | None = None
) -> None:
    """Adds a flag whose values are words.

    Args:
        name: of the flag.
        default: its value where nothing is written.
        help: what it is for.
        flag_values: where to; default those of this program.

    Raises:
        DuplicateFlagError: there is one of that name.
        IllegalFlagValueError: it cannot have the default.
    """
    _define(flag_values, name, str, default, help)


def DEFINE_integer(
    name: str, default: Any, help: str, lower_bound: int | None = None,
    upper_bound: int | None = None, flag_values: FlagValues | None = None,
) -> None:  # fmt: skip
    """Adds a flag whose values are whole numbers within bounds; see `DEFINE_string`."""
    parse = _bounded(_whole, lower_bound, upper_bound)
    _define(flag_values, name, parse, default, help, "an integer")


def DEFINE_float(
    name: str, default: Any, help: str, lower_bound: float | None = None,
    upper_bound: float | None = None, flag_values: FlagValues | None = None,
) -> None:  # fmt: skip
    """Adds a flag whose values are numbers within bounds; see `DEFINE_string`."""
    parse = _bounded(float, lower_bound, upper_bound)
    _define(flag_values, name, parse, default, help, "a number")


def _bounded(parse: Callable[[str], Any], least: Any, most: Any) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        made = parse(text)
        if (least is not None and made < least) or (most is not None and made > most):
            raise ValueError(f"{text} is not within [{least}, {most}]")
        return made

    return read


def DEFINE_boolean(
    name: str, default: Any, help: str, flag_values: FlagValues | None = None
) -> None:
    """Adds a flag that is true or false; see `DEFINE_string`."""
    _define(flag_values, name, _truth, default, help, truth=True)


DEFINE_bool = DEFINE_boolean


def DEFINE_list(name: str, default: Any, help: str, flag_values: FlagValues | None = None) -> None:
    """Adds a flag whose values are words with commas between; see `DEFINE_string`."""
    _define(flag_values, name, _listed, default, help, "a comma separated list")


def DEFINE_enum(
    name: str, default: Any, enum_values: Sequence[str], help: str,
    flag_values: FlagValues | None = None,
) -> None:  # fmt: skip
    """Adds a flag that has one of some values; see `DEFINE_string`."""

    def chosen(text: str) -> str:
        if text not in enum_values:
            raise ValueError(f"value should be one of <{'|'.join(enum_values)}>")
        return text

    _define(flag_values, name, chosen, default, f"<{'|'.join(enum_values)}>: {help}")


def _defining_several(name: str, parse: Callable[[str], Any], of: str) -> Callable[..., None]:
    def define(name: str, default: Any, help: str, flag_values: FlagValues | None = None) -> None:
        listed = default if default is None or isinstance(default, (list, tuple)) else [default]
        _define(flag_values, name, parse, listed, f"{help}; may be repeated", several=True)

    define.__name__ = define.__qualname__ = name
    define.__doc__ = f"Adds a flag that may be written several times, of {of}; see `DEFINE_string`."
    return define


DEFINE_multi_string = _defining_several("DEFINE_multi_string", str, "words")
DEFINE_multi_integer = _defining_several("DEFINE_multi_integer", _whole, "whole numbers")
DEFINE_multi_float = _defining_several("DEFINE_multi_float", float, "numbers")


def mark_flag_as_required(flag_name: str, flag_values: FlagValues | None = None) -> None:
    """Marks a flag as required: reading the arguments fails where its value is still None."""
    (FLAGS if flag_values is None else flag_values)[flag_name].required = True


def mark_flags_as_required(
    flag_names: Sequence[str], flag_values: FlagValues | None = None
) -> None:
    """As `mark_flag_as_required`, for several."""
    for one in flag_names:
        mark_flag_as_required(one, flag_values)
