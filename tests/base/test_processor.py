"""How many threads compute: what was asked for, the affinity, the control groups' limits."""

from __future__ import annotations

import os
import sys

import pytest
from helpers import run_script

from hybridnet.base.processor import cgroup_quota, environment, idle_seconds

THREADS = """
import os
from hybridnet import nd
nd.ones((2,)).asnumpy()
names = [open(f"/proc/self/task/{task}/comm").read() for task in os.listdir("/proc/self/task")]
print(sum("XLAEigen" in name for name in names), "NPROC" in os.environ)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="counts the tasks of Linux")
@pytest.mark.parametrize(
    ("asked", "threads"),
    [
        ({"HYBRIDNET_NUM_THREADS": "3"}, 3),
        ({"HYBRIDNET_NUM_THREADS": "1", "OMP_NUM_THREADS": "4"}, 1),
        ({"OMP_NUM_THREADS": "4,2"}, 4),
        ({}, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0),
    ],
)
def test_xla_has_as_many_threads_as_were_asked_for(asked, threads):
    if not asked and cgroup_quota_here() is not None:
        pytest.skip("this machine's control groups limit the processors")
    # Each device has a thread at least.
    one = {"HYBRIDNET_NUM_CPU_DEVICES": "1", "JAX_NUM_CPU_DEVICES": "1"}
    environ = {"HYBRIDNET_HOST": "off", "HYBRIDNET_NUM_THREADS": "", "OMP_NUM_THREADS": ""}
    environ |= one | asked
    assert run_script(THREADS, **environ).split() == [str(threads), "False"]


def cgroup_quota_here():
    from pathlib import Path

    return cgroup_quota(Path("/proc/self/cgroup"), Path("/sys/fs/cgroup"))


def test_a_number_of_threads_must_be_one():
    told = run_script(
        """
        from hybridnet import MXNetError, nd
        try:
            nd.ones((2,)).asnumpy()
        except MXNetError as error:
            print(error)
        """,
        HYBRIDNET_HOST="off",
        HYBRIDNET_NUM_THREADS="many",
    )
    assert "HYBRIDNET_NUM_THREADS must be an integer >= 1, got 'many'" in told


@pytest.mark.parametrize(
    ("membership", "files", "expected"),
    [
        ("0::/", {}, None),
        ("0::/", {"cpu.max": "max 100000"}, None),
        ("0::/", {"cpu.max": "150000 100000"}, 1.5),
        ("0::/a/b", {"a/b/cpu.max": "max 100000", "a/cpu.max": "50000 100000"}, 0.5),
        ("0::/a/b", {"a/b/cpu.max": "200000 100000", "a/cpu.max": "300000 100000"}, 2),
        ("0::/not/seen/here", {"cpu.max": "400000 100000"}, 4),
        ("0::/", {"cpu.max": "nonsense"}, None),
        (
            "4:memory:/m\n2:cpu,cpuacct:/c\n0::/",
            {
                "cpu,cpuacct/c/cpu.cfs_quota_us": "250000",
                "cpu,cpuacct/c/cpu.cfs_period_us": "100000",
            },
            2.5,
        ),
        (
            "2:cpu:/",
            {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"},
            None,
        ),
    ],
)
def test_limits_of_control_groups(membership, files, expected, tmp_path):
    """As cgroups(7) and the kernel's documentation of both versions describe them."""
    (tmp_path / "membership").write_text(membership)
    for name, content in files.items():
        path = tmp_path / "root" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    assert cgroup_quota(tmp_path / "membership", tmp_path / "root") == expected
    assert cgroup_quota(tmp_path / "missing", tmp_path / "root") is None


def test_the_environment_is_as_it_was(monkeypatch):
    monkeypatch.setenv("HYBRIDNET_A", "1")
    monkeypatch.delenv("HYBRIDNET_B", raising=False)
    with pytest.raises(ValueError), environment(HYBRIDNET_A="2", HYBRIDNET_B="3"):
        assert (os.environ["HYBRIDNET_A"], os.environ["HYBRIDNET_B"]) == ("2", "3")
        raise ValueError
    assert os.environ["HYBRIDNET_A"] == "1"
    assert "HYBRIDNET_B" not in os.environ


@pytest.mark.skipif(sys.platform != "linux", reason="affinity is Linux's")
def test_idle_time_is_that_of_the_processors_that_may_be_used(tmp_path, monkeypatch):
    stat = tmp_path / "stat"
    stat.write_text(
        "cpu  1 2 3 900 90 6 7 8 9 10\n"
        "cpu0 1 2 3 200 10 6 7 8 9 10\n"
        "cpu1 1 2 3 300 20 6 7 8 9 10\n"
        "cpu2 1 2 3 400 60 6 7 8 9 10\n"
        "intr 5 cpu\n"
    )
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 2})
    ticks = os.sysconf("SC_CLK_TCK")
    assert idle_seconds(stat) == (200 + 10 + 400 + 60) / ticks
    stat.write_text("cpu 0 0 0 0 0\ncpu0 0 0 0 0 0\n")  # as some containers say
    assert idle_seconds(stat) is None
    assert idle_seconds(tmp_path / "none") is None


def test_a_process_takes_its_share_of_the_processors_only_where_nobody_asked_for_a_number():
    script = """
        from hybridnet.base.processor import num_threads, share_processors
        alone = num_threads()
        share_processors(2)
        half = num_threads()
        share_processors(1000)
        print(half == max(1, alone // 2), num_threads())
        """
    none = {"HYBRIDNET_NUM_THREADS": "", "OMP_NUM_THREADS": ""}
    assert run_script(script, **none).split() == ["True", "1"]
    asked = run_script(script, HYBRIDNET_NUM_THREADS="6").split()
    assert asked == ["False", "6"]


@pytest.mark.skipif(not hasattr(os, "SCHED_BATCH"), reason="Linux has this policy")
def test_threads_that_begin_later_have_the_policy_too():
    script = """
        import os, threading
        from hybridnet.base.processor import set_batch_policy
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        found = []
        set_batch_policy()
        one = threading.Thread(target=lambda: found.append(os.sched_getscheduler(0)))
        one.start()
        one.join()
        print(found == [os.SCHED_BATCH])
        """
    assert run_script(script).strip() == "True"
