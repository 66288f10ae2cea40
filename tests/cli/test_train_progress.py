"""How far `hybridnet train` has come: on a terminal, in a file, and while a program is compiled."""

from __future__ import annotations

import os
import pty
import re
import struct
import subprocess
import sys
import termios
from fcntl import ioctl
from pathlib import Path

import pytest

from hybridnet.cli import report, train_progress
from hybridnet.cli.result import Result
from hybridnet.cli.train_progress import Count
from hybridnet.runtime.watching import events


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, which stands still but where a test moves it."""
    now = [0.0]
    monkeypatch.setattr(events, "monotonic", lambda: now[0])
    return now


def counted(clock: list[float]) -> Count:
    """12 of 1,234 steps; each but the first took 2 seconds."""
    count = Count(1234, lambda: clock[0])
    clock[0] = 7.0
    count.advance("hybridized", 1, 9.5)
    clock[0] = 29.0
    count.advance("hybridized", 11, 2.34014)
    return count


def test_a_line_of_a_file_says_everything(clock: list[float]) -> None:
    assert Count(30, lambda: clock[0]).long() == "0 of 30 steps"
    count = counted(clock)  # 1,222 steps of 2 s are left
    assert count.long() == "hybridized: 12 of 1,234 steps, loss 2.3401, 0:40:44 left"
    clock[0] += 3
    assert count.long().endswith("0:40:41 left")
    clock[0] += 3000
    assert count.long().endswith("0:00:00 left")


def test_a_narrow_terminal_loses_what_matters_least(clock: list[float]) -> None:
    count = counted(clock)
    whole = count.short(100)
    assert re.fullmatch("hybridized  ─+  12/1,234  loss 2.3401  0:40:44 left", whole)
    assert {len(count.short(width)) for width in range(57, 80)} == {*range(57, 80)}
    assert count.short(50) == "hybridized  12/1,234  loss 2.3401  0:40:44 left"
    assert count.short(40) == "12/1,234  loss 2.3401  0:40:44 left"
    assert count.short(30) == "12/1,234  loss 2.3401"
    assert count.short(3) == "12/1,234"
    for width in range(8, 120):
        assert len(count.short(width)) <= width


def test_the_bar_is_as_long_as_what_is_done(clock: list[float]) -> None:
    count = Count(8, lambda: clock[0])
    count.advance("eager", 6, 1.0)
    assert "━" * 30 + "─" * 10 in count.short(100)
    count.advance("eager", 2, 1.0)
    assert count.short(100) == "eager  " + "━" * 40 + "  8/8  loss 1.0000"


def test_a_compilation_is_said_and_one_that_is_waited_for_comes_first(clock: list[float]) -> None:
    count = counted(clock)
    with events.compiling(awaited=False):
        clock[0] += 3
        assert count.short(40) == "12/1,234  loss 2.3401"
        assert count.short(47) == "12/1,234  loss 2.3401  compiling beside 3 s"
        with events.compiling(awaited=True):
            clock[0] += 12
            assert count.long().endswith(", loss 2.3401, compiling 12 s")
            assert count.short(40) == "12/1,234  loss 2.3401  compiling 12 s"
        assert count.long().endswith(", compiling beside 15 s")
    assert count.long().endswith(" left") and events.compilation() is None


WATCH = """
import hybridnet as hn
from hybridnet.runtime.programs import making
from hybridnet.runtime.watching import events

seen, compile_code = [], making.compile_code

def watched(*args, **kwargs):
    seen.append(events.compilation().awaited)
    return compile_code(*args, **kwargs)

making.compile_code = watched
x = hn.nd.ones((64, 64))
hn.nd.dot(x, x).wait_to_read()
print(seen, events.compilation())
"""


def test_programs_tell_that_they_are_compiled(tmp_path: Path) -> None:
    """What the compiler sees while it works, in a launch that waits for it."""
    done = subprocess.run(
        [sys.executable, "-c", WATCH],
        env={**os.environ, "HYBRIDNET_HOST": "off", "HYBRIDNET_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert re.fullmatch(r"\[True(, True)*\] None\n", done.stdout), done


SHOW = """
from hybridnet.cli import train_progress
from hybridnet.runtime.watching import events
train_progress._SELDOM = 0.01
with train_progress.progress(1234) as advance:
    advance("hybridized", 1, 2.34014)
    with events.compiling(awaited=True):
        input()
    advance("hybridized", 1233, 0.5)
print("done")
"""


def test_a_file_gets_whole_lines_also_while_nothing_goes_on() -> None:
    """Also where the environment asks for colors, and says that lines are narrow."""
    process = subprocess.Popen(
        [sys.executable, "-c", SHOW],
        env={**os.environ, "FORCE_COLOR": "1", "COLUMNS": "40"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    for line in process.stderr:  # until the compilation has been told of
        if "compiling" in line:
            break
    assert re.fullmatch(r"hybridized: 1 of 1,234 steps, loss 2.3401, compiling \d+ s\n", line)
    out, err = process.communicate("\n", timeout=60)
    assert out == "done\n" and err.endswith("hybridized: 1,234 of 1,234 steps, loss 0.5000\n")
    assert all(one.isprintable() for one in err.splitlines())


def test_a_terminal_of_40_columns_shows_the_count_the_loss_and_the_compilation() -> None:
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 20, 40, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    process = subprocess.Popen(
        [sys.executable, "-c", SHOW],
        env={**environment, "TERM": "xterm"},
        stdin=subprocess.PIPE,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    shown = b""
    while b"compiling 0 s" not in shown:
        shown += os.read(ours, 1000)
    assert process.stdin is not None
    process.stdin.write(b"\n")
    process.stdin.close()
    while b"done" not in shown:
        shown += os.read(ours, 1000)
    assert process.wait(60) == 0
    os.close(ours)
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown.decode())
    assert "1/1,234  loss 2.3401  compiling 0 s" in text
    assert "1,234/1,234  loss 0.5000" in text and "…" not in text


@pytest.mark.parametrize("columns", [None, 40, 120])
def test_results_are_whole_however_narrow_the_terminal(
    columns: int | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if columns is not None:  # as a terminal
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(columns or 40))
    results = [Result(way, [1.0] * 30, 0.987, 0.1234, 2.37, 0.91538, 89123.4) for way in "ab"]
    report.print_results(results, "LeNet, three ways from the same weights")
    out = capsys.readouterr().out
    assert "…" not in out
    assert (max(map(len, out.splitlines()[:-1])) <= 40) == (columns == 40)
    for cell in ("98.70%", "0.1234", "89,123", "2.37 s", "915.38 ms", "steady step"):
        assert out.count(cell) in ({1, 2} if cell == "steady step" else {2})


def test_the_file_is_told_at_the_end_of_short_runs(capsys: pytest.CaptureFixture[str]) -> None:
    with train_progress.progress(2) as advance:
        advance("eager", 2, 0.25)
    assert capsys.readouterr().err == "eager: 2 of 2 steps, loss 0.2500\n"
