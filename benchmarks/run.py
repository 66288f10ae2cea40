"""Runs the benchmarks one after another, each in a process of its own; each prints its ratios.

python benchmarks/run.py            # all
python benchmarks/run.py lenet      # some, by name
"""

from __future__ import annotations

import argparse
import platform
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
#: In the order of the house: the engine, the lowerings, the mark to hold to, and ourselves.
NAMES = ("engine", "lowerings", "lenet_jit", "lenet", "eager", "buckets", "function")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of {', '.join(NAMES)}")
    names = parser.parse_args().names or list(NAMES)
    unknown = sorted(set(names) - set(NAMES))
    if unknown:
        parser.error(f"there is no benchmark {', '.join(unknown)}; there are {', '.join(NAMES)}")
    print(f"Python {platform.python_version()} on {platform.machine()}")
    failed = []
    for name in names:
        print(f"\n== {name}", flush=True)
        if subprocess.run([sys.executable, str(HERE / f"{name}.py")], check=False).returncode:
            failed.append(name)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
