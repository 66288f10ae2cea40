"""Switches of TensorFlow 2 that programs for 1.x throw first: here they are thrown for good."""

from __future__ import annotations

__all__ = [
    "disable_eager_execution",
    "disable_resource_variables",
    "disable_v2_behavior",
    "enable_resource_variables",
    "executing_eagerly",
]


def disable_v2_behavior() -> None:
    """Means nothing here: there is only TensorFlow 1's behavior."""


def disable_eager_execution() -> None:
    """Means nothing here: graphs are built, and sessions run them."""


def enable_resource_variables() -> None:
    """Means nothing here: variables are one kind."""


def disable_resource_variables() -> None:
    """Means nothing here: variables are one kind."""


def executing_eagerly() -> bool:
    """Whether Operations run where they are written; they never do (`hn.nd` is for that)."""
    return False
