"""Text as numbers and back, as a folder's tokenizer.json says."""

from __future__ import annotations

import importlib
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from hybridnet.base.errors import FormatError, MissingFileError, ParameterError

from ..folders import local_folder, read_object

__all__ = ["Tokenizer", "load_tokenizer"]

_RULES: Final = "tokenizer.json"
_SETTINGS: Final = "tokenizer_config.json"
_TEMPLATE: Final = "chat_template.jinja"
#: Settings of networks, in which the numbers of tokens are that end a text.
_ENDS: Final = ("generation_config.json", "config.json")


class Tokenizer:
    """Text as numbers and back.

    Args:
        folder: with a tokenizer.json, and perhaps a tokenizer_config.json.

    Attributes:
        folder: as given.
        eos: the number of the token that ends a text; None where the folder names none.
        ends: those of all tokens that end one; a conversation's answers often have another.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._rules = _read_rules(folder / _RULES)
        path = folder / _SETTINGS
        self._settings = read_object(path) if path.exists() else {}
        self.ends = self._ends()
        self.eos = self.ends[0] if self.ends else None

    def __len__(self) -> int:
        """The number of tokens."""
        size: int = self._rules.get_vocab_size()
        return size

    def encode(self, text: str, special: bool = True) -> list[int]:
        """Returns the numbers of the tokens of a text.

        Args:
            text: any.
            special: whether the tokens that begin and end texts are added, as the folder has it.
        """
        if not isinstance(text, str):
            raise ParameterError(f"encode: needs text, got {type(text).__name__}")
        ids: list[int] = self._rules.encode(text, add_special_tokens=special).ids
        return ids

    def decode(self, ids: Sequence[int], special: bool = False) -> str:
        """Returns the text of tokens.

        Args:
            ids: their numbers, 0 or more: a list, or an array of one axis.
            special: whether special tokens, such as that at the end, are shown.
        """
        numbers = [int(one) for one in getattr(ids, "asnumpy", lambda: ids)()]
        if any(one < 0 for one in numbers):
            raise ParameterError(f"decode: needs numbers of tokens, 0 or more, got {min(numbers)}")
        text: str = self._rules.decode(numbers, skip_special_tokens=not special)
        return text

    @property
    def has_chat_template(self) -> bool:
        """Whether the folder says how a conversation is written."""
        return self._template() is not None

    def apply_chat_template(
        self, messages: Sequence[Mapping[str, Any]], add_generation_prompt: bool = True
    ) -> str:
        """Returns a conversation as one text, which is encoded with ``special=False``.

        Args:
            messages: such as ``[{"role": "user", "content": "Hello"}]``.
            add_generation_prompt: whether the text ends where an answer begins.

        Raises:
            ParameterError: the folder has no template, or it refuses the messages.
            ImportError: the package jinja2 is not installed.
        """
        template = self._template()
        if template is None:
            raise ParameterError(
                f"{self.folder}: has no chat template ({_TEMPLATE}, or chat_template in "
                f"{_SETTINGS}); encode the text itself"
            )
        jinja = _import_jinja()
        special = {
            name: _token(value)
            for name, value in self._settings.items()
            if name.endswith("_token") and _token(value) is not None
        }
        try:
            made: str = _compiled(template).render(
                messages=list(messages),
                add_generation_prompt=add_generation_prompt,
                tools=None,
                documents=None,
                **special,
            )
        except jinja.TemplateError as error:
            raise ParameterError(f"{self.folder}: the chat template: {error}") from error
        return made

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Copies its files to a folder, with what says which tokens end a text.

        The folder is made where it is not there.
        """
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        if target.samefile(self.folder):
            return
        for name in (_RULES, _SETTINGS, _TEMPLATE, "special_tokens_map.json", _ENDS[0]):
            if (self.folder / name).exists():
                shutil.copyfile(self.folder / name, target / name)

    def _template(self) -> str | None:
        path = self.folder / _TEMPLATE
        if path.exists():
            return path.read_text(encoding="utf-8")
        found = self._settings.get("chat_template")
        if isinstance(found, list):  # several, by name
            named = {one.get("name"): one.get("template") for one in found}
            found = named.get("default")
        return found if isinstance(found, str) else None

    def _ends(self) -> tuple[int, ...]:
        found: list[int] = []
        token = _token(self._settings.get("eos_token"))
        if token is not None:
            number = self._rules.token_to_id(token)
            found += [] if number is None else [number]
        for name in _ENDS:
            path = self.folder / name
            ids = read_object(path).get("eos_token_id") if path.exists() else None
            found += ids if isinstance(ids, list) else [] if ids is None else [ids]
        return tuple(dict.fromkeys(one for one in found if type(one) is int))


def load_tokenizer(folder: str | os.PathLike[str]) -> Tokenizer:
    """Returns the tokenizer of a folder.

    Args:
        folder: its path, or ``hf://owner/name``. It needs a tokenizer.json, which transformers
            writes by ``AutoTokenizer.from_pretrained(old).save_pretrained(folder)``.

    Raises:
        MissingFileError: there is no such folder, or no tokenizer.json in it.
        FormatError: one of its files is damaged.
        ImportError: the package tokenizers is not installed.
    """
    return Tokenizer(local_folder(folder, "load_tokenizer"))


def _read_rules(path: Path) -> Any:
    library = _import_tokenizers()
    if not path.exists():
        raise MissingFileError(
            f"{path.parent}: has no {_RULES}; where it has other files of a tokenizer, "
            "AutoTokenizer.from_pretrained(folder).save_pretrained(folder) of the package "
            "transformers writes one"
        )
    try:
        return library.Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises no other kind
        raise FormatError(f"{path}: {error}; fetch it again") from error


def _token(value: object) -> str | None:
    """Returns the text of a token, which is given as such or as an object."""
    if isinstance(value, Mapping):
        value = value.get("content")
    return value if isinstance(value, str) else None


def _compiled(template: str) -> Any:
    """Returns a template, which may call nothing and change nothing."""
    world = _import_jinja().sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    # What transformers gives to templates beside.
    world.globals["raise_exception"] = _refuse
    world.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
    world.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    return world.from_string(template)


def _refuse(message: str) -> None:
    raise _import_jinja().TemplateError(message)


def _import_tokenizers() -> Any:
    try:
        return importlib.import_module("tokenizers")
    except ImportError as error:
        raise _missing("load_tokenizer", "tokenizers") from error


def _import_jinja() -> Any:
    try:
        importlib.import_module("jinja2.sandbox")
        return importlib.import_module("jinja2")
    except ImportError as error:
        raise _missing("a chat template", "jinja2") from error


def _missing(what: str, package: str) -> ImportError:
    return ImportError(
        f"{what} needs the package {package}; install it, or hybridnet with its text extra: "
        "pip install 'hybridnet[text]'",
        name=package,
    )
