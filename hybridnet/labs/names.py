"""The labs, in the order of the course."""

from __future__ import annotations

from typing import Final

#: By the names of their folders.
NAMES: Final = (
    "engine",
    "gradient",
    "memory",
    "fusion",
    "placement",
    "partition",
    "executor",
    "loops",
    "branches",
    "ring",
    "server",
    "convolution",
)
