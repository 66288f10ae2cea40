"""``hybridnet chat``: lines from the terminal, and a network's answers as they come."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from typing import Any, Final

from hybridnet.base.errors import ParameterError

#: What decoders put in the place of the first bytes of a character whose others are to come.
_UNFINISHED: Final = "\ufffd"
_STEERING: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
#: So many tokens of an answer have room at least; older turns are forgotten for it.
_LEAST_ROOM: Final = 64


def add_chat(commands: Any) -> None:
    """Adds the command to the parser's."""
    chat = commands.add_parser(
        "chat",
        help="talk with a network in one of Hugging Face's folders",
        description="Reads lines, and writes a network's answers as they come. Where the folder "
        "has no chat template, a line is a text to go on with. Ctrl-C ends an answer; an empty "
        "line, or the end of input, ends the conversation.",
    )
    chat.add_argument("folder", metavar="DIR", help="the folder, or hf://owner/name")
    chat.add_argument("--system", metavar="TEXT", help="what the network is told beforehand")
    chat.add_argument(
        "--max-new-tokens", type=int, metavar="N", help="the longest answer; default what fits"
    )
    chat.add_argument(
        "--temperature", type=float, default=0.0, help="0 (the default) takes the likeliest token"
    )
    chat.add_argument("--top-k", type=int, metavar="N", help="draw from the N likeliest tokens")
    chat.add_argument("--top-p", type=float, metavar="P", help="draw from the likeliest, up to P")
    chat.add_argument("--seed", type=int, help="of what is drawn; default another each time")
    chat.add_argument("--dtype", help="of the weights; default as in the folder")
    chat.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    # Here and not above: it brings in JAX, which takes a second that help does not.
    from hybridnet import random
    from hybridnet.gluon.model_zoo import text

    tokenizer = text.load_tokenizer(options.folder)
    net: Any = text.load(options.folder, dtype=options.dtype)
    if not hasattr(net, "new_cache"):
        raise ParameterError(f"{options.folder}: has a {type(net).__name__}, which does not write")
    if options.seed is not None:
        random.seed(options.seed)
    drawn = {name: getattr(options, name) for name in ("temperature", "top_k", "top_p")}
    turns = _Turns(tokenizer, net.max_length, options.system)
    for line in _lines():
        prompt = turns.asked(line)
        most = net.max_length - len(prompt)
        most = most if options.max_new_tokens is None else min(most, options.max_new_tokens)
        rows = text.stream(net, prompt, most, eos=tokenizer.ends, **drawn)
        turns.answered(_written(tokenizer, (row[0] for row in rows)))
    return 0


class _Turns:
    """A conversation.

    Args:
        tokenizer: of the folder.
        longest: how many tokens there may be.
        system: what is said beforehand; None for nothing.
    """

    def __init__(self, tokenizer: Any, longest: int, system: str | None) -> None:
        self._tokenizer = tokenizer
        self._longest = longest
        self._has_template = tokenizer.has_chat_template
        if system is not None and not self._has_template:
            raise ParameterError("--system needs a folder with a chat template")
        self._first = [] if system is None else [{"role": "system", "content": system}]
        self._turns: list[dict[str, str]] = []

    def asked(self, line: str) -> list[int]:
        """Returns the tokens of a prompt that ends with a line.

        Raises:
            ParameterError: it is too long by itself.
        """
        self._turns.append({"role": "user", "content": line})
        while True:
            prompt = self._prompt(line)
            if len(prompt) + min(_LEAST_ROOM, self._longest // 4) <= self._longest:
                return prompt
            if len(self._turns) < 3 or not self._has_template:
                raise ParameterError(
                    f"the network reads {self._longest} tokens, got {len(prompt)}; say less"
                )
            del self._turns[:2]  # the oldest question and its answer

    def answered(self, answer: str) -> None:
        """Notes an answer."""
        self._turns.append({"role": "assistant", "content": answer})

    def _prompt(self, line: str) -> list[int]:
        ids: list[int]
        if self._has_template:
            text = self._tokenizer.apply_chat_template([*self._first, *self._turns])
            ids = self._tokenizer.encode(text, special=False)
        else:
            ids = self._tokenizer.encode(line)
        return ids


def _lines() -> Iterator[str]:
    """Yields lines up to an empty one."""
    prompt = "> " if sys.stdin.isatty() else ""
    while True:
        try:
            line = input(prompt).strip()
        except EOFError:
            return
        if not line:
            return
        yield line


def _written(tokenizer: Any, tokens: Iterator[int | None]) -> str:
    """Writes an answer as it comes; returns it, or as much as there was at Ctrl-C."""
    ids: list[int] = []
    shown = ""
    try:
        for token in tokens:
            if token is not None:
                ids.append(token)
                shown += _show(shown, tokenizer.decode(ids).rstrip(_UNFINISHED))
        shown += _show(shown, tokenizer.decode(ids))
    except KeyboardInterrupt:
        print(" ...", end="")
    print(flush=True)
    return shown


def _show(shown: str, whole: str) -> str:
    """Writes what has been added to a text, of which nothing may steer the terminal."""
    more = whole[len(shown) :]
    if more:
        print(_STEERING.sub(_UNFINISHED, more), end="", flush=True)
    return more
