"""The angles of rotary positions, and how they are changed for longer sequences.

Su et al., "RoFormer: enhanced transformer with rotary position embedding", 2021; Chen et al.,
"Extending context window of large language models via positional interpolation", 2023 ('linear');
Grattafiori et al., "The Llama 3 herd of models", 2024 ('llama3').
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.errors import ParameterError

from ..folders import Settings

__all__ = ["RopeScaling"]


@dataclass(frozen=True)
class RopeScaling:
    """The change of rotary positions' angles for sequences longer than those learned from.

    Attributes:
        kind: 'linear' (all angles divided by `factor`), or 'llama3' (only of long wavelengths).
        factor: by how much.
        low, high: of 'llama3': `original_length` is so many wavelengths where angles begin to be
            divided, and where they are no more.
        original_length: of 'llama3': what was learned from.
    """

    kind: str
    factor: float
    low: float = 1.0
    high: float = 4.0
    original_length: int = 8192

    def __post_init__(self) -> None:
        if self.kind not in ("linear", "llama3"):
            raise ParameterError(
                f"RopeScaling: kind must be 'linear' or 'llama3', got {self.kind!r}"
            )
        if not self.factor > 0 or not 0 < self.low < self.high:
            raise ParameterError(
                "RopeScaling: factor must be above 0, and low above 0 and below high, got "
                f"factor={self.factor}, low={self.low} and high={self.high}"
            )

    def config(self) -> dict[str, Any]:
        """Returns it as Hugging Face's config.json has it."""
        made: dict[str, Any] = {"rope_type": self.kind, "factor": self.factor}
        if self.kind == "llama3":
            made["low_freq_factor"] = self.low
            made["high_freq_factor"] = self.high
            made["original_max_position_embeddings"] = self.original_length
        return made


def frequencies(units: int, base: float, scaling: RopeScaling | None = None) -> NumpyArray:
    """Returns the angle in radians of each pair of units at position 1, (units / 2,), float32.

    Args:
        units: of a head.
        base: of the wavelengths.
        scaling: how they are changed.
    """
    pairs = np.arange(0, units, 2, dtype=np.float32)
    plain: NumpyArray = np.float32(1) / np.float32(base) ** (pairs / np.float32(units))
    if scaling is None:
        return plain
    divided: NumpyArray = plain / np.float32(scaling.factor)
    if scaling.kind == "linear":
        return divided
    # How many wavelengths the original length is, and how much of each angle stays.
    waves = scaling.original_length * plain / np.float32(2 * math.pi)
    kept = np.clip((waves - scaling.low) / (scaling.high - scaling.low), 0, 1)
    return ((1 - kept) * divided + kept * plain).astype(np.float32)


def rope_settings(settings: Settings) -> Settings:
    """Returns the part of a config.json that is about rotary positions."""
    return settings.part("rope_scaling" if settings.has("rope_scaling") else "rope_parameters")


def read_scaling(rope: Settings, max_length: int) -> RopeScaling | None:
    """Returns what a config.json says of the angles; None where they stay.

    Args:
        rope: see `rope_settings`.
        max_length: what was learned from where nothing else is said.
    """
    rope.only("partial_rotary_factor", 1.0)
    name = "rope_type" if rope.has("rope_type") else "type"  # as older files have it
    kind = rope.choice(name, "default", ("default", "linear", "llama3"))
    if kind == "default":
        return None
    factor = rope.number("factor")
    if kind == "linear":
        return RopeScaling(kind, factor)
    return RopeScaling(
        kind,
        factor,
        low=rope.number("low_freq_factor"),
        high=rope.number("high_freq_factor"),
        original_length=rope.size("original_max_position_embeddings", max_length),
    )
