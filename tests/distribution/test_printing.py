"""What processes print comes in whole lines, whatever they write it in."""

import subprocess
import sys

SCRIPT = """
import os, sys
name = sys.argv[1].encode()
for turn in range(400):
    for piece in (name, b" ", str(turn).encode() * 20, b"\\n"):
        os.write(1 + turn % 2, piece)
os.write(1, b"the end of " + name)  # a line without its end
"""

MAIN = """
import os, sys
from hybridnet.kvstore.supervise.local import start_process
from hybridnet.kvstore.supervise.printing import hand_on_rest

started = [
    start_process(name, [sys.executable, "-c", sys.argv[1], name], {}) for name in "abc"
]
while any(one.poll() is None for one in started):
    os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
hand_on_rest()
"""


def run(**how):
    return subprocess.run(
        [sys.executable, "-c", MAIN, SCRIPT], stdout=subprocess.PIPE, timeout=60, **how
    )


def test_lines_of_several_processes_do_not_mix():
    done = run(stderr=subprocess.PIPE)
    assert done.returncode == 0, done.stderr
    for stream, parity in ((done.stdout, 0), (done.stderr, 1)):
        for name in "abc":
            wanted = [f"{name} {str(turn) * 20}" for turn in range(parity, 400, 2)]
            found = [one for one in stream.decode().splitlines() if one.startswith(f"{name} ")]
            assert found == wanted
    assert sorted(one for one in done.stdout.decode().splitlines() if "end" in one) == [
        "the end of a", "the end of b", "the end of c"
    ]  # fmt: skip


def test_output_and_error_that_are_one_keep_their_order():
    done = run(stderr=subprocess.STDOUT)
    assert done.returncode == 0
    lines = done.stdout.decode().splitlines()
    wanted = [f"b {str(turn) * 20}" for turn in range(400)]
    assert [one for one in lines if one.startswith("b ")] == wanted
