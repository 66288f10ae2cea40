"""``hybridnet im2rec``: lists of images, and record files of listed images; MXNet's im2rec.py."""

from __future__ import annotations

import argparse
import os
import random
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, NamedTuple

from hybridnet.base.contained import contained
from hybridnet.base.errors import FormatError, MXNetError
from hybridnet.recordio import IRHeader
from hybridnet.recordio.packing import PackOptions, pack_file, whole_record_file

from .progress import Progress

_SEED: Final = 100  # of the order of a list, as in MXNet
_AHEAD: Final = 4  # images in work, for each thread


class Listed(NamedTuple):
    """An image of a list: its number, labels, and path.

    The path is written as it is from the root, and read with the root before it.
    """

    number: int
    labels: Sequence[float]
    path: str


def add_im2rec(commands: Any) -> None:
    """Adds the command to the parser's commands."""
    parser = commands.add_parser(
        "im2rec",
        help="make lists of images, or record files of listed images",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("prefix", help="of the lists PREFIX*.lst, and of PREFIX*.rec and .idx")
    parser.add_argument("root", help="folder that the images are in")
    yes = argparse.BooleanOptionalAction

    group = parser.add_argument_group("lists")
    group.add_argument("--list", action="store_true", help="make lists, and no record files")
    group.add_argument("--exts", nargs="+", default=[".jpeg", ".jpg", ".png"], help="of images")
    group.add_argument("--chunks", type=int, default=1, help="how many lists to make")
    group.add_argument("--train-ratio", type=float, default=1.0, help="part in PREFIX_train.lst")
    group.add_argument("--test-ratio", type=float, default=0.0, help="part in PREFIX_test.lst")
    group.add_argument(
        "--recursive", action="store_true", help="go into folders; each is a label, from 0 on"
    )
    group.add_argument("--shuffle", action=yes, default=True, help="list in an order by chance")

    group = parser.add_argument_group("record files")
    group.add_argument("--pass-through", action="store_true", help="pack the files as they are")
    group.add_argument("--resize", type=int, default=0, help="of the shorter side, pixels; 0: not")
    group.add_argument("--center-crop", action="store_true", help="pack the square in the middle")
    group.add_argument("--quality", type=int, default=95, help="of JPEG: 1-100; of PNG: 0-9")
    group.add_argument("--num-thread", type=int, default=1, help="threads that encode")
    group.add_argument(
        "--color", type=int, default=1, choices=(-1, 0, 1), help="1: colour, 0: grey, -1: as it is"
    )
    group.add_argument("--encoding", default=".jpg", choices=(".jpg", ".png"), help="of the images")
    group.add_argument("--pack-label", action="store_true", help="pack all labels of an image")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    if options.list:
        _make_lists(options)
        return
    prefix = Path(os.path.abspath(options.prefix))
    folder = prefix if prefix.is_dir() else prefix.parent
    lists = [
        path
        for path in sorted(folder.iterdir())
        if str(path).startswith(str(prefix)) and path.suffix == ".lst"
    ]
    if not lists:
        raise MXNetError(f"there must be a list {prefix}*.lst, got none; --list makes it")
    for path in lists:
        print(f"{path} -> {path.with_suffix('.rec')}", file=sys.stderr)
        _pack_list(path, options)


def _make_lists(options: argparse.Namespace) -> None:
    images = list(_find(options.root, options.recursive, set(options.exts)))
    if not images:
        deeper = "" if options.recursive else "; --recursive looks into its folders, too"
        raise MXNetError(
            f"{options.root}: must be a folder with images ({' '.join(options.exts)}), got "
            f"{'one without' if os.path.isdir(options.root) else 'none'}{deeper}"
        )
    if options.shuffle:
        random.Random(_SEED).shuffle(images)
    size = -(-len(images) // options.chunks)
    for number in range(options.chunks):
        part = images[number * size : (number + 1) * size]
        stem = options.prefix + (f"_{number}" if options.chunks > 1 else "")
        tested = int(size * options.test_ratio)
        trained = tested + int(size * options.train_ratio)
        if options.train_ratio == 1:
            _write_list(f"{stem}.lst", part)
            continue
        if options.test_ratio:
            _write_list(f"{stem}_test.lst", part[:tested])
        if options.train_ratio + options.test_ratio < 1:
            _write_list(f"{stem}_val.lst", part[trained:])
        _write_list(f"{stem}_train.lst", part[tested:trained])


def _find(root: str, recursive: bool, exts: set[str]) -> Iterator[Listed]:
    """Yields the images of a folder; those of each folder in it with a label of their own."""
    labels: dict[str, int] = {}
    number = 0
    for folder, inside, files in os.walk(root, followlinks=True):
        inside.sort()
        for name in sorted(files):
            path = os.path.join(folder, name)
            if os.path.splitext(name)[1].lower() in exts and os.path.isfile(path):
                label = labels.setdefault(folder, len(labels)) if recursive else 0
                yield Listed(number, [label], os.path.relpath(path, root))
                number += 1
        if not recursive:
            return
    for folder, label in labels.items():
        print(os.path.relpath(folder, root), label)


def _write_list(path: str, images: Sequence[Listed]) -> None:
    with open(path, "w", encoding="utf-8") as file:
        for one in images:
            labels = "".join(f"{label:f}\t" for label in one.labels)
            file.write(f"{one.number}\t{labels}{one.path}\n")


def _read_list(path: Path, root: str) -> list[Listed]:
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        fields = [field.strip() for field in line.strip().split("\t")]
        if fields == [""]:
            continue
        try:
            if len(fields) < 3:
                raise ValueError(f"{len(fields)} fields")
            image = contained(root, fields[-1], f"{path}: line {number}")
            found.append(Listed(int(fields[0]), [float(one) for one in fields[1:-1]], image))
        except FormatError:
            raise
        except ValueError as error:
            raise FormatError(
                f"{path}: line {number} must be a number, labels and a path, with tabs between, "
                f"got {line[:60]!r}: {error}"
            ) from error
    return found


def _pack_list(path: Path, options: argparse.Namespace) -> None:
    images = _read_list(path, options.root)
    if not images:
        raise FormatError(f"{path}: must list images, got an empty list; --list makes it anew")
    how = PackOptions(
        pass_through=options.pass_through,
        resize=options.resize,
        center_crop=options.center_crop,
        quality=options.quality,
        color=options.color,
        encoding=options.encoding,
    )

    def work(one: Listed) -> bytes:
        several = options.pack_label and len(one.labels) > 1
        header = IRHeader(0, one.labels if several else one.labels[0], one.number, 0)
        return pack_file(one.path, header, how)

    progress = Progress("images", len(images))
    left_out = 0
    with whole_record_file(path.with_suffix("")) as writer:
        for one, task in _in_order(images, work, max(options.num_thread, 1)):
            try:
                record = task.result()
            except (MXNetError, OSError) as error:
                print(f"left out: {error}", file=sys.stderr)
                left_out += 1
                continue
            writer.write_idx(one.number, record)
            progress.step()
    progress.end()
    if left_out:
        print(f"{left_out} of {len(images)} images were left out", file=sys.stderr)


def _in_order(
    images: Sequence[Listed], work: Any, threads: int
) -> Iterator[tuple[Listed, Future[bytes]]]:
    """Yields the work on each image in their order, while the next ones are worked on."""
    begun: deque[tuple[Listed, Future[bytes]]] = deque()
    with ThreadPoolExecutor(threads, "encode") as pool:
        try:
            for one in images:
                begun.append((one, pool.submit(work, one)))
                if len(begun) > _AHEAD * threads:
                    yield begun.popleft()
            yield from begun
        finally:
            pool.shutdown(cancel_futures=True)
