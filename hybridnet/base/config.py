"""The environment variables hybridnet reads, each in one place with its meaning and default."""

from __future__ import annotations

import os
from pathlib import Path

from .errors import ParameterError

__all__ = ["cache_dir", "engine_type", "num_cpu_devices", "segment_limit"]


def _integer(name: str, default: int, minimum: int) -> int:
    text = os.environ.get(name, "").strip()
    if not text:
        return default
    try:
        value = int(text)
    except ValueError:
        value = minimum - 1
    if value < minimum:
        raise ParameterError(f"{name} must be an integer >= {minimum}, got {text!r}")
    return value


def engine_type() -> str:
    """HYBRIDNET_ENGINE_TYPE: 'ThreadedEngine' (default) or 'NaiveEngine' (all synchronous)."""
    return os.environ.get("HYBRIDNET_ENGINE_TYPE", "").strip() or "ThreadedEngine"


def num_cpu_devices() -> int:
    """HYBRIDNET_NUM_CPU_DEVICES: how many virtual CPU devices ``cpu(i)`` there are (default 1)."""
    return _integer("HYBRIDNET_NUM_CPU_DEVICES", 1, 1)


def segment_limit() -> int:
    """HYBRIDNET_SEGMENT_LIMIT: operators recorded before a launch is forced (default 1024)."""
    return _integer("HYBRIDNET_SEGMENT_LIMIT", 1024, 1)


def cache_dir() -> Path:
    """HYBRIDNET_CACHE_DIR: folder of files that can be made again (default ~/.cache/hybridnet)."""
    text = os.environ.get("HYBRIDNET_CACHE_DIR", "").strip()
    if text:
        return Path(text).expanduser()
    base = os.environ.get("XDG_CACHE_HOME", "").strip() or "~/.cache"
    return Path(base).expanduser() / "hybridnet"
