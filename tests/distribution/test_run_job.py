"""Jobs of real processes on this machine: ends, restarts, statuses, Ctrl-C, and who is left."""

import os
import signal
import subprocess
import sys
import textwrap
from dataclasses import replace

import pytest
from processes import gone

from hybridnet.kvstore import KVStoreError
from hybridnet.kvstore.cluster import Cluster
from hybridnet.kvstore.run_token import RunToken
from hybridnet.kvstore.supervise import Job, Supervisor, deadlines, run_job
from hybridnet.kvstore.supervise.local import start_process

#: What stands for a server and the scheduler here: it waits to be asked to end.
SERVE = "trap 'exit 0' TERM; while :; do sleep 0.05; done"


class Shell(Supervisor):
    """Starts shells: the workers' command, and `SERVE` for the others."""

    def __init__(self, **commands):
        self.commands = {"server": SERVE, "scheduler": SERVE, **commands}
        self.handles = []

    def start(self, plan):
        command = self.commands.get(plan.title) or self.commands[plan.role]
        command = ["sh", "-c", command]
        self.handles.append(start_process(plan.title, command, plan.environment))
        return self.handles[-1]


def run(tmp_path, workers=2, restarts=3, deadline=0.2, **commands):
    """Runs a job; returns its status, the lines told, the ends reported, and the supervisor."""
    cluster = Cluster(
        port=1, workers=workers, token=RunToken.new(), folder=tmp_path, deadline=deadline
    )
    shell, lines, reports = Shell(**commands), [], []
    code = run_job(
        Job(("unused",), cluster),
        shell,
        restarts=restarts,
        tell=lines.append,
        report=lambda ended, returns: reports.append((ended.plan.title, ended.code, returns)),
    )
    assert all(ends(handle.pid) for handle in shell.handles)
    return code, lines, reports, shell


def ends(pid):
    """Whether a process has ended, or does within seconds (it may be a zombie then)."""
    try:
        return gone([os.pidfd_open(pid)])
    except ProcessLookupError:
        return True


def test_a_job_that_ends_well(tmp_path):
    code, lines, reports, shell = run(
        tmp_path, worker=f"echo $HYBRIDNET_DIST_RANK >{tmp_path}/$HYBRIDNET_DIST_RANK"
    )
    assert (code, reports, len(shell.handles)) == (0, [], 4)
    assert [(tmp_path / str(rank)).read_text() for rank in range(2)] == ["0\n", "1\n"]
    assert lines == [
        "2 workers, 1 server, scheduler at 127.0.0.1:1; each started again up to 3 times",
        "ended with status 0",
    ]


def test_a_killed_worker_is_started_again_and_knows_it(tmp_path):
    script = f"""
        echo $DMLC_NUM_ATTEMPT >>{tmp_path}/attempts
        test $DMLC_NUM_ATTEMPT = 2 || kill -9 $$
    """
    code, _, reports, _ = run(tmp_path, workers=1, worker=script)
    assert code == 0 and (tmp_path / "attempts").read_text() == "0\n1\n2\n"
    assert reports == [("worker 0", -9, True)] * 2


@pytest.mark.slow
def test_a_worker_that_fails_ends_the_job_with_its_status(tmp_path, monkeypatch):
    monkeypatch.setattr(deadlines, "GRACE", 0.2)
    code, lines, reports, _ = run(
        tmp_path, **{"worker 0": "exit 7", "worker 1": "trap '' TERM; exec sleep 600"}
    )
    assert code == 7 and reports[0] == ("worker 0", 7, False)
    assert "worker 0 failed with status 7 and is not started again" in lines
    assert "worker 1 does not end; killed" in lines


def test_without_restarts(tmp_path):
    code, lines, reports, _ = run(tmp_path, workers=1, restarts=0, worker="kill -9 $$")
    assert (code, reports) == (137, [("worker 0", -9, False)])
    assert lines[0].endswith("none started again")


def test_what_a_process_leaves_behind_ends_with_it(tmp_path):
    script = f"sleep 600 & echo $! >{tmp_path}/child"
    code, *_ = run(tmp_path, workers=1, worker=script)
    assert code == 0 and ends(int((tmp_path / "child").read_text()))


def test_a_command_that_is_not_there(tmp_path):
    with pytest.raises(KVStoreError, match="worker 0 cannot be started: no-such-program: No such"):
        start_process("worker 0", ["no-such-program"], {})


def test_the_folder_of_a_run_is_there_while_it_runs_and_those_of_the_dead_are_removed():
    token = RunToken.new()
    cluster = Cluster(port=1, token=token, deadline=0.2)
    folder = cluster.state_folder
    orphan = replace(cluster, token=RunToken.new()).state_folder
    orphan.mkdir()
    child = subprocess.Popen(["true"])
    child.wait()
    (orphan / "supervisor").write_text(str(child.pid))
    shell = Shell(worker=f"test -d {folder} && test ! -e {orphan}")
    assert run_job(Job(("unused",), cluster), shell, tell=lambda line: None) == 0
    assert not folder.exists() and not orphan.exists()


def test_runs_that_are_given_one_folder_have_folders_of_their_own_in_it(tmp_path):
    for _ in range(2):  # the second one finds nothing of the first
        cluster = Cluster(port=1, token=RunToken.new(), deadline=0.2, folder=tmp_path)
        shell = Shell(worker=f"test -d {cluster.state_folder} && test $(ls {tmp_path} | wc -l) = 1")
        assert run_job(Job(("unused",), cluster), shell, tell=lambda line: None) == 0
    assert not list(tmp_path.iterdir())


SUPERVISE = """
    import sys
    from hybridnet.kvstore.cluster import Cluster
    from hybridnet.kvstore.run_token import RunToken
    from hybridnet.kvstore.supervise import Job, Supervisor, run_job
    from hybridnet.kvstore.supervise.local import start_process

    class Shell(Supervisor):
        def start(self, plan):
            handle = start_process(plan.title, ["sleep", "600"], plan.environment)
            print(handle.pid, flush=True)
            return handle

    cluster = Cluster(port=1, workers=1, token=RunToken.new(), deadline=0.2)
    print(cluster.state_folder, flush=True)
    sys.exit(run_job(Job(("unused",), cluster), Shell(), tell=lambda line: None))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_all_are_gone_however_the_supervisor_ends(number):
    """By Ctrl-C and SIGTERM in order; by kill -9 the kernel ends the processes."""
    supervisor = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(SUPERVISE)], stdout=subprocess.PIPE, text=True
    )
    folder = supervisor.stdout.readline().strip()
    children = [int(supervisor.stdout.readline()) for _ in range(3)]
    assert os.path.isdir(folder)
    supervisor.send_signal(number)
    assert supervisor.wait(200) == (-9 if number == signal.SIGKILL else 128 + number)
    assert all(map(ends, children))
    supervisor.stdout.close()
    assert os.path.isdir(folder) == (number == signal.SIGKILL)
    if number == signal.SIGKILL:  # the next run removes it; here nobody is to wait for that
        os.remove(os.path.join(folder, "supervisor"))
        os.rmdir(folder)
