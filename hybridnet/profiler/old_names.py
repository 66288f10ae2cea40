"""The profiler's functions by the names that they had before MXNet 1.2, which warn."""

from __future__ import annotations

import warnings

from .control import dump, set_config, set_state


def profiler_set_config(mode: str = "symbolic", filename: str = "profile.json") -> None:
    """Sets up the profiler; use `set_config`.

    Args:
        mode: 'symbolic', 'imperative', 'api', 'memory' or 'all'.
        filename: where `dump` writes.

    Raises:
        ParameterError: `mode` is another.
    """
    _warn("profiler_set_config", "set_config")
    set_config(**{f"profile_{mode}": True, "filename": filename})


def profiler_set_state(state: str = "stop") -> None:
    """Starts ('run') or ends ('stop') recording; use `set_state`.

    Raises:
        ParameterError: `state` is neither.
    """
    _warn("profiler_set_state", "set_state")
    set_state(state)


def dump_profile() -> None:
    """Ends recording and writes what was recorded; use `dump`.

    Raises:
        OSError: the file cannot be written.
    """
    _warn("dump_profile", "dump")
    dump(True)


def _warn(old: str, new: str) -> None:
    warnings.warn(f"profiler.{old} is the old name of profiler.{new}", stacklevel=3)
