"""Where things of the source tree lie, for tests that read them."""

from __future__ import annotations

from pathlib import Path

#: The root of the source tree.
ROOT = Path(__file__).resolve().parents[2]
#: What other frameworks answered, and the scripts that asked them.
ORACLE = ROOT / "tests" / "oracle"
