"""``hybridnet cache info`` and ``hybridnet cache clear``: programs, and beside them, on disk."""

from __future__ import annotations

from typing import Literal

from hybridnet.base import config
from hybridnet.native import onednn
from hybridnet.runtime.tuner import overpaid_folder, program_folder, tuned_folder


def run_cache(action: Literal["info", "clear"]) -> None:
    """Prints what the folders of programs and of what tuning found hold, or empties all folders."""
    folder = program_folder()
    if folder is None:
        print("off: no programs are kept on disk (HYBRIDNET_CACHE_DIR, HYBRIDNET_CACHE_SIZE)")
        return
    tuned, overpaid = tuned_folder(), overpaid_folder()
    if action == "clear":
        gone = folder.clear()
        print(f"removed {gone.entries} programs, {gone.size:,} bytes, from {folder.path}")
        if tuned is not None:
            print(f"removed what tuning found for {tuned.clear().entries} programs")
        if overpaid is not None:
            overpaid.clear()
        print(f"removed {onednn.clear()} compiled libraries")
        return
    found = folder.info()
    print(f"path       {folder.path}")
    print(f"programs   {found.entries}")
    if tuned is not None:
        print(f"tuned      {tuned.info().entries}")
    print(f"bytes      {found.size:,}")
    print(f"limit      {config.cache_size():,}")
