"""Files that appear whole or not at all, and what killed writers leave."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from hybridnet.base.files import atomic_write

WRITER = """
import sys
from hybridnet.base.files import atomic_write
with atomic_write(sys.argv[1]) as file:
    file.write(b"by another process")
    file.flush()
    print("begun", flush=True)
    sys.stdin.readline()
"""


def begun(path) -> subprocess.Popen[str]:
    """A process in the midst of writing a file."""
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    return process


def write(path, content: bytes) -> None:
    with atomic_write(path) as file:
        file.write(content)


@pytest.mark.skipif(os.name != "posix", reason="locks of files")
def test_what_killed_writers_left_goes_with_the_next_write(tmp_path):
    path, other = tmp_path / "net.params", tmp_path / "other.params"
    write(path, b"before")
    for _ in range(3):
        with begun(path) as process:
            process.send_signal(signal.SIGKILL)
    assert path.read_bytes() == b"before"
    assert 1 <= len(list(tmp_path.glob(".*.tmp"))) <= 3
    write(other, b"of another file")
    assert list(tmp_path.glob(".*.tmp"))
    write(path, b"after")
    assert sorted(os.listdir(tmp_path)) == ["net.params", "other.params"]
    assert path.read_bytes() == b"after"


@pytest.mark.skipif(os.name != "posix", reason="locks of files")
def test_a_living_writer_loses_nothing(tmp_path):
    path = tmp_path / "net.params"
    with begun(path) as process:
        write(path, b"meanwhile")
        assert path.read_bytes() == b"meanwhile"
        process.communicate("go on\n")
    assert process.returncode == 0
    assert path.read_bytes() == b"by another process"
    assert os.listdir(tmp_path) == ["net.params"]


def test_an_error_leaves_the_old_file(tmp_path):
    path = tmp_path / "net.params"
    write(path, b"before")
    with pytest.raises(ValueError, match="in the midst"), atomic_write(path) as file:
        file.write(b"half")
        raise ValueError("in the midst")
    assert os.listdir(tmp_path) == ["net.params"]
    assert path.read_bytes() == b"before"


def test_an_error_names_the_file_that_was_asked_for(tmp_path):
    path = tmp_path / "missing" / "net.params"
    with pytest.raises(FileNotFoundError) as raised:
        write(path, b"")
    assert os.fspath(raised.value.filename) == os.fspath(path)
