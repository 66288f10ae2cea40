"""`hybridnet launch --launcher ray` with Ray itself, on a cluster of this machine."""

import os
import re

import pytest
from launched import launch, popen, script
from ray_cluster import ray_cluster

from hybridnet.cli.main import main

pytestmark = pytest.mark.slow
pytest.importorskip("ray", reason="needs Ray: pip install 'hybridnet[ray]'")

TRAIN = """
    store = hn.kv.create("dist_sync")
    store.init("a", hn.nd.zeros((2,)))
    for _ in range(store.resumes, 3):
        store.push("a", hn.nd.ones((2,)))
    out = hn.nd.zeros((2,))
    store.pull("a", out=out)
    say(store.rank, *out.asnumpy())
"""
#: What is printed is handed on as it is.
SPEAK = """
    say(os.environ.get("OMP_NUM_THREADS"))
    for _ in range(100):
        print("the same line")
    sys.stdout.write("no end of line")
"""
#: The first processes wait until one of them was killed.
LOST = """
    store = hn.kv.create("dist_sync")
    store.init("a", hn.nd.zeros((2,)))
    if os.environ["DMLC_NUM_ATTEMPT"] == "0":
        sys.stderr.write("ready\\n")
        sys.stderr.flush()
        open("go").close()
    store.push("a", hn.nd.ones((2,)))
    out = hn.nd.zeros((2,))
    store.pull("a", out=out)
    say(store.rank, *out.asnumpy())
"""
GANG = """
    from hybridnet import distributed as dist
    again = os.environ["DMLC_NUM_ATTEMPT"]
    dist.initialize()
    if again == "0" and dist.rank() == 1:
        os.kill(os.getpid(), 9)
    total = dist.all_reduce(hn.nd.array([dist.rank() + 1])).asnumpy()
    say(again, dist.rank(), total, os.environ.get("OMP_NUM_THREADS"))
"""


@pytest.fixture(scope="module")
def cluster():
    """Two processors."""
    with ray_cluster(2) as running:
        yield running


def ray(cluster, path, *switches, **environ):
    """Runs a job on the cluster; returns its status, the lines printed, and those of stderr."""
    environ = {"RAY_ADDRESS": cluster.address, "HYBRIDNET_DIST_CONNECT": "60", **environ}
    code, out, error = launch(path, "--launcher", "ray", *switches, environ=environ)
    return code, out, error.splitlines()


def test_a_run_on_a_cluster(cluster, tmp_path):
    """What is printed comes whole, without Ray's marks, and the threads are those of elsewhere."""
    code, out, error = ray(cluster, script(tmp_path, TRAIN + SPEAK), "-n", 2, "-s", 1)
    assert code == 0, error
    text = "\n".join(out)
    assert text.count("the same line") == 200 and text.count("no end of line") == 2
    assert text.count("0 2.0 2.0") == text.count("1 2.0 2.0") == 1
    assert "None" in text and "pid=" not in text
    assert error[0].endswith("each started again up to 3 times")


def test_a_gang_is_started_again_as_a_whole(cluster, tmp_path):
    code, out, error = ray(cluster, script(tmp_path, GANG), *("-n", 2, "-s", 0, "--cpus", 1))
    assert code == 0, error
    # Gloo prints pieces of lines, between which the other process's may come.
    assert all(text in "\n".join(out) for text in ("1 0 [3.] 1", "1 1 [3.] 1"))
    assert "2 processes; all started again up to 3 times" in error[0]
    assert any(line.endswith("all are started again") for line in error)


def test_too_little_is_free(cluster, tmp_path):
    code, out, error = ray(
        cluster, script(tmp_path, "0"), "-n", 2, "--cpus", 3, HYBRIDNET_DIST_CONNECT="12"
    )
    free = "a worker asks for 3 CPU; free: 2 of 2 CPU, on 1 machine"
    assert code == 2 and not out
    assert error == [
        f"hybridnet launch: waits up to 12 s for room for 2 workers in Ray: {free}",
        "hybridnet launch: --launcher ray: no room for 2 workers in Ray within 12 s "
        f"(HYBRIDNET_DIST_CONNECT): {free}; ask for less (-n, --cpus, --gpus), wait longer, or "
        "add machines",
    ]


def test_an_address_where_nobody_answers(monkeypatch, capsys):
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    monkeypatch.setenv("HYBRIDNET_DIST_CONNECT", "2")
    assert main(["launch", "-n", "1", "-s", "0", "--launcher", "ray", "true"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "no cluster at 127.0.0.1:1: it has not answered" in error


def test_a_command_that_is_not_there(cluster, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("RAY_ADDRESS", cluster.address)
    assert main(["launch", "-n", "1", "-s", "0", "--launcher", "ray", "no-such-program"]) == 4
    assert capsys.readouterr().err.splitlines()[1:] == [
        "hybridnet launch: worker 0 cannot be started: no-such-program: No such file or directory",
        "hybridnet launch: ended with status 4",
    ]


def test_a_machine_without_hybridnet(cluster, tmp_path):
    """The machine's folder of that name raises as one that is not there does."""
    folder = tmp_path / "shadow" / "hybridnet"
    folder.mkdir(parents=True)
    missing = "raise ModuleNotFoundError(\"No module named 'hybridnet'\", name='hybridnet')"
    (folder / "__init__.py").write_text(missing)
    cluster.add(3, PYTHONPATH=str(folder.parent))
    try:
        # Only there is room for it.
        code, _, error = ray(cluster, script(tmp_path, "0"), *("-n", 1, "-s", 0, "--cpus", 3))
    finally:
        cluster.kill()
    assert code == 4
    (line,) = [one for one in error if "cannot be started" in one]
    wanted = r"worker 0 cannot be started: hybridnet is not installed on Ray's machine [\d.]+: "
    assert re.search(wanted + r"pip install 'hybridnet\[ray\]' there", line)


@pytest.mark.parametrize("spare", [False, True])
def test_a_machine_is_lost(cluster, tmp_path, spare):
    """Its worker waits for room, for as long as the limit says, and goes on where there is some."""
    os.mkfifo(tmp_path / "go")
    cluster.add(2)
    added = True
    # Either machine has room for one of them.
    running = popen(
        script(tmp_path, LOST),
        *("-n", 2, "-s", 1, "--launcher", "ray", "--cpus", 2),
        environ={
            "RAY_ADDRESS": cluster.address,
            "HYBRIDNET_DIST_CONNECT": "60" if spare else "9",
        },
    )
    seen = []
    try:
        for line in running.stderr:
            seen.append(line.rstrip("\n"))
            if seen.count("ready") == 2 and added:
                cluster.kill()
                added = False
            if line.startswith("hybridnet launch: worker") and "generation 1" in line:
                open(tmp_path / "go", "w", encoding="utf-8").close()
            if "waits for its place in Ray" in line and spare:
                cluster.add(2)
        out = running.stdout.read()
        code = running.wait(60)
    finally:
        running.kill()
        running.stdout.close()
        running.stderr.close()
        if added or spare:
            cluster.kill()
    text = "\n".join(seen)
    assert "was killed by signal 9 (SIGKILL); started again, generation 1" in text, text
    if spare:
        # Ray itself says on standard output what became of the machine.
        assert code == 0 and {"0 2.0 2.0", "1 2.0 2.0"} <= set(out.splitlines()), text
    else:
        assert code == 137, text
        waits = r"worker \d waits for its place in Ray: a worker asks for 2 CPU; free: "
        assert re.search(waits, text), text
        assert re.search(r"worker \d cannot be started: Ray has had no place .* within 9 s", text)
