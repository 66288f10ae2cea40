"""The user's line that control flow is on, for messages, and tracebacks without our frames."""

from __future__ import annotations

import linecache
import types
from pathlib import Path
from typing import Final

from hybridnet import engine

# This package, and what runs traced bodies for it.
_OUR_PACKAGES: Final = (
    str(Path(__file__).parent),
    *(str(Path(__file__).parents[1] / name) for name in ("bodies.py", "build.py")),
)


def user_line(with_source: bool = True) -> str:
    """Returns file, line and source of the innermost call that is the user's."""
    place = engine.resolve_origin(engine.caller_origin(2))
    if place is None:
        return "an unknown line"
    file, line = place
    source = linecache.getline(file, line).strip()
    return f"{file}:{line}" + (f" ({source})" if source and with_source else "")


def trimmed(traceback: types.TracebackType | None) -> types.TracebackType | None:
    """Returns a traceback without the frames of this package."""
    frames = []
    while traceback is not None:
        if not traceback.tb_frame.f_code.co_filename.startswith(_OUR_PACKAGES):
            frames.append(traceback)
        traceback = traceback.tb_next
    made: types.TracebackType | None = None
    for frame in reversed(frames):
        made = types.TracebackType(made, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return made
