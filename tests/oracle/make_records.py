"""Writes record files with MXNet 1.9.1: ``files/records.*`` and ``files/headers.rec``.

Run it with a Python (at most 3.11) that has ``mxnet==1.9.1 numpy==1.23.5``::

    python tests/oracle/make_records.py
"""

from __future__ import annotations

from pathlib import Path

import mxnet as mx
from record_cases import headers, records

HERE = Path(__file__).resolve().parent / "files"


def main() -> None:
    writer = mx.recordio.MXIndexedRecordIO(
        str(HERE / "records.idx"), str(HERE / "records.rec"), "w"
    )
    for index, data in enumerate(records()):
        writer.write_idx(3 * index, data)
    writer.close()
    writer = mx.recordio.MXRecordIO(str(HERE / "headers.rec"), "w")
    for header in headers():
        writer.write(mx.recordio.pack(header, b"image"))
    writer.close()


if __name__ == "__main__":
    main()
