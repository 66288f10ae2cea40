"""Properties of a student's part, and the smallest examples for which one does not hold."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis.strategies import SearchStrategy

from .finding import Finding, PartLine

#: Phases of hypothesis: without its files, and without explanations that it adds to errors.
_PHASES: Final = (Phase.explicit, Phase.generate, Phase.shrink)


class Wrong(Exception):  # what it says is no error of ours
    """A property that does not hold.

    Args:
        key: of the sentence that says so, in the table ``wrong`` of the lab's words.
        values: what stands in it.
    """

    def __init__(self, key: str, **values: object) -> None:
        super().__init__(key, values)
        self.key: Final = key
        self.values: Final = {name: str(value) for name, value in values.items()}


@dataclass(frozen=True)
class Check:
    """A property of a part.

    Attributes:
        name: the key of its sentence, in the table ``checks`` of the lab's words.
        holds: called with the part, and with an example if there are any; raises `Wrong`.
        examples: what it is tried with; their text is what the student sees. None: it is called
            once.
        tries: how many examples are tried.
    """

    name: str
    holds: Callable[..., None]
    examples: SearchStrategy[Any] | None = None
    tries: int = 200


def tried(check: Check, part: Any, file: str) -> Finding | None:
    """Tries a property; returns what is wrong, or None.

    Args:
        file: the part's, as its module names it.
    """
    seen: list[str] = []
    try:
        if check.examples is None:
            check.holds(part)
        else:
            _search(check, check.examples, part, seen)
    except Exception as error:
        return found_in(error, file, seen[-1] if seen else "")
    return None


def _search(check: Check, examples: SearchStrategy[Any], part: Any, seen: list[str]) -> None:
    """Looks for an example for which the property does not hold, and then for smaller ones.

    The last one that fails is the smallest: it is run once more at the end.
    """

    @settings(
        max_examples=check.tries,
        deadline=None,
        database=None,
        derandomize=True,
        print_blob=False,
        report_multiple_bugs=False,
        phases=_PHASES,
        verbosity=Verbosity.quiet,
        suppress_health_check=list(HealthCheck),
    )
    @given(examples)
    def search(example: Any) -> None:
        try:
            check.holds(part, example)
        except Exception:
            seen.append(str(example))
            raise

    search()


def found_in(error: Exception, file: str, example: str = "") -> Finding:
    """Returns what an error says that was raised while a part was tried."""
    place = place_in(error, file)
    if isinstance(error, Wrong):
        return Finding(f"wrong.{error.key}", error.values, example, None)
    if isinstance(error, NotImplementedError):
        return Finding("check.not_written", {}, "", place)
    if isinstance(error, SyntaxError) and error.filename == file:
        text = (error.text or "").strip()
        place = PartLine(error.lineno or 0, text, "")
        return Finding("check.syntax", {"error": str(error.msg)}, "", place)
    if isinstance(error, AttributeError) and place is None:
        return Finding("check.missing", {"error": str(error)}, example, None)
    values = {"error": f"{type(error).__name__}: {error}"}
    return Finding("check.raised", values, example, place)


def place_in(error: BaseException, file: str) -> PartLine | None:
    """Returns the innermost line of a file that an error came through."""
    frames = traceback.extract_tb(error.__traceback__)
    for frame in reversed(frames):
        if frame.filename == file:
            return PartLine(frame.lineno or 0, frame.line or "", frame.name)
    return None


@contextmanager
def as_wrong(key: str, *kinds: type[Exception], **values: object) -> Iterator[None]:
    """A block in which errors of some kinds are a property that does not hold.

    The sentence has the error's text as ``{error}``.
    """
    try:
        yield
    except kinds as error:
        raise Wrong(key, error=f"{type(error).__name__}: {error}", **values) from error
