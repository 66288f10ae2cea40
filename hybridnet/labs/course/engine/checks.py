"""Lab 1: what is to hold of an order of tasks, tried on small sets of tasks.

The contract of engine/schedule.py is written here once more, as plainly as can be: at each moment
the tasks that may run are those with which no earlier pending one is in conflict.
"""

from __future__ import annotations

import string
from dataclasses import dataclass
from typing import Any, Final

from hypothesis import strategies as st

from hybridnet import engine

from ...checking import Check, Wrong

_VARIABLES: Final = "xy"


@dataclass(frozen=True, eq=False)
class _Task:
    """A stand-in for a task, given to the part."""

    name: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<task {self.name}>"

    def __str__(self) -> str:
        reads, writes = ", ".join(self.reads), ", ".join(self.writes)
        return f"{self.name}: reads ({reads}) writes ({writes})"

    def conflicts(self, other: _Task) -> bool:
        """Whether they name a variable that one of them writes."""
        mine, its = {*self.reads, *self.writes}, {*other.reads, *other.writes}
        return bool(mine & set(other.writes) or its & set(self.writes))


@dataclass(frozen=True)
class _Tasks:
    """Tasks that are pushed, and ends of those that may run.

    Attributes:
        steps: a task, or the number of the one to end, among those that may run.
    """

    steps: tuple[_Task | int, ...]

    def __str__(self) -> str:
        lines, pending = [], _Contract()
        for step in self.steps:
            if isinstance(step, _Task):
                pending.push(step)
                lines.append(f"push      {step}")
            elif pending.free():
                ended = pending.free()[step % len(pending.free())]
                pending.complete(ended)
                lines.append(f"complete  {ended.name}")
        return "\n".join(lines)


class _Contract:
    """Which tasks may run, by the definition."""

    def __init__(self) -> None:
        self.pending: list[_Task] = []

    def push(self, task: _Task) -> None:
        self.pending.append(task)

    def complete(self, task: _Task) -> None:
        self.pending.remove(task)

    def before(self, task: _Task) -> _Task | None:
        """Returns the first earlier pending task that is in conflict with one."""
        earlier = self.pending[: self.pending.index(task)]
        return next((one for one in earlier if one.conflicts(task)), None)

    def free(self) -> list[_Task]:
        return [task for task in self.pending if self.before(task) is None]


@st.composite
def _programs(draw: Any) -> _Tasks:
    ends = st.integers(0, 5)
    uses = st.lists(st.sampled_from(("", "r", "w")), min_size=2, max_size=2)
    steps: list[_Task | int] = []
    names = iter(string.ascii_uppercase)
    for step in draw(st.lists(st.one_of(uses, ends), min_size=1, max_size=14)):
        if isinstance(step, int):
            steps.append(step)
            continue
        reads, writes = (
            tuple(v for v, use in zip(_VARIABLES, step, strict=True) if use == kind)
            for kind in "rw"
        )
        steps.append(_Task(next(names), reads, writes))
    return _Tasks(tuple(steps))


class _Trial:
    """One order that is asked, and what it has said so far."""

    def __init__(self, part: Any) -> None:
        self.order = part.Order()
        self.contract = _Contract()
        self.ready: list[_Task] = []

    def run(self, program: _Tasks) -> _Trial:
        """Takes all steps."""
        for step in program.steps:
            self.step(step)
        return self

    def finish(self) -> None:
        """Ends tasks until none may run."""
        while self.ready:
            self.step(0)

    def step(self, step: _Task | int) -> None:
        """Pushes a task, or ends one of those that were said to be ready."""
        if isinstance(step, _Task):
            self.contract.push(step)
            answer = self.order.push(step)
            if not isinstance(answer, bool):
                raise Wrong("no_bool", answer=repr(answer))
            if answer:
                self._note(step)
        elif self.ready:
            ended = self.ready.pop(step % len(self.ready))
            self.contract.complete(ended)
            for task in _listed(self.order.complete(ended)):
                if task not in self.contract.pending or task in self.ready:
                    raise Wrong("not_waiting", task=getattr(task, "name", repr(task)))
                self._note(task)

    def _note(self, task: _Task) -> None:
        other = self.contract.before(task)
        if other is not None:
            both = {*task.reads, *task.writes} & {*other.reads, *other.writes}
            one = min(v for v in both if v in task.writes or v in other.writes)
            raise Wrong(
                "too_early", task=task.name, other=other.name, variable=one,
                how=_how(task, one), other_how=_how(other, one),
            )  # fmt: skip
        self.ready.append(task)


def _how(task: _Task, variable: str) -> str:
    return "write" if variable in task.writes else "read"


def _listed(answer: Any) -> list[Any]:
    try:
        return list(answer)
    except TypeError:
        raise Wrong("no_list", answer=repr(answer)) from None


def _keeps_order(part: Any, program: _Tasks) -> None:
    _Trial(part).run(program)


def _all_run(part: Any, program: _Tasks) -> None:
    trial = _Trial(part).run(program)
    trial.finish()
    if trial.contract.pending:
        raise Wrong("never", task=trial.contract.pending[0].name)


def _runs_together(part: Any, program: _Tasks) -> None:
    trial = _Trial(part)
    for step in program.steps:
        trial.step(step)
        late = [task for task in trial.contract.free() if task not in trial.ready]
        if late:
            raise Wrong("too_late", task=late[0].name)


def _holds_nothing(part: Any, program: _Tasks) -> None:
    trial = _Trial(part).run(program)
    trial.finish()
    held = [
        (name, len(value)) for name, value in vars(trial.order).items() if hasattr(value, "__len__")
    ]
    for name, size in held:
        if size:
            raise Wrong("kept", name=name, size=size)


def _in_the_engine(part: Any, program: _Tasks) -> None:
    """Random tasks on a real engine leave what they leave one by one."""
    made = engine.NaiveEngine()
    made.set_scheduler(part.Order)
    variables = {name: made.new_variable(name) for name in _VARIABLES}
    found: dict[str, list[str]] = {name: [] for name in _VARIABLES}
    wanted: dict[str, list[str]] = {name: [] for name in _VARIABLES}

    def work(values: dict[str, list[str]], task: _Task) -> None:
        seen = "".join(text for name in task.reads for text in values[name])
        for name in task.writes:
            values[name] = [f"{task.name}({seen})"]

    for task in (step for step in program.steps if isinstance(step, _Task)):
        reads, writes = ([variables[name] for name in names] for names in (task.reads, task.writes))
        made.push(lambda t=task: work(found, t), reads, writes, name=task.name)  # type: ignore[misc]
        work(wanted, task)
    try:
        made.wait_for_all()
    except engine.TaskError as error:
        raise Wrong("engine", error=str(error.__cause__ or error)) from error
    for name in _VARIABLES:
        if found[name] != wanted[name]:
            raise Wrong("value", variable=name, found=found[name], wanted=wanted[name])


CHECKS: Final = (
    Check("order", _keeps_order, _programs(), tries=1000),
    Check("all_run", _all_run, _programs()),
    Check("together", _runs_together, _programs()),
    Check("in_the_engine", _in_the_engine, _programs()),
    Check("forgets", _holds_nothing, _programs()),
)
