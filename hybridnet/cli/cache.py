"""``hybridnet cache info`` and ``hybridnet cache clear``: the compiled programs kept on disk."""

from __future__ import annotations

from typing import Literal

from hybridnet.base import config
from hybridnet.runtime.program_store import program_folder

__all__ = ["run_cache"]


def run_cache(action: Literal["info", "clear"]) -> None:
    """Prints what the folder of programs holds, or empties it."""
    folder = program_folder()
    if folder is None:
        print("off: no programs are kept on disk (HYBRIDNET_CACHE_DIR, HYBRIDNET_CACHE_SIZE)")
        return
    if action == "clear":
        gone = folder.clear()
        print(f"removed {gone.entries} programs, {gone.size:,} bytes, from {folder.path}")
        return
    found = folder.info()
    print(f"path       {folder.path}")
    print(f"programs   {found.entries}")
    print(f"bytes      {found.size:,}")
    print(f"limit      {config.cache_size():,}")
