"""Runs the corpus and prints how often an error names the right line.

    python tests/debug/corpus/score.py [--kind nan] [--front hybridized] [--name WORDS]
        [--peers torch=PYTHON --peers jax=PYTHON] [--jobs 2] [--folder FOLDER] [--say]

Each row of the table is a kind of bug and a way to write programs, each column a library: in how
many programs the error names the planted line, names or raises at another, and in how many nothing
is said, or the process ends. By the same rule for all: see `judge.py`. PYTHON is an interpreter
that has the library.

hybridnet's programs run inside of `hn.debug.nans()`, `indices()` or `tracking_memory()`, by their
kind; sound ones inside of the first two, and once without, for the same results. PyTorch's run with
`set_detect_anomaly` and JAX's with `jax_debug_nans`, where NaN is what is looked for.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import select
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from generate import KINDS, planted, sound
from judge import ELSEWHERE, RIGHT, SILENT, judge
from program import Program

_RUNNER = Path(__file__).with_name("run_program.py")
#: Scopes that programs with a bug run in, by its kind.
SCOPES = {"nan": ["nans"], "index": ["indices"], "memory": ["tracking_memory"], "shape": []}
#: Seconds that one program may take.
_PATIENCE = 90
_ENVIRONMENT = {
    "HYBRIDNET_NUM_CPU_DEVICES": "2",
    "HYBRIDNET_CACHE_DIR": "off",
    "JAX_PLATFORMS": "cpu",
    # Arenas of threads count as address space, and are not used.
    "MALLOC_ARENA_MAX": "2",
}


@dataclass(frozen=True)
class Verdict:
    """What is thought of one program.

    Attributes:
        program: it.
        what: "right", "another line" or "silent"; of sound ones "fine", "error" or "differs".
        why: in words.
    """

    program: Program
    what: str
    why: str


class Runner:
    """A process that runs programs one after another, and begins anew where one has ended it."""

    def __init__(self, python: str, environment: dict[str, str]) -> None:
        self._python = python
        self._environment = {**os.environ, **_ENVIRONMENT, **environment}
        self._process: subprocess.Popen[str] | None = None

    def run(self, request: dict[str, Any], alone: bool) -> dict[str, Any]:
        """Runs one program; see `run_program.run`."""
        if alone:
            self.close()
        if self._process is None:
            self._process = subprocess.Popen(
                [self._python, str(_RUNNER)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env=self._environment,
            )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        ready, _, _ = select.select([self._process.stdout], [], [], _PATIENCE)
        answer = self._process.stdout.readline() if ready else ""
        if alone or not answer:
            self.close()
        if not answer:
            what = "the process ended" if ready else f"no end within {_PATIENCE} s"
            return {"raised": [], "text": what, "frames": [], "results": None}
        return json.loads(answer)

    def close(self) -> None:
        """Ends the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def score(
    programs: Iterable[Program],
    folder: Path,
    pythons: dict[str, str],
    environment: dict[str, str] | None = None,
) -> Iterator[Verdict]:
    """Runs programs in turn and judges them; those of libraries without a Python are left out.

    Args:
        programs: what to run.
        folder: where their files are written.
        pythons: library -> interpreter.
        environment: variables for the processes.
    """
    runners = {library: Runner(python, environment or {}) for library, python in pythons.items()}
    try:
        for one in programs:
            if one.library in runners:
                yield _score_one(one, folder, runners[one.library])
    finally:
        for runner in runners.values():
            runner.close()


def _score_one(program: Program, folder: Path, runner: Runner) -> Verdict:
    folder = folder / ("planted" if program.planted else "sound")
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{program.name}.py"
    file.write_text(program.text)
    request = {"file": str(file), "library": program.library, "limit": program.limit}
    request["servers"] = program.servers
    if program.planted:
        scopes = SCOPES[program.kind] if program.library == "hybridnet" else []
        if program.kind == "nan" and not scopes:
            scopes = ["their own"]
        outcome = runner.run({**request, "scopes": scopes}, program.alone)
        return Verdict(program, *judge(program, str(file), outcome))
    plain = runner.run({**request, "scopes": []}, program.alone)
    watched = runner.run({**request, "scopes": ["nans", "indices"]}, program.alone)
    for how, outcome in (("plain", plain), ("watched", watched)):
        if outcome["raised"] or outcome["results"] is None:
            return Verdict(program, "error", f"{how}: {outcome['raised'][:1]} {outcome['text']}")
    is_same = same(plain["results"], watched["results"])
    return Verdict(program, "fine" if is_same else "differs", "")


def same(one: Any, other: Any) -> bool:
    """Whether two results are the same, but for what operators round when they are fused."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) and isinstance(other, float):
        both_missing = math.isnan(one) and math.isnan(other)
        return both_missing or math.isclose(one, other, rel_tol=1e-5, abs_tol=1e-6)
    return bool(one == other)


def table(verdicts: Sequence[Verdict]) -> str:
    """Returns the table as Markdown: right / another line / silent, by kind, way and library."""
    libraries = [
        x for x in ("hybridnet", "torch", "jax") if any(v.program.library == x for v in verdicts)
    ]
    counted = Counter(
        (v.program.kind, v.program.front, v.program.library, v.what) for v in verdicts
    )
    fronts = {(v.program.kind, v.program.front): None for v in verdicts if v.program.planted}
    lines = [
        f"| kind | written with | {' | '.join(libraries)} |",
        "| --- " * (2 + len(libraries)) + "|",
    ]
    totals: Counter[tuple[str, str, str]] = Counter()
    for kind in KINDS:
        for front in [name for of, name in fronts if of == kind] + ["all"]:
            cells = []
            for library in libraries:
                numbers = []
                for what in (RIGHT, ELSEWHERE, SILENT):
                    if front == "all":
                        numbers.append(totals[kind, library, what])
                    else:
                        numbers.append(counted[kind, front, library, what])
                        totals[kind, library, what] += numbers[-1]
                        totals["all", library, what] += numbers[-1]
                cells.append(" / ".join(map(str, numbers)) if any(numbers) else "")
            if any(cells):
                lines.append(f"| {kind} | {front} | {' | '.join(cells)} |")
    cells = [
        " / ".join(str(totals["all", one, what]) for what in (RIGHT, ELSEWHERE, SILENT))
        for one in libraries
    ]
    lines.append(f"| all | all | {' | '.join(cells)} |")
    fine = Counter(v.what for v in verdicts if not v.program.planted)
    if fine:
        lines.append(f"\nSound programs: {', '.join(f'{n} {what}' for what, n in fine.items())}.")
    return "\n".join(lines)


def main() -> None:
    """Runs what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", choices=KINDS)
    parser.add_argument("--front")
    parser.add_argument("--name", default="")
    parser.add_argument("--only", choices=("planted", "sound"))
    parser.add_argument("--peers", action="append", default=[])
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--say", action="store_true", help="what each error says, too")
    given = parser.parse_args()
    pythons = {"hybridnet": sys.executable, **dict(x.split("=", 1) for x in given.peers)}
    programs = [] if given.only == "sound" else planted(given.seed)
    programs += [] if given.only == "planted" else sound(given.seed)
    programs = [
        one
        for one in programs
        if (given.kind in (None, one.kind))
        and (given.front in (None, one.front))
        and given.name in one.name
    ]
    verdicts: list[Verdict] = []
    with tempfile.TemporaryDirectory() as kept, ThreadPoolExecutor(given.jobs) as pool:
        folder = given.folder or Path(kept)
        shares = [programs[i :: given.jobs] for i in range(given.jobs)]
        for found in pool.map(lambda share: list(score(share, folder, pythons)), shares):
            verdicts += found
    for one in verdicts:
        is_told = one.program.library == "hybridnet" and one.what not in (RIGHT, "fine")
        if given.say or is_told:
            print(f"{one.what}: {one.program.name}: {one.why}\n")
    print(table(verdicts))


if __name__ == "__main__":
    main()
