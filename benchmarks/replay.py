"""What decisions about programs would have cost on launches of real runs: rent, price and regret.

    python benchmarks/replay.py record FOLDER -- script.py its arguments    # runs of a script
    python benchmarks/replay.py record FOLDER -- -m module its arguments    # ... of a module
    python benchmarks/replay.py compare FOLDER                              # policies, by recording

A recording is made of processes of its own: one by default (HYBRIDNET_HOST=auto), whose launches
are the ones that are replayed, and, unless ``--once`` is given, one in which everything is compiled
(off), which tells what programs take and what they cost; of those that no process compiled the
first guesses are taken. Each launch is waited for, so that its time is all its work. oneDNN's calls
are built before the clock runs.

A policy is replayed on a clock: a launch takes what its tier took at best; what is compiled in the
background is there when it has been compiled, by one thread, and slows launches down meanwhile. Its
regret is what it takes longer than the best in hindsight, which knows how often each structure
comes: for each the cheaper of its steps and of its program with its price.
"""

from __future__ import annotations

import argparse
import json
import os
import runpy
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any, Final

from hybridnet.base.processor import num_threads
from hybridnet.runtime.tiers import choice
from hybridnet.runtime.tiers.choice import Decision, Load, Purchase, Whose
from hybridnet.runtime.tiers.ledger import FIRST_LOOK, Account, Habits
from hybridnet.runtime.tiers.prices import SAMPLES, Prices

Decide = Callable[[Whose, Account, Prices, Load], Decision]


# Recording


@dataclass
class Structure:
    """What the processes told of one structure; seconds, None where nobody ran it so."""

    weight: int
    is_alone: bool
    kinds: int | None = None
    by_steps: float | None = None
    by_program: float | None = None
    compiling: float | None = None


@dataclass
class Recording:
    """The launches of a run.

    Attributes:
        structures: those that were launched, by key.
        launches: their keys, in order, with a minus before those whose results were read at once.
    """

    structures: dict[str, Structure] = field(default_factory=dict)
    launches: list[str] = field(default_factory=list)


def run(command: list[str]) -> None:
    """Runs a script, or ``-m module``, in this process."""
    name, *arguments = command
    del sys.path[0]  # where this file is
    if name == "-m":
        name, *arguments = arguments
        sys.argv = [name, *arguments]
        sys.path.insert(0, "")
        runpy.run_module(name, run_name="__main__", alter_sys=True)
        return
    sys.argv = [name, *arguments]
    sys.path.insert(0, str(Path(name).resolve().parent))
    runpy.run_path(name, run_name="__main__")


def record(command: list[str], path: str) -> None:
    """Runs a command in this process, and writes what it launched to a file."""
    from hybridnet.native import onednn
    from hybridnet.runtime.observe import events
    from hybridnet.runtime.programs.cache import ProgramCache
    from hybridnet.runtime.programs.making import Maker
    from hybridnet.runtime.programs.program import Program
    from hybridnet.runtime.programs.program_key import structure_key

    found, keys = Recording(), {}
    launch, dispatch = ProgramCache.launch, Program._dispatch
    compile_one, note_read = Maker._compile, Account.note_read

    def key_of(program: Program) -> str:
        key = keys.get(program)
        if key is None:
            key = keys[program] = structure_key(program.code) or f"unnamed {len(keys)}"
            found.structures.setdefault(key, Structure(program.account.weight, program.is_alone))
        return key

    def launched(self: Any, program: Program, *given: Any, **more: Any) -> Any:
        found.launches.append(key_of(program))
        made = launch(self, program, *given, **more)
        account, kept = program.account, found.structures[key_of(program)]
        if account.kinds is not None:
            kept.kinds = account.kinds
        if account.by_steps.runs:
            kept.by_steps = account.by_steps.best
        return made

    def dispatched(self: Program, compiled: Any, *given: Any) -> Any:
        started = time.perf_counter()
        outputs = dispatch(self, compiled, *given)
        for array in outputs:
            array.block_until_ready()
        took = time.perf_counter() - started
        if self.compiled is not None:
            kept = found.structures[key_of(self)]
            kept.by_program = min(took, kept.by_program or took)
        return outputs

    def compiled(self: Any, program: Program, **how: Any) -> Any:
        started = time.perf_counter()
        made = compile_one(self, program, **how)
        found.structures[key_of(program)].compiling = time.perf_counter() - started
        return made

    def read(self: Account) -> None:
        note_read(self)
        if found.launches and not found.launches[-1].startswith("-"):
            found.launches[-1] = f"-{found.launches[-1]}"

    classes: list[tuple[Any, str, Any]] = [
        *((ProgramCache, "launch", launched), (Program, "_dispatch", dispatched)),
        *((Maker, "_compile", compiled), (Account, "note_read", read)),
    ]
    for owner, name, function in classes:
        setattr(owner, name, function)
    events.listen(lambda kind, what, start, end: None)  # so that every launch comes by the cache
    onednn.build()
    onednn.load()
    try:
        run(command)
    finally:
        kept = {key: vars(one) for key, one in found.structures.items()}
        Path(path).write_text(
            json.dumps({"structures": kept, "launches": found.launches}), encoding="utf-8"
        )


def record_all(folder: Path, command: list[str], name: str, hosts: list[str]) -> None:
    """Records a command, by default and with everything compiled, and merges the two."""
    runs = {}
    for host in hosts:
        with tempfile.TemporaryDirectory() as place:
            path = Path(place) / "run.json"
            environment = {**os.environ, "HYBRIDNET_HOST": host, "HYBRIDNET_CACHE_DIR": place}
            child = [sys.executable, __file__, "child", str(path), *command]
            subprocess.run(child, env=environment, check=False)
            runs[host] = json.loads(path.read_text())
    made = runs["auto"]
    for key, one in runs.get("off", made)["structures"].items():
        kept = made["structures"].get(key)
        if kept is not None:
            for what in ("by_program", "compiling"):
                kept[what] = one[what] if one[what] is not None else kept[what]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(made))


# Replaying


class Before:
    """Decides as it was done until November 2026, by counts and thresholds."""

    def __init__(self) -> None:
        self.turn = 0
        self.last: dict[int, int] = {}
        self.streak: dict[int, int] = {}

    def __call__(self, whose: Whose, account: Account, prices: Prices, load: Load) -> Decision:
        if whose is Whose.ALONE:
            due = self.single(account, load)
        else:
            due = self.whole(account, load)
        return Decision(Purchase.COMPILE if due else Purchase.NONE)

    def single(self, account: Account, load: Load) -> bool:
        enough = 0.03 if load.has_begun else 1.2
        several = account.launches >= 6 and account.by_steps.seconds > enough
        return several or (account.launches >= 64 and account.by_steps.seconds > 5e-3)

    def whole(self, account: Account, load: Load) -> bool:
        weight, key = account.weight, id(account)
        self.turn += 1
        soon = self.turn - self.last.get(key, -9) <= 8
        self.streak[key] = self.streak.get(key, 0) + 1 if soon else 0
        self.last[key] = self.turn
        small = weight < 8
        goes_on = self.streak[key] >= (16 if small else 4)
        goes_on = goes_on and account.by_steps.seconds >= min(5e-3 * weight, 0.02)
        due = goes_on or account.by_steps.seconds >= 0.25 * 0.05 * weight
        due = due and account.launches >= (6 if small else 2)
        loads = load.has_begun or account.by_steps.seconds >= 1.2
        return due and (loads or account.by_steps.seconds < 0.02 * account.launches)


AUTO: Final = Load("auto")
# What a loop feels of the background's work, times the number of processors: on two a step of LeNet
# takes 1.6 times as long beside a compilation.
_FELT: Final = 1.2
# The runs of a program that takes over from NumPy after which it has been timed.
_TIMED: Final = 2**SAMPLES


@dataclass
class Outcome:
    """Seconds of a replay: all of it, and what the best in hindsight would have taken."""

    total: float = 0.0
    best: float = 0.0
    compilations: int = 0


def replay(recording: Recording, decide: Decide) -> Outcome:
    """Replays a recording by a policy."""
    prices, habits, outcome = Prices(), Habits(), Outcome()
    share = min(1.0, _FELT / num_threads())
    accounts: dict[str, Account] = {}
    ready: dict[str, float] = {}
    often: dict[str, int] = {}
    takes = {key: what_it_would_take(one) for key, one in recording.structures.items()}
    clock = busy = 0.0
    has_begun = False
    for said in recording.launches:
        key = said.lstrip("-")
        known = recording.structures[key]
        if known.by_steps is None:  # XLA runs it from the start
            continue
        often[key] = often.get(key, 0) + 1
        account = accounts.get(key)
        if account is None:
            account = accounts[key] = Account(known.weight)
            account.on_disk = False
            account.kinds = known.kinds
        program, compiling = takes[key]
        if clock >= ready.get(key, clock + 1):
            account.runs += 1
            clock += program
            if account.runs == FIRST_LOOK:
                habits.note_ran_again(account)
            if account.runs == _TIMED and choice.is_worth_timing(account, prices):
                account.by_program.note(program)
                account.in_row = max(0.0, program - prices.handover)
                if decide(Whose.WHOLE, account, prices, AUTO).purchase is Purchase.GO_BACK:
                    ready[key], account.due = inf, sys.maxsize
        else:
            account.launches += 1
            whose = Whose.ALONE if known.is_alone else Whose.WHOLE
            load = Load("auto", has_begun, 1 / num_threads(), habits.share_again, clock < busy)
            if not account.is_bought and account.launches > max(1, account.due - 1):
                made = decide(whose, account, prices, load)
                account.due = made.due
                if made.purchase is Purchase.COMPILE:
                    account.is_bought = True
                    habits.note_bought(account)
                    outcome.compilations += 1
                    loading = 0.0 if has_begun else prices.jax
                    has_begun = True
                    if made.waits:
                        clock = ready[key] = clock + loading + compiling
                    else:
                        busy = max(busy, clock) + loading + compiling
                        clock += share * (loading + compiling)
                        ready[key] = busy
            account.by_steps.note(known.by_steps)
            account.by_numpy.note(known.by_steps)
            clock += known.by_steps
        if said.startswith("-"):
            account.note_read()
    outcome.total = clock
    for key, count in often.items():
        known = recording.structures[key]
        assert known.by_steps is not None
        program, compiling = takes[key]
        outcome.best += min(count * known.by_steps, share * compiling + count * program)
    return outcome


def what_it_would_take(known: Structure) -> tuple[float, float]:
    """Returns the seconds of a launch of a structure's program, and those to compile it."""
    program, compiling, prices = known.by_program, known.compiling, Prices()
    if program is None:
        program = Prices.usual * (known.by_steps or 0.0)
    if compiling is None:
        compiling = prices.compiling(known.weight, known.kinds)
    return program, compiling


def compare(folder: Path) -> None:
    """Prints what each policy would have taken on each recording, and its regret."""
    policies: dict[str, Callable[[], Decide]] = {"before": Before, "now": lambda: choice.decide}
    print("| recording | launches | best in hindsight, s | " + " | ".join(policies) + " | ratio |")
    print("|---" * (4 + len(policies)) + "|")
    sums = dict.fromkeys(policies, 0.0)
    for path in sorted(folder.glob("*.json")):
        read = json.loads(path.read_text())
        structures = {key: Structure(**one) for key, one in read["structures"].items()}
        recording = Recording(structures, read["launches"])
        found = {name: replay(recording, make()) for name, make in policies.items()}
        regrets = {name: one.total - one.best for name, one in found.items()}
        for name, regret in regrets.items():
            sums[name] += regret
        cells = [f"+{regrets[name]:.2f} ({one.compilations})" for name, one in found.items()]
        ratio = regrets["now"] / regrets["before"] if regrets["before"] > 0.01 else 1.0
        best = found["now"].best
        row = [path.stem, str(len(recording.launches)), f"{best:.2f}", *cells, f"{ratio:.2f}"]
        print("| " + " | ".join(row) + " |")
    print("| all | | | " + " | ".join(f"+{one:.2f}" for one in sums.values()) + " | |")


def main() -> None:
    """Records a script, or compares policies."""
    if sys.argv[1:2] == ["child"]:
        record(sys.argv[3:], sys.argv[2])
        return
    parser = argparse.ArgumentParser(description="Decisions about programs, replayed.")
    parser.add_argument("what", choices=["record", "compare"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--once", action="store_true", help="record the run by default only")
    parser.add_argument("--name", help="of the recording; default: the command")
    parser.epilog = "record: after -- comes what to run"
    cut = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    given, command = parser.parse_args(sys.argv[1:cut]), sys.argv[cut + 1 :]
    if given.what == "record":
        name = given.name or "-".join(Path(part).name for part in command if part != "-m")
        record_all(given.folder, command, name, ["auto"] if given.once else ["auto", "off"])
    else:
        compare(given.folder)


if __name__ == "__main__":
    main()
