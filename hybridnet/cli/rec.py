"""``hybridnet rec``: what is in a record file, whether it is whole, and files made into one."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any, Final

from hybridnet.base.errors import FormatError, MXNetError, ParameterError
from hybridnet.recordio import MXIndexedRecordIO, pack, scan, unpack, unpack_img
from hybridnet.recordio.packing import whole_record_file

from .progress import Progress

_HEADER: Final = 24  # bytes
#: How files begin, and what they are.
_KINDS: Final = (
    (b"\xff\xd8\xff", "JPEG"),
    (b"\x89PNG", "PNG"),
    (b"BM", "BMP"),
    (b"GIF8", "GIF"),
    (b"RIFF", "WebP"),
    (b"\x93NUMPY", "NumPy"),
)
_MOST_LABELS: Final = 6


def add_rec(commands: Any) -> None:
    """Adds the command to the parser's commands."""
    parser = commands.add_parser("rec", help="list, check, index or make a record file")
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")

    one = actions.add_parser("list", help="print place, bytes, id, labels and kind of each record")
    one.add_argument("file", type=Path, help="the record file")
    one.add_argument("--limit", type=int, metavar="N", help="print the first N records only")
    one.set_defaults(run=_list)

    one = actions.add_parser("check", help="read all of a file; fail where something is damaged")
    one.add_argument("file", type=Path, help="the record file")
    one.add_argument("--idx", type=Path, help="its index (default: beside it, if there is one)")
    one.add_argument("--images", action="store_true", help="decode the images, too")
    one.set_defaults(run=_check)

    one = actions.add_parser("index", help="make the index of a file that has none")
    one.add_argument("file", type=Path, help="the record file; the index is written beside it")
    one.set_defaults(run=_index)

    one = actions.add_parser("pack", help="make a record file, and its index, of other files")
    one.add_argument("file", type=Path, help="the record file")
    one.add_argument("sources", type=Path, nargs="+", metavar="SOURCE", help="a file for a record")
    one.add_argument("--label", type=float, default=0.0, help="label of all records (default: 0)")
    one.add_argument("--raw", action="store_true", help="leave out the header with id and label")
    one.set_defaults(run=_pack)


def _list(options: argparse.Namespace) -> None:
    print("offset\tbytes\tid\tlabels\tkind")
    for number, entry in enumerate(scan(options.file)):
        if options.limit is not None and number >= options.limit:
            return
        print(entry.offset, len(entry.data), *_describe(entry.data), sep="\t")


def _describe(data: bytes) -> tuple[str, str, str]:
    """Returns id, labels and kind of a record; '-' where it has none."""
    if _kind(data) != "-" or len(data) < _HEADER:
        return "-", "-", _kind(data)
    try:
        header, rest = unpack(data)
    except FormatError:
        return "-", "-", "-"
    labels = [float(header.label)] if not header.flag else [float(one) for one in header.label]
    text = " ".join(f"{one:g}" for one in labels[:_MOST_LABELS])
    more = " ..." if len(labels) > _MOST_LABELS else ""
    return str(header.id), text + more, _kind(rest)


def _kind(data: bytes) -> str:
    return next((name for start, name in _KINDS if data.startswith(start)), "-")


def _check(options: argparse.Namespace) -> None:
    faults: list[str] = []

    def note(fault: object) -> None:
        faults.append(str(fault))
        print(fault)

    offsets = set()
    progress = Progress("records")
    for entry in scan(options.file, note):
        offsets.add(entry.offset)
        if options.images:
            _check_image(entry.data, entry.offset, options.file, note)
        progress.step()
    progress.end()
    index = options.idx or options.file.with_suffix(".idx")
    if options.idx or index.exists():
        places = MXIndexedRecordIO(index, options.file, "r").idx
        for key, place in places.items():
            if place not in offsets:
                note(f"{index}: the place of {key}, {place}, is no record of {options.file}")
        missing = len(offsets - set(places.values()))
        if missing:
            note(f"{index}: {missing} records of {options.file} are not in the index")
    if faults:
        raise FormatError(f"{options.file}: faults: {len(faults)}, whole records: {len(offsets)}")
    print(f"{options.file}: {len(offsets)} records, all whole")


def _check_image(data: bytes, offset: int, path: Path, note: Any) -> None:
    try:
        _, image = unpack_img(data)
        fault = "OpenCV does not know the image" if image is None else ""
    except MXNetError as error:
        fault = str(error)
    if fault:
        note(f"{path}: record at byte {offset}: {fault}")


def _index(options: argparse.Namespace) -> None:
    index = options.file.with_suffix(".idx")
    if index.exists():
        raise ParameterError(f"{index}: is there already; remove it to have it made anew")
    progress = Progress("records")
    lines = []
    for number, entry in enumerate(scan(options.file)):
        lines.append(f"{number}\t{entry.offset}\n")
        progress.step()
    progress.end()
    partial = index.with_suffix(".idx.partial")
    partial.write_text("".join(lines), encoding="utf-8")
    os.replace(partial, index)


def _pack(options: argparse.Namespace) -> None:
    progress = Progress("files", len(options.sources))
    with whole_record_file(options.file.with_suffix("")) as writer:
        for number, source in enumerate(options.sources):
            data = source.read_bytes()
            if not options.raw:
                data = pack((0, options.label, number, 0), data)
            writer.write_idx(number, data)
            progress.step()
    progress.end()
