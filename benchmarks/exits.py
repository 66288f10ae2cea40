"""How long a process takes to end, and how, whatever its threads are doing.

    python benchmarks/exits.py             # 1,008 processes, some 40 minutes
    python benchmarks/exits.py --tries 2   # a look

Each row is one kind of work that goes on, over all the ways to end (the last line, `sys.exit`, an
exception, Ctrl-C). Times are from the script's last line until the process is gone, and so hold
Python's own taking down, which for JAX alone is the row at the top. The works are those that
``tests/runtime/test_exit.py`` checks.
"""

from __future__ import annotations

import argparse
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests" / "support"))

from endings import ENDS, WORK, run_to_the_end

#: Seconds that an exit may take.
MOST = 0.5
JAX = "import jax, time; jax.jit(lambda x: x + 1)(1.0).block_until_ready(); print(time.time())"


def main() -> None:
    """Runs the processes, and prints a row for each work as it is done."""
    parser = argparse.ArgumentParser(description="How long processes take to end.")
    parser.add_argument("--tries", type=int, default=18, help="of each work and end")
    tries = parser.parse_args().tries
    # Begun in the background of a shell, this process ignores Ctrl-C, and its children would, too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    print(f"{'what goes on':36}{'median':>9}{'most':>9}{'late':>6}{'wrong status':>14}", flush=True)
    times = []
    for _ in range(tries):
        done = subprocess.run([sys.executable, "-c", JAX], capture_output=True, check=True)
        times.append(time.time() - float(done.stdout))
    show("JAX alone", times, 0)
    totals: list[float] = []
    failures = 0
    for work in WORK:
        times, wrong = [], 0
        for turn in range(tries):
            for end, (_, status) in ENDS.items():
                done = run_to_the_end(work, end, 0.2 + 0.013 * turn)
                ended = time.time()
                if not done.stdout:
                    sys.exit(f"{work}, {end}: did not come to its end:\n{done.stderr}")
                times.append(ended - float(done.stdout))
                wrong += done.returncode != status
        show(work, times, wrong)
        totals += times
        failures += wrong
    show(f"all {len(totals)}", totals, failures)


def show(what: str, times: list[float], wrong: int) -> None:
    """Prints a row."""
    late = sum(seconds > MOST for seconds in times)
    print(
        f"{what:36}{statistics.median(times):7.2f} s{max(times):7.2f} s{late:6}{wrong:14}",
        flush=True,
    )


if __name__ == "__main__":
    main()
