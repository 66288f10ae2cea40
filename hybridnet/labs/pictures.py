"""Files of what Matplotlib has drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hybridnet.visualization.layers import import_extra


def write_picture(figure: Any, file: Path) -> None:
    """Writes a figure to a file, and closes it: pyplot keeps what nobody closes."""
    figure.savefig(file)
    import_extra("matplotlib.pyplot", "lab").close(figure)
