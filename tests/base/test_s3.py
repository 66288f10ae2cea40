"""Files at s3://, with a real server of the protocol: what an end in the middle leaves there."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import s3_writers
import s3fs
from s3_server import BUCKET, KEYS, s3_server

import hybridnet as mx
from hybridnet import nd
from hybridnet.base import remote, upload
from hybridnet.base.files import atomic_write

SUPPORT = Path(__file__).parents[1] / "support"
FAR = f"s3://{BUCKET}"


@pytest.fixture(scope="module")
def s3():
    with s3_server() as server:
        yield server


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(upload, "_PART_BYTES", 5 << 20)


@pytest.fixture
def program(s3):
    """Starts a Python program that finds the server; what is left of it is ended."""
    started = []

    def start(*command):
        process = subprocess.Popen(
            [sys.executable, *command], env=os.environ | s3.env | {"PYTHONPATH": str(SUPPORT)},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def interrupt_in_the_middle(s3, process, often=1):
    """Has Ctrl-C come when some of what is written from now on has arrived."""
    begin, left = s3.relay.sent, [often]

    def strike(sent):
        if sent - begin > s3_writers.MIDDLE and left[0]:
            left[0] -= 1
            process.send_signal(signal.SIGINT)

    s3.relay.on_sent = strike


def objects(s3, folder):
    return {key: s3.get(key) for key in s3.names() if key.startswith(folder + "/")}


@pytest.mark.slow
def test_ctrl_c_leaves_the_old_file_whoever_writes(s3, program):
    process = program(str(SUPPORT / "s3_writers.py"), FAR, *s3_writers.WRITERS)
    for name in s3_writers.WRITERS:
        assert process.stdout.readline().strip() == name, process.communicate()[1]
        before = objects(s3, name)
        assert before
        interrupt_in_the_middle(s3, process)
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline().strip() == "interrupted", name
        s3.relay.on_sent = lambda sent: None
        after = objects(s3, name)
        assert {key: after[key] == data for key, data in before.items()} == dict.fromkeys(
            before, True
        ), name
        assert s3.half_made() == [], name
    assert process.wait(60) == 0


@pytest.mark.slow
def test_ctrl_c_leaves_a_whole_checkpoint(s3, program):
    process = program(str(SUPPORT / "s3_writers.py"), FAR, "save_checkpoint")
    assert process.stdout.readline().strip() == "save_checkpoint", process.communicate()[1]
    interrupt_in_the_middle(s3, process)
    process.stdin.write("\n")
    process.stdin.flush()
    assert process.stdout.readline().strip() in ("interrupted", "written")
    s3.relay.on_sent = lambda sent: None
    assert s3.half_made() == []
    loaded = mx.checkpoint.load_variable(f"{FAR}/save_checkpoint/model-0", "w")
    assert np.shape(loaded) in ((s3_writers.SMALL,), (s3_writers.LARGE,))
    np.testing.assert_array_equal(loaded, s3_writers.numbers[: len(loaded)])


ENDS = """
import sys
import hybridnet as mx
from hybridnet.base import upload
upload._PART_BYTES = 5 << 20
writer = mx.recordio.MXRecordIO(sys.argv[1], "w")
for _ in range(100):
    writer.write(bytes(1 << 20))
"""


def test_a_program_that_ctrl_c_ends_leaves_nothing_half_made(s3, program):
    nd.save(f"{FAR}/ends.rec", [nd.ones(3)])
    before = s3.get("ends.rec")
    process = program("-c", ENDS, f"{FAR}/ends.rec")
    interrupt_in_the_middle(s3, process)
    said = process.communicate(timeout=100)[1]
    s3.relay.on_sent = lambda sent: None
    assert process.returncode == -signal.SIGINT, said
    assert "was not closed, so it is discarded" in said
    assert s3.get("ends.rec") == before
    assert s3.half_made() == []


def test_any_exception_leaves_the_old_file(s3, small_parts):
    nd.save(f"{FAR}/error.params", [nd.ones(3)])
    before = s3.get("error.params")
    sent = s3.relay.sent
    with pytest.raises(ZeroDivisionError), atomic_write(f"{FAR}/error.params") as file:
        file.write(bytes(12 << 20))
        file.write(b"more")
        raise ZeroDivisionError
    assert s3.relay.sent - sent > 5 << 20  # it was on its way
    assert s3.get("error.params") == before
    assert s3.half_made() == []


def test_records_after_an_exception(s3, small_parts):
    s3_writers.write_records(f"{FAR}/records", s3_writers.SMALL)
    before = objects(s3, "records")

    def write():
        names = f"{FAR}/records/a.idx", f"{FAR}/records/a.rec"
        with mx.recordio.MXIndexedRecordIO(*names, "w") as file:
            for key in range(12):
                file.write_idx(key, bytes(1 << 20))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write()
    assert objects(s3, "records") == before
    assert s3.half_made() == []


def test_a_writer_that_nobody_closed(s3, small_parts, caplog):
    file = mx.recordio.MXRecordIO(f"{FAR}/left.rec", "w")
    for _ in range(6):
        file.write(bytes(1 << 20))
    del file
    assert "left.rec: was not closed, so it is discarded" in caplog.text
    assert "left.rec" not in s3.names()
    assert s3.half_made() == []


def test_a_part_that_is_refused(s3, small_parts):
    s3.client.create_bucket(Bucket="going")
    file = upload.Upload("s3://going/x.params")
    file.write(bytes(5 << 20))
    file._wait()
    (one,) = s3.client.list_multipart_uploads(Bucket="going")["Uploads"]
    s3.client.abort_multipart_upload(Bucket="going", Key="x.params", UploadId=one["UploadId"])
    s3.client.delete_bucket(Bucket="going")
    with pytest.raises(FileNotFoundError, match=r"bucket does not exist \(bucket 'going'\)"):
        for _ in range(3):
            file.write(bytes(5 << 20))
    with pytest.raises(OSError, match="write it again: 's3://going/x.params'"):
        file.close()


def test_what_is_written_in_parts_is_read_back(s3, small_parts):
    data = np.random.default_rng(1).bytes((17 << 20) + 3)
    with remote.open_binary(f"{FAR}/parts.bin", "wb") as file:
        file.write(data[:1])
        file.write(memoryview(data)[1:])
        assert file.tell() == len(data)
    assert s3.get("parts.bin") == data
    with remote.open_binary(f"{FAR}/parts.bin", "ab") as file:
        file.write(b"more")
    assert remote.read_file(f"{FAR}/parts.bin") == data + b"more"
    with remote.open_binary(f"{FAR}/empty.bin", "wb"):
        pass
    assert remote.read_file(f"{FAR}/empty.bin") == b""


def test_later_parts_are_larger_so_that_they_are_never_too_many(s3, monkeypatch):
    monkeypatch.setattr(upload, "_PART_BYTES", 5 << 20)
    monkeypatch.setattr(upload, "_GROWS", 2)
    with remote.open_binary(f"{FAR}/grown.bin", "wb") as file:
        file.write(bytes(31 << 20))
    parts = s3.client.head_object(Bucket=BUCKET, Key="grown.bin", PartNumber=1)
    assert parts["PartsCount"] == 5  # of 5, 5, 10, 10 and 1 MB
    assert s3.get("grown.bin") == bytes(31 << 20)


def read_records(address):
    mx.recordio.MXRecordIO(address, "r").read()


def write_records(address):
    with mx.recordio.MXRecordIO(address, "w") as file:
        file.write(b"x")


def read_rows(address):
    next(mx.io.CSVIter(data_csv=address, data_shape=(1,), batch_size=1))


READERS = (nd.load, read_records, mx.sym.load, read_rows)
WRITERS = (lambda address: nd.save(address, [nd.ones(2)]), write_records)


def told(call, address):
    """Returns the error of a call, which must be a whole OSError."""
    with pytest.raises(OSError) as caught:
        call(address)
    error = caught.value
    assert error.filename == address
    assert error.errno and "None" not in str(error)
    assert "bucket '" in str(error)
    return error


@pytest.mark.parametrize("call", [*READERS, *WRITERS])
def test_a_bucket_that_is_not_there(s3, call):
    error = told(call, "s3://nowhere/x")
    assert isinstance(error, FileNotFoundError)
    assert "bucket does not exist (bucket 'nowhere')" in str(error)


@pytest.mark.parametrize("call", READERS)
def test_a_key_that_is_not_there(s3, call):
    error = told(call, f"{FAR}/nothing/x")
    assert isinstance(error, FileNotFoundError)
    assert "there is no such file (bucket 'bucket')" in str(error)


@pytest.fixture
def newly_asked():
    """Nothing is known of servers before and after the test."""
    s3fs.S3FileSystem.clear_instance_cache()
    yield
    s3fs.S3FileSystem.clear_instance_cache()


def test_wrong_credentials():
    """Of a server that lets nobody do anything, once its bucket is made."""
    with s3_server(INITIAL_NO_AUTH_ACTION_COUNT="1"):
        for call in (*READERS, *WRITERS, remote.file_exists):
            error = told(call, f"{FAR}/x")
            assert isinstance(error, PermissionError)
            assert "look at the credentials" in str(error)


@pytest.mark.parametrize("call", [READERS[0], WRITERS[0]])
def test_no_credentials(s3, newly_asked, monkeypatch, call):
    for name in KEYS:
        monkeypatch.delenv(name)
    error = told(call, f"{FAR}/x")
    assert isinstance(error, PermissionError)
    assert "Unable to locate credentials" in str(error)


@pytest.mark.parametrize("call", [READERS[0], WRITERS[0]])
def test_no_server(s3, newly_asked, monkeypatch, call):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    error = told(call, f"{FAR}/x")
    assert isinstance(error, ConnectionError)
    assert "the server cannot be reached: Could not connect" in str(error)
    assert f"http://127.0.0.1:{port}" in str(error)


ALONE = """
import sys
sys.modules["s3fs"] = None
from hybridnet import nd
nd.load("s3://bucket/x")
"""


def test_a_missing_package_is_named(program):
    said = program("-c", ALONE).communicate(timeout=100)[1].splitlines()[-1]
    assert said.startswith(
        "ModuleNotFoundError: s3://bucket/x: files at s3:// need one more package "
        "(pip install 'hybridnet[remote]')"
    )


def test_what_another_process_wrote_is_seen(s3):
    nd.save(f"{FAR}/seen/a", [nd.ones(1)])
    assert remote.listed_files(f"{FAR}/seen") == [f"{FAR}/seen/a"]
    s3.client.put_object(Bucket=BUCKET, Key="seen/b", Body=b"b")
    assert remote.file_exists(f"{FAR}/seen/b")
    assert remote.listed_files(f"{FAR}/seen") == [f"{FAR}/seen/a", f"{FAR}/seen/b"]
    s3.client.delete_object(Bucket=BUCKET, Key="seen/b")
    assert not remote.file_exists(f"{FAR}/seen/b")
