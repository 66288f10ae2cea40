"""Lab 7: what is to hold of a queue of ready programs, tried on small sets of programs.

The contract is written here once more, as plainly as can be: a program is ready when all that it
reads has come and it was not handed out before; of those that are ready the most urgent is next.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from hypothesis import strategies as st

from hybridnet import nd, runtime, sym
from hybridnet.base.context import cpu
from hybridnet.base.device_scope import device
from hybridnet.base.errors import MXNetError

from ...checking import Check, Wrong

Program = runtime.ReadyProgram
#: What an example consists of: the next feeds come, a program is asked for, the oldest ends.
_STEPS: Final = ("feed", "feed both", "next", "end")


@dataclass(frozen=True)
class _DevicePrograms:
    """Programs of one device, and what happens to them.

    Attributes:
        programs: each reads what is fed, or what others before it make.
        makes: the slots that each fills.
        feeds: the slots that are fed, in the order in which they come.
        steps: what happens first; then everything runs to its end.
        log: what the part was asked in the last trial, and what it said.
    """

    programs: tuple[Program, ...]
    makes: tuple[tuple[int, ...], ...]
    feeds: tuple[int, ...]
    steps: tuple[str, ...]
    log: list[str] = field(default_factory=list, compare=False)

    def __str__(self) -> str:
        lines = [
            f"{one.title}: reads {_listed(one.reads)}, makes {_listed(made)}, urgency {one.urgency}"
            for one, made in zip(self.programs, self.makes, strict=True)
        ]
        return "\n".join([*lines, *self.log])


def _listed(slots: Sequence[int]) -> str:
    return f"({', '.join(map(str, slots))})"


def _example(
    feeds: int, programs: Sequence[tuple[int, int, int]], steps: Sequence[str], turned: bool
) -> _DevicePrograms:
    """Makes an example.

    Args:
        feeds: how many slots are fed.
        programs: of each, which of the slots so far it reads, as bits; how many it makes; and its
            urgency.
        turned: whether what is fed comes in the other order.
    """
    made, makes, count = [], [], feeds
    for number, (bits, outputs, urgency) in enumerate(programs):
        reads = tuple(slot for slot in range(count) if bits >> slot & 1)
        made.append(Program(number, string.ascii_uppercase[number], reads, urgency))
        makes.append(tuple(range(count, count + outputs)))
        count += outputs
    order = tuple(range(feeds))[:: -1 if turned else 1]
    return _DevicePrograms(tuple(made), tuple(makes), order, tuple(steps))


_EXAMPLES: Final = st.builds(
    _example,
    st.integers(0, 2),
    st.lists(
        st.tuples(st.integers(0, 63), st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=5
    ),
    st.lists(st.sampled_from(_STEPS), max_size=8),
    st.booleans(),
)


class _QueueTrial:
    """One run with a queue that is asked, and the account by the definition."""

    def __init__(self, part: Any, example: _DevicePrograms) -> None:
        self.example = example
        example.log.clear()
        self.come: set[int] = set()
        self.given: list[Program] = []
        self.running: list[Program] = []
        self.feeds = list(example.feeds)
        self.queue = part.Queue(example.programs)

    @property
    def ready(self) -> list[Program]:
        """The programs that may be next, by the definition."""
        return [
            one
            for one in self.example.programs
            if one not in self.given and self.come.issuperset(one.reads)
        ]

    def put(self, slots: Sequence[int]) -> None:
        self.example.log.append(f"put({list(slots)})")
        self.come.update(slots)
        self.queue.put(list(slots))

    def next(self) -> Program | None:
        """Asks for a program; one that may not be next is refused."""
        ready = self.ready
        answer = self.queue.next()
        said = answer.title if isinstance(answer, Program) else repr(answer)
        self.example.log.append(f"next() -> {said}")
        if answer is None:
            return None
        if not any(answer is one for one in self.example.programs):
            if isinstance(answer, Program):
                raise Wrong("of_another", program=answer.title)
            raise Wrong("no_program", answer=repr(answer))
        if answer in self.given:
            raise Wrong("twice", program=answer.title)
        if answer not in ready:
            missing = [slot for slot in answer.reads if slot not in self.come]
            raise Wrong("too_early", program=answer.title, slots=_listed(missing))
        found: Program = answer
        self.given.append(found)
        self.running.append(found)
        return found

    def end(self) -> None:
        program = self.running.pop(0)
        made = self.example.makes[program.number]
        if made:
            self.put(made)

    def step(self, step: str) -> None:
        if step in ("feed", "feed both") and self.feeds:
            count = 2 if step == "feed both" else 1
            come, self.feeds = self.feeds[:count], self.feeds[count:]
            self.put(come)
        elif step == "next":
            self.next()
        elif step == "end" and self.running:
            self.end()

    def run(self) -> None:
        """Takes all steps, and what is left to run."""
        for step in self.example.steps:
            self.step(step)
        self.finish()

    def finish(self) -> None:
        """Runs everything that the queue hands out."""
        while self.feeds:
            self.step("feed")
        while self.next() is not None or self.running:
            if self.running:
                self.end()


def _keeps_order(part: Any, example: _DevicePrograms) -> None:
    _QueueTrial(part, example).run()


class _PromptTrial(_QueueTrial):
    """A trial in which nothing may be left lying."""

    def next(self) -> Program | None:
        ready = self.ready
        answer = super().next()
        if answer is None and ready:
            raise Wrong("too_late", program=ready[0].title, slots=_listed(ready[0].reads))
        return answer


def _at_once(part: Any, example: _DevicePrograms) -> None:
    _PromptTrial(part, example).run()


class _UrgentTrial(_PromptTrial):
    """A trial in which the most urgent comes first."""

    def next(self) -> Program | None:
        ready = self.ready
        answer = super().next()
        if answer is not None:
            first = max(ready, key=lambda one: one.urgency)
            if first.urgency > answer.urgency:
                raise Wrong(
                    "less_urgent", program=answer.title, urgency=answer.urgency,
                    other=first.title, other_urgency=first.urgency,
                )  # fmt: skip
        return answer


def _most_urgent_first(part: Any, example: _DevicePrograms) -> None:
    _UrgentTrial(part, example).run()


def _runs_apart(part: Any, example: _DevicePrograms) -> None:
    """Runs that take turns go as they do alone; one of them is given up."""
    trials = [_UrgentTrial(part, example) for _ in range(3)]
    try:
        for step in example.steps:
            for trial in trials:
                trial.step(step)
        for trial in trials[1:]:
            trial.finish()
    except Wrong as wrong:
        example.log.clear()  # it has what several were asked
        raise Wrong("not_apart") from wrong


def _in_the_executor(part: Any) -> None:
    """A graph on two devices has the value that NumPy finds."""
    x = sym.var("x")
    with device("/device:cpu:0"):
        first = [sym.dot(x, x) * number for number in (1, 2, 3)]
    with device("/device:cpu:1"):
        second = [sym.dot(one, x) + one for one in first]
    with device("/device:cpu:0"):
        total = sym.add_n(*[sym.dot(a, b) for a, b in zip(first, second, strict=True)])
    numbers = np.eye(16, k=1, dtype=np.float32) + 0.5
    runtime.set_ready_queue(part.Queue)
    try:
        executor = total.simple_bind(cpu(0), x=numbers.shape)
        for scale in (1.0, 0.5):
            given = numbers * np.float32(scale)
            found = executor.forward(x=nd.array(given))[0].asnumpy()
            made = [given @ given * number for number in (1, 2, 3)]
            wanted = sum(one @ (one @ given + one) for one in made)
            if not np.allclose(found, wanted, rtol=1e-3):
                raise Wrong("value", found=found[0, 0], wanted=wanted[0, 0])
    except MXNetError as error:
        raise Wrong("executor", error=error) from error
    finally:
        runtime.set_ready_queue(None)


CHECKS: Final = (
    Check("order", _keeps_order, _EXAMPLES),
    Check("at_once", _at_once, _EXAMPLES),
    Check("urgency", _most_urgent_first, _EXAMPLES),
    Check("apart", _runs_apart, _EXAMPLES),
    Check("in_the_executor", _in_the_executor),
)
