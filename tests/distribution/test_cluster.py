"""What a process is told by its environment: MXNet's names, ours, checks, and the run's secret."""

import os
import stat
import subprocess
import sys
import tempfile
from dataclasses import replace

import pytest

from hybridnet.kvstore import KVStoreError, system
from hybridnet.kvstore.cluster import Cluster, is_loopback
from hybridnet.kvstore.run_token import RunToken

TEXT = "5a" * 32
LEAST = {
    "DMLC_PS_ROOT_URI": "127.0.0.1",
    "DMLC_PS_ROOT_PORT": "9091",
    "DMLC_NUM_WORKER": "4",
    "DMLC_NUM_SERVER": "2",
}


def read(**more):
    return Cluster.from_environment({**LEAST, **more})


@pytest.mark.parametrize("name", ["drivers.remote_store", "serve", "store"])
def test_each_may_be_the_first_that_a_process_imports(name):
    """Workers by hand and servers do not load the front end, which would load them in turn."""
    code = f"import hybridnet.kvstore.{name}, sys; assert 'hybridnet.kv.store' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_the_least_that_there_is():
    made = read()
    assert (made.role, made.rank, made.generation) == ("worker", None, 0)
    assert (made.root, made.port, made.workers, made.servers) == ("127.0.0.1", 9091, 4, 2)
    assert (made.host, made.big_array, made.part_bytes, made.deadline) == (
        "127.0.0.1",
        1_000_000,
        1 << 20,
        10.0,
    )
    assert made.mapped and not (made.p3 or made.encrypt or made.standby)


def test_names_of_mxnet():
    made = read(
        DMLC_ROLE="server",
        DMLC_SERVER_ID="1",
        DMLC_NUM_ATTEMPT="3",
        DMLC_PS_VAN_TYPE="p3",
        DMLC_PS_WATER_MARK="5",
        MXNET_KVSTORE_BIGARRAY_BOUND="1000",
        MXNET_KVSTORE_SLICE_THRESHOLD="77",
    )
    assert (made.role, made.rank, made.generation) == ("server", 1, 3)
    assert made.p3 and (made.window, made.big_array, made.slice_elements) == (5, 1000, 77)


def test_what_is_written_is_read_again():
    made = replace(
        read(DMLC_ROLE="worker"),
        rank=2,
        generation=1,
        p3=True,
        staleness=0,
        mapped=False,
        on_loss="shrink",
        imports=("a.b", "c"),
        deadline=2.5,
        encrypt=True,
    )
    assert Cluster.from_environment(made.environment()) == made


@pytest.mark.parametrize(
    "name, text, message",
    [
        ("DMLC_ROLE", "boss", "DMLC_ROLE must be one of worker, server, scheduler, got 'boss'"),
        ("DMLC_NUM_WORKER", "0", "DMLC_NUM_WORKER must be an integer from 1 to 65536, got '0'"),
        ("DMLC_NUM_SERVER", "", "DMLC_NUM_SERVER must be set in every process"),
        ("DMLC_PS_ROOT_PORT", "http", "DMLC_PS_ROOT_PORT must be an integer from 1 to 65535"),
        ("DMLC_WORKER_ID", "4", "DMLC_WORKER_ID must be an integer from 0 to 3, got '4'"),
        ("DMLC_PS_VAN_TYPE", "ibverbs", "DMLC_PS_VAN_TYPE must be one of zmq, p3"),
        ("DMLC_INTERFACE", "none7", "DMLC_INTERFACE must be one of .*lo.*got 'none7'"),
        ("HYBRIDNET_DIST_DEADLINE", "-1", "HYBRIDNET_DIST_DEADLINE must be a number of seconds"),
        ("HYBRIDNET_DIST_ENCRYPT", "yes", "HYBRIDNET_DIST_ENCRYPT must be one of 0, 1"),
        ("HYBRIDNET_DIST_IMPORT", "a;b", "HYBRIDNET_DIST_IMPORT must be modules' names"),
        ("HYBRIDNET_DIST_TOKEN", "abc", "must hold 64 hexadecimal digits, got 3 characters"),
    ],
)
def test_what_is_wrong_is_said_by_its_name(name, text, message):
    with pytest.raises(KVStoreError, match=message):
        read(**{name: text})


def test_without_a_run_it_says_how_to_start_one():
    with pytest.raises(KVStoreError, match="hybridnet launch -n 2 -s 2 python SCRIPT"):
        Cluster.from_environment({})


def test_other_machines_need_a_secret():
    with pytest.raises(KVStoreError, match="requires a secret: set HYBRIDNET_DIST_TOKEN"):
        read(DMLC_PS_ROOT_URI="192.0.2.7", DMLC_NODE_HOST="192.0.2.8")
    made = read(DMLC_PS_ROOT_URI="192.0.2.7", DMLC_NODE_HOST="192.0.2.8", HYBRIDNET_DIST_TOKEN=TEXT)
    assert made.token is not None and made.token.text == TEXT
    assert [is_loopback(one) for one in ("localhost", "127.0.0.9", "::1", "example.org")] == [
        *(True, True, True, False)
    ]


def test_a_file_with_the_secret_is_for_its_owner_only(tmp_path):
    path = tmp_path / "token"
    token = RunToken.new()
    token.write(path)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert read(HYBRIDNET_DIST_TOKEN_FILE=str(path)).token == token
    with pytest.raises(FileExistsError):
        token.write(path)
    path.chmod(0o640)
    with pytest.raises(KVStoreError, match=r"must be readable by its owner only \(mode 0600\)"):
        read(HYBRIDNET_DIST_TOKEN_FILE=str(path))
    with pytest.raises(KVStoreError, match="No such file"):
        read(HYBRIDNET_DIST_TOKEN_FILE=str(tmp_path / "none"))


def test_a_secret_is_printed_nowhere_and_runs_differ():
    token, other = RunToken.new(), RunToken.new()
    assert token.text not in repr(replace(Cluster(), token=token))
    assert token.run != other.run and len(token.run) == 16
    assert token.derive("a") != token.derive("b") and token.derive("a") == token.derive("a")
    assert replace(Cluster(), token=token).state_folder.name == f"hybridnet-{token.run.hex()}"
    assert Cluster(port=1).run != Cluster(port=2).run


def test_values_are_in_memory_or_among_temporary_files(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.setattr(system, "_MEMORY", tmp_path)
    assert Cluster().state_folder.parent == tmp_path
    monkeypatch.setattr(system, "_MEMORY", tmp_path / "none")  # macOS
    assert Cluster().state_folder.parent == tmp_path / "temporary"
    monkeypatch.setattr(system, "_MEMORY", tmp_path)
    monkeypatch.setattr(os, "access", lambda *_: False)  # a container that may only read
    assert Cluster().state_folder.parent == tmp_path / "temporary"


def test_a_file_has_its_room_where_the_system_cannot_reserve_it(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "posix_fallocate")
    monkeypatch.setattr(system, "_PIECE", 1000)
    with open(tmp_path / "values", "wb") as file:
        system.take_room(file.fileno(), 2500)
    assert (tmp_path / "values").read_bytes() == bytes(2500)
