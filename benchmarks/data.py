"""Reading data: records and images from record files, against MXNet, by turns.

Each contestant has a process of its own, and does the same work by the same names. The processes
take turns of a second, so that a change of the machine's speed meets both. On a busy machine a
second of a processor's work says more than one of the clock: rates are given of both.

    python benchmarks/data.py [--mxnet-python PYTHON] [--rounds 5] [--images 512]

``PYTHON`` is an interpreter with ``mxnet==1.9.1 numpy==1.23.5``; without it hybridnet is alone.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

#: The works, and what they count.
WORKS = {
    "records of 100 bytes": "records",
    "records of 40 kB": "records",
    "ImageRecordIter, 224 x 224 of 256, mirrored by chance, 1 thread": "images",
    "ImageRecordIter, likewise, 2 threads": "images",
    "ImageRecordIter, likewise, uint8, 1 thread": "images",
    "ImageRecordIter, 28 x 28 of 32, 1 thread": "images",
}
SECONDS = 1.0  # of a turn


def write_files(folder: Path, count: int) -> None:
    """Writes the files that are read: photo-like JPEG images, and bytes."""
    import cv2
    import numpy as np

    from hybridnet import recordio

    generator = np.random.default_rng(0)
    for name, (height, width) in {"large": (256, 340), "small": (32, 32)}.items():
        with recordio.MXRecordIO(folder / f"{name}.rec", "w") as writer:
            for number in range(count):
                coarse = generator.integers(0, 256, (height // 8, width // 8, 3), np.uint8)
                image = cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC)
                noise = generator.normal(0, 6, image.shape)
                image = (image + noise).clip(0, 255).astype(np.uint8)
                writer.write(recordio.pack_img((0, number % 10, number, 0), image, 90))
    for name, size, rows in (("short", 100, 100 * count), ("long", 40_000, 2 * count)):
        with recordio.MXRecordIO(folder / f"{name}.rec", "w") as writer:
            for _ in range(rows):
                writer.write(generator.bytes(size))


def works(mx: Any, folder: str) -> dict[str, Callable[[], Iterator[int]]]:
    """Returns each work: it yields how many of its things were read, without an end."""

    def records(name: str) -> Iterator[int]:
        while True:
            reader = mx.recordio.MXRecordIO(os.path.join(folder, f"{name}.rec"), "r")
            while reader.read() is not None:
                yield 1

    def images(name: str, size: int, threads: int, **options: Any) -> Iterator[int]:
        iterator = mx.io.ImageRecordIter(
            path_imgrec=os.path.join(folder, f"{name}.rec"),
            data_shape=(3, size, size),
            batch_size=64,
            rand_crop=True,
            rand_mirror=True,
            preprocess_threads=threads,
            verbose=False,
            **options,
        )
        while True:
            for batch in iterator:
                batch.data[0].wait_to_read()
                yield 64
            iterator.reset()

    made: list[Callable[[], Iterator[int]]] = [
        lambda: records("short"),
        lambda: records("long"),
        lambda: images("large", 224, 1, mean_r=123, std_r=58),
        lambda: images("large", 224, 2, mean_r=123, std_r=58),
        lambda: images("large", 224, 1, dtype="uint8"),
        lambda: images("small", 28, 1, mean_r=123, std_r=58),
    ]
    return dict(zip(WORKS, made))  # noqa: B905 - MXNet's Python may be old


def serve(module: str, folder: str) -> None:
    """Does turns as they are asked for: the name of a work comes in, its rates go out."""
    running: dict[str, Iterator[int]] = {}
    known = works(importlib.import_module(module), folder)
    for line in sys.stdin:
        name = json.loads(line)
        if name not in running:
            running[name] = known[name]()
            next(running[name])
        begun, worked, count = time.perf_counter(), time.process_time(), 0
        while time.perf_counter() - begun < SECONDS:
            count += next(running[name])
        seconds = time.perf_counter() - begun
        print(json.dumps([count / seconds, count / (time.process_time() - worked)]), flush=True)


class Contestant:
    """The asking side of a process that serves, which a script does that is called so."""

    def __init__(self, python: str, module: str, folder: Path, script: str = __file__) -> None:
        self._process = subprocess.Popen(
            [python, script, "--serve", module, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def turn(self, work: str) -> list[float]:
        """Returns how many were read in a second, and in a second of work."""
        assert self._process.stdin is not None and self._process.stdout is not None
        print(json.dumps(work), file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"a contestant ended while it did {work!r}")
        rates: list[float] = json.loads(line)
        return rates

    def end(self) -> None:
        """Ends the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def compare(contestants: dict[str, Contestant], rounds: int, only: str) -> None:
    """Prints the table; ratios above 1 say that hybridnet reads more."""
    print("| read | hybridnet, by the clock | / MXNet | by processor time | / MXNet |")
    print("| --- | --- | --- | --- | --- |")
    for work, what in WORKS.items():
        if only not in work:
            continue
        rates: dict[str, list[list[float]]] = {name: [] for name in contestants}
        for number in range(rounds):
            order = list(contestants) if number % 2 == 0 else list(reversed(contestants))
            for name in order:
                rates[name].append(contestants[name].turn(work))
        cells = []
        for place in (0, 1):  # by the clock, and by work
            own = [one[place] for one in rates["hybridnet"]]
            cells.append(f"{statistics.median(own):,.0f} {what}/s")
            other = [one[place] for one in rates.get("mxnet", [])]
            ratios = [a / b for a, b in zip(own, other)]  # noqa: B905
            cells.append(f"{statistics.median(ratios):.2f}" if ratios else "")
        print(f"| {work} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    if sys.argv[1:2] == ["--serve"]:
        serve(*sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--mxnet-python", help="an interpreter that has MXNet")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each contestant")
    parser.add_argument("--images", type=int, default=512, help="in each file")
    parser.add_argument("--only", default="", help="works whose name has this in it")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        write_files(Path(name), options.images)
        contestants = {"hybridnet": Contestant(sys.executable, "hybridnet", Path(name))}
        if options.mxnet_python:
            contestants["mxnet"] = Contestant(options.mxnet_python, "mxnet", Path(name))
        try:
            compare(contestants, options.rounds, options.only)
        finally:
            for one in contestants.values():
                one.end()


if __name__ == "__main__":
    main()
