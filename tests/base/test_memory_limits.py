"""What the system leaves of its memory: control groups of both versions, told by files."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from helpers import run_script

from hybridnet.base.allocator import can_map, has_room, largest_block
from hybridnet.base.memory_limits import tightest_limit

MIB = 1 << 20


@pytest.fixture
def system(tmp_path):
    """A function that writes files of a system; returns the arguments of `tightest_limit`."""

    def write(files, cgroup, available=8000, swap=0):
        told = {
            "proc/self/cgroup": cgroup,
            "proc/meminfo": f"MemTotal: {16000 * 1024} kB\nMemAvailable: {available * 1024} kB\n"
            f"SwapFree: {swap * 1024} kB\n",
            **{f"groups/{name}": f"{text}\n" for name, text in files.items()},
        }
        for name, text in told.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path / "groups", tmp_path / "proc"

    return write


def v2(folder, limit, used, stat=""):
    return {
        f"{folder}memory.max": limit,
        f"{folder}memory.current": used,
        f"{folder}memory.stat": stat or "anon 5",
    }


def test_version_2_in_a_container(system):
    found = tightest_limit(*system(v2("", 1000 * MIB, 300 * MIB), "0::/\n"))
    assert found is not None
    assert (found.size, found.left) == (1000 * MIB, 700 * MIB)
    assert "container" in found.name


def test_the_outer_group_may_leave_less(system):
    files = v2("a/b/", "max", 300 * MIB) | v2("a/", 500 * MIB, 400 * MIB) | v2("", "max", 1)
    assert tightest_limit(*system(files, "0::/a/b\n")).left == 100 * MIB


def test_the_file_cache_is_left(system):
    stat = f"anon 7\ninactive_file {50 * MIB}\nactive_file {30 * MIB}\n"
    found = tightest_limit(*system(v2("", 1000 * MIB, 300 * MIB, stat), "0::/\n"))
    assert found.left == 780 * MIB


@pytest.mark.parametrize(("most", "more"), [("max", 90), (40 * MIB, 30), (0, 0)])
def test_swap_is_left_as_far_as_it_may_be_used(system, most, more):
    files = v2("", 1000 * MIB, 300 * MIB) | {
        "memory.swap.max": most,
        "memory.swap.current": 10 * MIB,
    }
    assert tightest_limit(*system(files, "0::/\n", swap=90)).left == (700 + more) * MIB


def test_version_1(system):
    stat = f"inactive_file 1\ntotal_inactive_file {20 * MIB}\ntotal_active_file {5 * MIB}\n"
    files = {
        "memory/box/memory.limit_in_bytes": 400 * MIB,
        "memory/box/memory.usage_in_bytes": 100 * MIB,
        "memory/box/memory.stat": stat,
        "memory/memory.limit_in_bytes": 9223372036854771712,
        "memory/memory.usage_in_bytes": 100 * MIB,
    }
    found = tightest_limit(*system(files, "9:cpu:/\n8:memory:/box\n0::/\n"))
    assert (found.size, found.left) == (400 * MIB, 325 * MIB)


def test_a_group_that_is_named_as_outside_is_the_root_here(system):
    files = {
        "memory/memory.limit_in_bytes": 400 * MIB,
        "memory/memory.usage_in_bytes": 100 * MIB,
    }
    assert tightest_limit(*system(files, "4:memory:/docker/0123\n")).left == 300 * MIB


def test_without_a_limit_it_is_the_machine(system):
    found = tightest_limit(*system(v2("", "max", 1), "0::/\n", available=123, swap=4))
    assert (found.size, found.left) == (16000 * MIB, 127 * MIB)
    assert "machine" in found.name


def test_a_system_that_tells_nothing(tmp_path):
    assert tightest_limit(tmp_path, tmp_path) is None


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_this_machine_leaves_no_more_than_it_has():
    found = tightest_limit()
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert found is not None and found.left > 0
    assert found.size <= max(whole, 1) or "container" in found.name
    assert Path("/proc/meminfo").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="limits of address space")
def test_the_largest_block_is_what_can_be_had():
    run_script(
        """
        import re, resource
        from hybridnet.base.allocator import can_map, has_room, largest_block
        from hybridnet.base.memory_limits import address_space
        assert address_space() == 0
        assert largest_block(1 << 20) == 1 << 20
        used = int(re.search(r"VmSize:\\s+(\\d+)", open("/proc/self/status").read())[1]) * 1024
        limit = used + (256 << 20)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        assert address_space() == limit
        found = largest_block(1 << 30)
        assert 230 << 20 < found <= 256 << 20, found
        assert has_room(found) and not has_room(found + (30 << 20))
        """
    )
    assert has_room(1 << 20) and can_map(1 << 20) and not can_map(1 << 62)
    assert largest_block(1 << 20) == 1 << 20
