"""Helper processes import nothing from the folder that the user happens to be in.

A script elsewhere is run in a folder where somebody has left modules with the names of others. Each
of them says that it was run, in a file, and then fails whatever imports it.
"""

import os
import subprocess
import sys
import textwrap

import pytest
from gangs import free_port

from hybridnet.kvstore.supervise.hosts import Host
from hybridnet.kvstore.supervise.job import serving_command
from hybridnet.kvstore.supervise.ssh import ssh_command
from hybridnet.kvstore.supervise.tether import line
from hybridnet.native import onednn_library

PLANTED = ("argparse", "ctypes", "json", "logging", "numpy", "socket", "struct", "zmq")
CODE = """
    with open({trap!r}, "a") as trap:
        trap.write(f"{{__name__}}\\n")
    raise SystemExit("planted: " + __name__)
"""
#: A user's module for servers, which says where it was found.
OPTIMIZER = """
    from hybridnet.kvstore.storage.updates import Assign, register_updates
    register_updates("my_kind", Assign)
    print("a server imports", __file__, flush=True)
"""


@pytest.fixture
def here(tmp_path):
    """The folder with what was planted."""
    folder = tmp_path / "here"
    folder.mkdir()
    for name in PLANTED:
        text = CODE.format(trap=str(tmp_path / "trap"))
        (folder / f"{name}.py").write_text(textwrap.dedent(text))
    yield folder
    trap = tmp_path / "trap"
    assert not trap.exists(), f"run from the present folder: {trap.read_text()}"


def run(command, folder, **environ):
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=120,
        env={**os.environ, "HYBRIDNET_CACHE_DIR": "off", **environ},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def script(tmp_path, text):
    """A script in a folder of its own."""
    path = tmp_path / "scripts" / "train.py"
    path.parent.mkdir(exist_ok=True)
    path.write_text(textwrap.dedent(text))
    return str(path)


def test_the_trap_would_be_seen(tmp_path):
    (tmp_path / "json.py").write_text(textwrap.dedent(CODE.format(trap=str(tmp_path / "trap"))))
    subprocess.run([sys.executable, "-c", "import json"], cwd=tmp_path, capture_output=True)
    assert (tmp_path / "trap").read_text() == "json\n"


def test_servers_and_scheduler_of_a_job(here, tmp_path):
    pytest.importorskip("zmq")
    train = """
        import numpy as np, hybridnet as hn
        kv = hn.kv.create("dist_sync")
        kv.set_optimizer(hn.optimizer.SGD(learning_rate=1.0, rescale_grad=1.0))
        kv.init("w", hn.nd.ones((2,)))
        kv.push("w", hn.nd.ones((2,)))
        out = hn.nd.zeros((2,))
        kv.pull("w", out=out)
        print("weights", out.asnumpy().tolist())
    """
    launch = [sys.executable, "-P", "-m", "hybridnet", "launch", "-n", "1", "-s", "1"]
    out = run([*launch, sys.executable, script(tmp_path, train)], here)
    assert "weights [0.0, 0.0]" in out


def test_a_users_module_is_found_last_in_the_folder(here, tmp_path):
    pytest.importorskip("zmq")
    (here / "my_kind.py").write_text(textwrap.dedent(OPTIMIZER))
    train = """
        import json
        from hybridnet.kvstore.cluster import Cluster
        from hybridnet.kvstore.drivers.remote_store import RemoteStore
        import numpy as np
        store = RemoteStore(Cluster.from_environment())
        store.configure("my_kind", {})
        value = np.zeros(2, np.float32)
        store.init("w", value)
        store.push("w", np.ones(2, np.float32))
        store.pull("w", value)
        store.close()
        print("value", value.tolist())
    """
    switches = ["-n", "1", "-s", "1", "--import", "my_kind"]
    launch = [sys.executable, "-P", "-m", "hybridnet", "launch", *switches]
    out = run([*launch, sys.executable, script(tmp_path, train)], here)
    assert f"a server imports {here / 'my_kind.py'}" in out
    assert "value [1.0, 1.0]" in out


@pytest.mark.slow
def test_a_script_that_becomes_a_server(here, tmp_path):
    pytest.importorskip("zmq")
    assert "-P" in serving_command()
    environ = {
        "DMLC_ROLE": "scheduler", "DMLC_PS_ROOT_URI": "127.0.0.1", "DMLC_NUM_WORKER": "1",
        "DMLC_PS_ROOT_PORT": str(free_port()), "DMLC_NUM_SERVER": "1",
    }  # fmt: skip
    command = [sys.executable, script(tmp_path, "import hybridnet")]
    scheduler = subprocess.Popen(command, cwd=here, env={**os.environ, **environ})
    rest = {**os.environ, **environ, "DMLC_SERVER_ID": "0", "DMLC_WORKER_ID": "0"}
    server = subprocess.Popen(command, cwd=here, env={**rest, "DMLC_ROLE": "server"})
    try:
        train = """
            import hybridnet as hn
            kv = hn.kv.create("dist_sync")
            print(kv.num_workers)
        """
        out = run(
            [sys.executable, script(tmp_path, train)], here, **{**rest, "DMLC_ROLE": "worker"}
        )
        assert out.split() == ["1"]
        assert [scheduler.wait(200), server.wait(200)] == [0, 0]
    finally:
        for one in (scheduler, server):
            one.kill()
            one.wait()


def test_workers_of_a_data_loader(here, tmp_path):
    text = """
        import numpy as np, hybridnet as hn
        from hybridnet.gluon.data import ArrayDataset, DataLoader
        data = ArrayDataset(np.arange(4, dtype=np.float32))
        with_workers = DataLoader(data, 2, num_workers=1, thread_pool=False)
        print([batch.asnumpy().tolist() for batch in with_workers])
    """
    assert run([sys.executable, script(tmp_path, text)], here) == "[[0.0, 1.0], [2.0, 3.0]]\n"


@pytest.mark.slow
def test_the_relay_of_a_gang(here, tmp_path):
    text = """
        import numpy as np, hybridnet as hn
        hn.distributed.initialize()
        print(float(hn.distributed.all_reduce(hn.nd.ones((1,)))))
    """
    launch = [sys.executable, "-P", "-m", "hybridnet", "launch", "-n", "2", "-s", "0"]
    out = run([*launch, sys.executable, script(tmp_path, text)], here)
    assert out.count("2.0\n") == 2


def test_the_other_end_of_ssh(here):
    """What ssh has the other machine's shell run, in the folder that it would be."""
    remote = ssh_command(Host("there"), sys.executable)[-1]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(["sh", "-c", remote], cwd=here, **pipes) as tether:
        tether.stdin.write(line([sys.executable, "-P", "-c", "print('ran')"], {}, None))
        tether.stdin.flush()  # it stays open: its end would end the command
        assert tether.stdout.read() == "ran\n"
        assert tether.wait(60) == 0


@pytest.mark.skipif(onednn_library.find() is None, reason="oneDNN is not installed")
def test_who_compiles_the_native_library(here, tmp_path):
    """The compiler is one that notes that it was called: the helper process has come so far."""
    compiler = tmp_path / "compiler"
    compiler.write_text(f"#!/bin/sh\necho called > {tmp_path / 'called'}\nexit 1\n")
    compiler.chmod(0o755)
    text = "from hybridnet.native import onednn; onednn.build()"
    run(
        [sys.executable, script(tmp_path, text)], here,
        CXX=str(compiler), HYBRIDNET_CACHE_DIR=str(tmp_path / "cache"), HYBRIDNET_ONEDNN="1",
    )  # fmt: skip
    assert (tmp_path / "called").exists()


def test_what_runs_a_script_says_where_it_looks(here, tmp_path):
    """The users' own scripts keep Python's way: the folder of the script comes first."""
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "mine.py").write_text("print('mine')")
    assert run([sys.executable, script(tmp_path, "import mine")], here) == "mine\n"
