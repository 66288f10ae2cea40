"""Files damaged by chance, thousands of times, and read: a program, since its memory is bounded.

It is called with what to read ('states', 'onnx' or 'hnx'), a file that is whole, and how often. It
says each error that is none of a damaged file, and fails where there is one. A reader that takes
memory for what is only claimed fails for want of it: 512 MB are left beside what is in use.
"""

from __future__ import annotations

import random
import resource
import subprocess
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import hybridnet as hn
from hybridnet import nd, optimizer
from hybridnet.base.errors import FormatError
from hybridnet.onnx.importing.arrival import ImportModelError

SPARE = 512 << 20


def read_states(path: Path) -> None:
    optimizer.get_updater(optimizer.create("sgd")).set_states(path.read_bytes())


def read_onnx(path: Path) -> None:
    hn.onnx.import_model(str(path))
    hn.onnx.get_model_metadata(str(path))


def read_hnx(path: Path) -> None:
    hn.load(str(path))


READERS: dict[str, Callable[[Path], None]] = {
    "states": read_states,
    "onnx": read_onnx,
    "hnx": read_hnx,
}


def damaged(data: bytes, draw: random.Random) -> bytes:
    """Returns bytes with one to four faults: cut, lost, doubled, put in or others there."""
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        kind, at = draw.randrange(8), draw.randrange(max(len(data), 1))
        size = draw.choice((1, 1, 2, 4, 8, 30))
        new = draw.choice(
            (draw.randbytes(size), b"\xff" * size, bytes(size), b"\x7f" + b"\xff" * 7)
        )
        if kind == 0:
            data = data[:at]
        elif kind == 1:
            data = data[:at] + data[at + size :]
        elif kind == 2:
            data = data[:at] + data[at : at + size] + data[at:]
        elif kind == 3:
            data = data[:at] + new + data[at:]
        elif kind == 4 and data:
            data = data[:at] + bytes([data[at] ^ 1 << draw.randrange(8)]) + data[at + 1 :]
        else:
            data = data[:at] + new + data[at + len(new) :]
    return data


def run(kind: str, path: Path, count: int) -> int:
    """Runs this as a program, and returns its status."""
    return subprocess.run([sys.executable, __file__, kind, path, str(count)]).returncode


def main() -> None:
    """Reads a file, damaged so often."""
    kind, path, count = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    read, whole = READERS[kind], path.read_bytes()
    nd.ones(3).wait_to_read()
    read(path)  # all that is imported
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0])
    limit = pages * resource.getpagesize() + SPARE
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, path.name)
        for number in range(count):
            target.write_bytes(damaged(whole, random.Random(number)))
            try:
                read(target)
                found["read"] += 1
            except (FormatError, ImportModelError):
                found["told"] += 1
            except BaseException as error:
                where = traceback.extract_tb(error.__traceback__)[-1]
                place = f"{type(error).__name__} at {Path(where.filename).name}:{where.lineno}"
                found[place] += 1
                if found[place] == 1:
                    print(f"{number}: {place}: {str(error)[:200]}", flush=True)
    print(dict(found))
    sys.exit(bool(set(found) - {"read", "told"}))


if __name__ == "__main__":
    main()
