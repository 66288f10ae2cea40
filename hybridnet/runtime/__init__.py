"""What runs: devices, values, segments, the program cache, and launches.

An eager operator becomes an instruction of its thread's segment (`recorder`); a segment becomes a
program (`programs`); a program is dispatched at once, or by the engine when one of its inputs is
still being made by a host task (`launch`). A trace is a segment that is kept (`segment`).

For users: what ran, as text with their own lines.

    with hn.runtime.explaining():
        train_step()
    hn.runtime.explain()
"""

from __future__ import annotations

from .explain import Explanation as Explanation
from .explain import Launch as Launch
from .explain import explain as explain
from .explain import explaining as explaining

__all__ = ["Explanation", "Launch", "explain", "explaining"]
