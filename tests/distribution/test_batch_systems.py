"""`hybridnet launch` by SLURM, Open MPI and ssh themselves, on this machine."""

import json
import os
import shutil
import signal
import subprocess
import sys

import pytest
from gangs import free_port
from launched import launch, popen, script
from processes import children, gone, watched
from slurm_cluster import slurm_cluster, why_no_slurm

pytestmark = pytest.mark.slow

TRAIN = """
    store = hn.kv.create("dist_sync")
    store.init("a", hn.nd.zeros((2,)))
    store.push("a", hn.nd.ones((2,)))
    out = hn.nd.zeros((2,))
    store.pull("a", out=out)
    say(store.rank, out.asnumpy().tolist())
"""
#: Rank 1 dies.
DIES = """
    store = hn.kv.create("dist_sync")
    store.init("a", hn.nd.zeros((2,)))
    if store.rank == 1:
        os.kill(os.getpid(), 9)
    store.push("a", hn.nd.ones((2,)))
    out = hn.nd.zeros((2,))
    store.pull("a", out=out)
    out.asnumpy()
"""
#: Says which process it is, and stays.
STAYS = """
    store = hn.kv.create("dist_sync")
    store.init("a", hn.nd.zeros((2,)))
    say(os.getpid())
    __import__("signal").pause()
"""
ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
AGAIN = "none started again but the scheduler"
RUN = ("-n", 2, "-s", 1, "--launcher")


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    """Four processors."""
    why = why_no_slurm()
    if why:
        pytest.skip(why)
    with slurm_cluster(tmp_path_factory.mktemp("slurm"), 4) as environ:
        yield environ


@pytest.fixture
def mpi():
    if shutil.which("mpirun") is None:
        pytest.skip("needs Open MPI: apt-get install openmpi-bin")
    told = subprocess.run(["mpirun", "--version"], capture_output=True, text=True).stdout
    if "Open MPI" not in told:
        pytest.skip(f"needs Open MPI's mpirun, got {told[:40]!r}")
    return {**ROOT, "OMPI_MCA_rmaps_base_oversubscribe": "1"}


def queue(environ):
    """The jobs that wait or run; one that has been given back may take a moment to be cleared."""
    return subprocess.run(
        ["squeue", "--noheader", "--states=PENDING,RUNNING"],
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
    ).stdout


def both(out):
    """Whether both ranks have said what they have; lines may be in one another."""
    return "".join(out).count("[2.0, 2.0]") == 2


# -- SLURM ---------------------------------------------------------------------------------------


def test_slurm_gives_all_roles_one_job(slurm, tmp_path):
    code, out, error = launch(script(tmp_path, TRAIN), *RUN, "slurm", environ=slurm)
    assert code == 0 and both(out), error
    assert AGAIN in error and queue(slurm) == ""


def test_slurm_in_a_job_that_is_there(slurm, tmp_path):
    job = [sys.executable, "-m", "hybridnet", "launch", *map(str, RUN), "slurm"]
    done = subprocess.run(
        ["salloc", "--quiet", "-n", "3", *job, sys.executable, script(tmp_path, TRAIN)],
        env={**os.environ, **slurm, "HYBRIDNET_CACHE_DIR": "off"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and both(done.stdout), done.stderr


def test_slurm_has_no_room(slurm, tmp_path):
    """Of its four processors three are taken, and then more are asked for than it has."""
    environ = {**slurm, "HYBRIDNET_DIST_CONNECT": "3"}
    taken = subprocess.Popen(
        ["salloc", "--quiet", "-n", "3", "sh", "-c", "echo; cat"],
        env={**os.environ, **slurm},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with taken:
        taken.stdout.readline()
        code, out, error = launch(script(tmp_path, TRAIN), *RUN, "slurm", environ=environ)
    assert (code, out) == (2, [])
    waits, refused = error.splitlines()
    what = "3 tasks (2 workers, 1 server)"
    assert f"waits up to 3 s for SLURM to give {what}: job " in waits
    assert f"SLURM has not given {what} within 3 s (HYBRIDNET_DIST_CONNECT): job " in refused
    assert "is PENDING: " in refused and "salloc -n 3 hybridnet launch" in refused
    assert queue(slurm) == ""


def test_a_worker_of_slurm_dies(slurm, tmp_path):
    code, _, error = launch(
        script(tmp_path, DIES), *RUN, "slurm", environ={**slurm, "HYBRIDNET_DIST_DEADLINE": "2"}
    )
    assert code == 137, error  # as srun ends
    assert "LostPeerError: worker 1" in error and queue(slurm) == ""


# -- MPI -----------------------------------------------------------------------------------------


def test_mpi(mpi, tmp_path):
    code, out, error = launch(script(tmp_path, TRAIN), *RUN, "mpi", environ=mpi)
    assert code == 0 and both(out), error
    assert AGAIN in error


def test_mpi_ends_all_workers_when_one_dies(mpi, tmp_path):
    code, _, error = launch(script(tmp_path, DIES), *RUN, "mpi", environ=mpi)
    assert code == 137
    assert "workers 0 to 1 was killed by signal 9 (SIGKILL) and is not started again" in error


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="is root")
def test_mpi_as_root(mpi, tmp_path):
    none = dict.fromkeys(ROOT, "")
    code, _, error = launch(script(tmp_path, TRAIN), *RUN, "mpi", environ={**mpi, **none})
    assert code == 2 and error.count("\n") == 1
    assert "mpirun refuses to run as root" in error and "OMPI_ALLOW_RUN_AS_ROOT=1" in error


def test_mpi_has_too_few_slots(mpi, tmp_path):
    (tmp_path / "hosts").write_text("localhost slots=1\n")
    environ = {**mpi, "OMPI_MCA_rmaps_base_oversubscribe": "0"}
    code, _, error = launch(script(tmp_path, TRAIN), *RUN, "mpi", "-H", "hosts", environ=environ)
    assert code == 2 and error.count("\n") == 1
    assert "mpirun has fewer than the 2 slots" in error and "HOST slots=2" in error


@pytest.mark.parametrize("launcher", ["mpi", "slurm"])
def test_no_process_outlives_a_launcher_that_is_killed(launcher, request, tmp_path):
    environ = request.getfixturevalue(launcher)
    running = popen(script(tmp_path, STAYS), *RUN, launcher, environ=environ)
    lines = (line.strip() for line in running.stdout)
    processes = [int(next(line for line in lines if line.isdecimal())) for _ in range(2)]
    watches = watched([*processes, *children(running.pid)])
    running.send_signal(signal.SIGKILL)
    assert gone(watches)
    running.wait()
    running.stdout.close()
    running.stderr.close()


# -- ssh -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sshd(tmp_path_factory):
    """A server on a port and with keys of its own; yields a folder with an ssh that knows it."""
    server = shutil.which("sshd", path="/usr/sbin:/sbin:/usr/bin")
    if server is None or shutil.which("ssh") is None:
        pytest.skip("needs ssh and its server: apt-get install openssh-server")
    folder, port = tmp_path_factory.mktemp("ssh"), free_port()
    for name in ("host", "user"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True
        )
    shutil.copy(folder / "user.pub", folder / "authorized")
    (folder / "known").write_text(f"[127.0.0.1]:{port} {(folder / 'host.pub').read_text()}")
    settings = {
        "HostKey": folder / "host",
        "AuthorizedKeysFile": folder / "authorized",
        "PidFile": "none",
        "StrictModes": "no",
        "UsePAM": "no",
        "ListenAddress": f"127.0.0.1:{port}",
    }
    options = [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]
    if os.geteuid() == 0:
        os.makedirs("/run/sshd", exist_ok=True)
    process = subprocess.Popen(
        [server, "-D", "-e", "-f", "/dev/null", *options],
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
    )
    for line in process.stderr:
        if "Server listening" in line:
            break
    bin_folder = folder / "bin"
    bin_folder.mkdir()
    ssh = bin_folder / "ssh"
    keys = f"-F /dev/null -i {folder}/user -o UserKnownHostsFile={folder}/known"
    ssh.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} {keys} "$@"\n')
    ssh.chmod(0o755)
    yield {"PATH": f"{bin_folder}:{os.environ['PATH']}"}, port
    process.terminate()
    process.wait()
    process.stderr.close()


def test_ssh_starts_a_killed_worker_again(sshd, tmp_path):
    environ, port = sshd
    (tmp_path / "hosts").write_text(f"127.0.0.1:{port}\n")
    once = """
        if os.environ["DMLC_NUM_ATTEMPT"] == "0" and os.environ["HYBRIDNET_DIST_RANK"] == "1":
            os.kill(os.getpid(), 9)
    """
    code, out, error = launch(
        script(tmp_path, once.replace("\n    ", "\n") + TRAIN),
        *("-n", 2, "-s", 1, "-H", "hosts", "--python", sys.executable),
        environ=environ,
    )
    assert code == 0 and both(out), error
    assert "worker 1 was killed by signal 9 (SIGKILL); started again, generation 1" in error


def test_ssh_to_nobody(sshd, tmp_path):
    environ, _ = sshd
    (tmp_path / "hosts").write_text(f"127.0.0.1:{free_port()}\n")
    code, _, error = launch(
        script(tmp_path, TRAIN), "-n", 1, "-s", 1, "-H", "hosts", environ=environ
    )
    assert code == 255 and "Connection refused" in error, json.dumps(error)
