"""`hybridnet launch`: the switches, what processes are told, and the commands of clusters."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hybridnet.base.errors import ParameterError
from hybridnet.cli.launch import job_of
from hybridnet.cli.main import _parser, main
from hybridnet.kvstore import KVStoreError
from hybridnet.kvstore.cluster import Cluster
from hybridnet.kvstore.supervise.hosts import Host, place, read_hosts
from hybridnet.kvstore.supervise.mpi import grouped, mpi_command
from hybridnet.kvstore.supervise.sge import sge_command, sge_script
from hybridnet.kvstore.supervise.slurm import slurm_command
from hybridnet.kvstore.supervise.ssh import copy_command, ssh_command
from hybridnet.kvstore.supervise.tether import line, untranslated

TOKEN = "7c" * 32


def job(*arguments, **environ):
    options = _parser().parse_args(["launch", *arguments])
    return job_of(options, {"HYBRIDNET_DIST_TOKEN": TOKEN, **environ})


def test_who_is_started_and_what_they_are_told():
    made = job("-n", "2", "-s", "1", "--env-server", "A:1", "--env-worker", "B=2", "python", "x.py")
    plans = made.plans()
    assert [plan.title for plan in plans] == ["the scheduler", "server 0", "worker 0", "worker 1"]
    scheduler, server, _, worker = plans
    assert worker.command == ("python", "x.py")
    serve = (sys.executable, "-P", "-m", "hybridnet.kvstore.serve", "--import")
    assert server.command == scheduler.command == (*serve, "hybridnet.kv.server_updates")
    port = worker.environment["DMLC_PS_ROOT_PORT"]
    assert worker.environment == {
        "B": "2",
        "DMLC_ROLE": "worker",
        "DMLC_PS_ROOT_URI": "127.0.0.1",
        "DMLC_PS_ROOT_PORT": port,
        "DMLC_NUM_WORKER": "2",
        "DMLC_NUM_SERVER": "1",
        "DMLC_NUM_ATTEMPT": "0",
        "HYBRIDNET_DIST_RANK": "1",
        "HYBRIDNET_DIST_TOKEN": TOKEN,
    }
    assert server.environment["A"] == "1" and "B" not in server.environment
    assert server.environment["JAX_PLATFORMS"] == "cpu"
    assert "JAX_PLATFORMS" not in worker.environment
    assert int(port) > 0


def test_a_script_that_the_system_does_not_run_is_run_by_python(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "small.py"
    script.write_text("#!/bin/sh\n", encoding="utf-8")
    assert job("-n", "1", "small.py", "-x").command == (sys.executable, "small.py", "-x")
    assert job("-n", "1", "./small.py").command == (sys.executable, "./small.py")
    assert job("-n", "1", "other.py").command == ("other.py",)  # there is none: an error says so
    hosts = tmp_path / "hosts"
    hosts.write_text("here\n", encoding="utf-8")
    ssh = ("-n", "1", "-H", str(hosts))
    assert job(*ssh, "small.py", DMLC_PS_ROOT_URI="127.0.0.1").command == ("python3", "small.py")
    python = ("--python", "/opt/python")
    assert job(*ssh, *python, "small.py", DMLC_PS_ROOT_URI="127.0.0.1").command[0] == "/opt/python"
    script.chmod(0o700)
    assert job("-n", "1", "./small.py").command == ("./small.py",)


def test_a_single_server_has_its_standby_in_a_second_one():
    made = job("-n", "1", "-s", "1", "--standby", "python", "x.py")
    assert [plan.title for plan in made.plans()][1:3] == ["server 0", "server 1"]
    second = made.plans()[2].environment
    assert second["DMLC_NUM_SERVER"] == "1"  # which is into how many shares keys are divided
    assert Cluster.from_environment(second).rank == 1
    assert [plan.count for plan in grouped(made)] == [1, 2, 1]


def test_defaults_and_settings_of_the_environment():
    made = job("-n", "3", "--p3", "--import", "own", "x", MXNET_KVSTORE_BIGARRAY_BOUND="10")
    assert (made.cluster.servers, made.cluster.p3, made.cluster.imports) == (3, True, ("own",))
    environment = made.plan("server", 2).environment
    assert environment["DMLC_PS_VAN_TYPE"] == "p3"
    assert environment["MXNET_KVSTORE_BIGARRAY_BOUND"] == "10"
    assert made.plan("server", 0).command[-3:-1] == ("own", "--import")
    other = job("-n", "1", "x", DMLC_WORKER_ID="7", HYBRIDNET_DIST_RANK="5", DMLC_NUM_ATTEMPT="2")
    assert (other.cluster.rank, other.cluster.generation) == (None, 0)
    assert job("-n", "1", "python x.py --lr 1").command == ("python", "x.py", "--lr", "1")
    assert job("-n", "1", "--", "x", "--env", "y").command == ("x", "--env", "y")
    # Every run has a secret of its own.
    options = _parser().parse_args(["launch", "-n", "1", "x"])
    first, second = (job_of(options, {}).cluster.token for _ in range(2))
    assert first is not None and first != second


@pytest.mark.parametrize(
    "arguments, message",
    [
        ([], "needs the command"),
        (["--launcher", "ssh", "x"], "--launcher ssh needs --hostfile"),
        (["--launcher", "ray", "-H", "hosts", "x"], "--launcher ray takes no --hostfile"),
        (["--sync-dst-dir", "/x", "x"], "are for --launcher ssh"),
        (["--cpus", "2", "x"], "--cpus and --gpus are for --launcher ray, got local"),
        (["-s", "0", "--launcher", "mpi", "x"], "-s 0 is for --launcher local, ssh and ray"),
        (["--env", "A-B=1", "x"], "--env must be NAME or NAME=VALUE, got 'A-B=1'"),
        (["--env-worker", "NOWHERE", "x"], "--env-worker NOWHERE: there is no such variable"),
    ],
)
def test_what_cannot_be(arguments, message):
    with pytest.raises(ParameterError, match=message):
        job("-n", "1", *arguments)


def test_errors_are_one_line(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))  # wherever SLURM is installed
    assert main(["launch", "-n", "1", "--launcher", "slurm", "x"]) == 2
    error = capsys.readouterr().err
    assert "requires the command srun" in error and error.count("\n") == 1
    with pytest.raises(SystemExit):
        main(["launch", "-n", "0", "x"])
    assert "must be at least 1" in capsys.readouterr().err


# -- other machines ------------------------------------------------------------------------------


def test_host_files(tmp_path):
    path = tmp_path / "hosts"
    path.write_text("# mine\nnode1\nme@node2:2222 slots=4\n\n10.0.0.3  # third\n")
    hosts = read_hosts(path)
    assert hosts == [Host("node1"), Host("me@node2", 2222), Host("10.0.0.3")]
    made = job("-n", "2", "-s", "1", "x", DMLC_PS_ROOT_URI="127.0.0.1")
    placed = {plan.title: plan.host for plan in place(made.plans(), hosts[:2])}
    assert placed == {
        "the scheduler": None,
        "server 0": "node1",
        "worker 0": "node1",
        "worker 1": "me@node2",
    }
    path.write_text("-oProxyCommand=evil\n")
    with pytest.raises(KVStoreError, match="must be host, host:port or user@host"):
        read_hosts(path)
    path.write_text("#\n")
    with pytest.raises(KVStoreError, match="must name a host a line"):
        read_hosts(path)


def test_no_command_line_holds_the_secret():
    made = job("-n", "2", "-s", "2", "python", "x.py")
    server, worker = grouped(made)[1:]
    commands = [
        ssh_command(Host("node1", 2222), "python3"),
        mpi_command(server, "hosts", True),
        mpi_command(worker, None, False),
        slurm_command(worker, ["n1", "n2"]),
        sge_command(Path("job.sh")),
    ]
    assert all(TOKEN not in word for command in commands for word in command)
    assert TOKEN not in sge_script(worker, Path("/home/me/token"))
    assert TOKEN not in repr(worker)


def test_ssh_and_rsync():
    command = ssh_command(Host("me@node1", 2222), "/opt/python")
    assert command[0] == "ssh" and command[-4:] == [
        *("-p", "2222", "me@node1"),
        "/opt/python -P -m hybridnet.kvstore.supervise",
    ]
    copy = copy_command(Host("node1"), "/home/me/run", "/tmp/run")
    assert copy[0] == "rsync" and copy[-2:] == ["/home/me/run/", "node1:/tmp/run"]


def test_mpirun():
    worker = grouped(job("-n", "3", "-s", "2", "python", "x.py"))[2]
    assert worker.title == "workers 0 to 2" and "HYBRIDNET_DIST_RANK" not in worker.environment
    command = mpi_command(worker, "hosts", True)
    assert command[:5] == ["mpirun", "-n", "3", "--hostfile", "hosts"]
    assert command[command.index("DMLC_ROLE") - 1] == "-x"
    assert command[-2:] == ["python", "x.py"]
    mpich = mpi_command(worker, "hosts", False)
    assert mpich[3:6] == ["-f", "hosts", "-envlist"] and "DMLC_ROLE" in mpich[6].split(",")
    # Each process takes its rank from MPI's own number.
    script = "import os; print(os.environ['HYBRIDNET_DIST_RANK'])"
    ranked = [*command[command.index("sh") : -2], sys.executable, "-c", script]
    for name in ("OMPI_COMM_WORLD_RANK", "PMI_RANK"):
        told = subprocess.run(ranked, env={**os.environ, name: "4"}, capture_output=True, text=True)
        assert told.stdout == "4\n", told.stderr


def test_srun():
    command = slurm_command(grouped(job("-n", "3", "x"))[2], ["n1", "n2"])
    assert command[:3] == ["srun", "--ntasks=3", "--export=ALL"]
    assert "--nodelist=n1,n2" in command and command[-1] == "x"


def test_qsub(tmp_path):
    worker = grouped(job("-n", "3", "-s", "2", "sh", "-c", "echo $HYBRIDNET_DIST_RANK"))[2]
    script = tmp_path / "job.sh"
    script.write_text(sge_script(worker, tmp_path / "token"))
    assert "#$ -S /bin/sh -cwd -sync y -t 1-3 -N hybridnet_worker\n" in script.read_text()
    told = subprocess.run(
        ["sh", script], env={**os.environ, "SGE_TASK_ID": "3"}, capture_output=True, text=True
    )
    assert told.stdout == "2\n", told.stderr


def tether(text):
    """Starts one, and gives it its line."""
    made = subprocess.Popen(
        [sys.executable, "-P", "-m", "hybridnet.kvstore.supervise"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    made.stdin.write(text)
    made.stdin.flush()
    return made


def ended(made):
    """Waits for its end, while the connection lasts; returns what it printed, and its status."""
    found = made.stdout.read(), made.stderr.read(), untranslated(made.wait(200))
    for stream in (made.stdin, made.stdout, made.stderr):
        stream.close()
    return found


def test_a_tether_runs_a_command(tmp_path):
    shell = ["sh", "-c", 'echo "$SECRET" "$(pwd)"; exit 3']
    assert ended(tether(line(shell, {"SECRET": "s"}, str(tmp_path)))) == (f"s {tmp_path}\n", "", 3)
    assert ended(tether(line(["sh", "-c", "kill -9 $$"], {}, None))) == ("", "", -9)
    out, error, code = ended(tether("{}\n"))
    assert (out, code) == ("", 127) and "must begin with a line of JSON" in error


def test_a_command_ends_with_its_tether():
    made = tether(line(["sh", "-c", "echo $$; exec sleep 600"], {}, None))
    process = int(made.stdout.readline())
    made.stdin.close()  # the connection breaks
    assert untranslated(made.wait(200)) == -15
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
    made.stdout.close()
    made.stderr.close()


def test_a_line_for_a_tether_is_json():
    text = line(["a", "b\n"], {"C": "d"}, None)
    assert text.endswith("\n") and text.count("\n") == 1
    assert json.loads(text) == {"command": ["a", "b\n"], "env": {"C": "d"}, "folder": None}
