"""Lab 11: what is to hold of a server, tried on random histories of messages, repeats and kills.

Workers, the network and the disk are simulated here; the part is the server. Values that it gives
are held against the definition: in 'sync' the value of round n is the first value, updated with the
sums of rounds 1 to n; in 'async' it is updated with each push, in the order in which they came.
"""

from __future__ import annotations

import pickle
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, Final, NamedTuple

import numpy as np
from hypothesis import strategies as st

from hybridnet.base.array_types import NumpyArray

from ...checking import Check, Wrong, as_wrong

_DELIVER: Final = ("deliver",)
_REPEAT: Final = (*_DELIVER * 3, "repeat")
_KILL: Final = (*_REPEAT, "kill", "forget", "drop")
#: A sum of some of these depends on the order.
_FLOATS: Final = (1e8, 1.0, -1e8, 3.0)
#: Moves of other kinds than 'deliver' in a history, at most.
_TROUBLE: Final = 8


class _Message(NamedTuple):
    what: str
    worker: int
    key: str
    number: int


@dataclass(eq=False)
class _History:
    """The history of a server, drawn as it happens: so the smallest one is the shortest.

    Attributes:
        consistency: 'sync' or 'async'.
        workers: how many there are.
        keys: by their names.
        rounds: pushes of each worker for each key.
        moves: that may happen: 'deliver' a message that is on its way; 'repeat' one that has not
            been answered; 'kill' the server between two messages; 'forget': kill it after it has
            taken in a message, before it is saved; 'drop': kill it then, after saving.
        data: draws them.
        story: the calls that were made, filled in as they are.
    """

    consistency: str
    workers: int
    keys: str
    rounds: int
    moves: tuple[str, ...]
    data: st.DataObject
    story: list[str] = field(default_factory=list)

    def draw(self, many: int, trouble: bool) -> tuple[str, int]:
        """Returns the next move, and which of so many messages it is about."""
        move = self.data.draw(st.sampled_from(self.moves if trouble else _DELIVER))
        return move, self.data.draw(st.integers(0, many - 1))

    def __str__(self) -> str:
        return "\n".join([f"Server({self.workers}, {self.consistency!r}, add)", *self.story])


def _histories(
    consistencies: tuple[str, ...], moves: tuple[str, ...]
) -> st.SearchStrategy[_History]:
    return st.builds(
        _History,
        st.sampled_from(consistencies),
        st.integers(1, 3),
        st.sampled_from(("w", "wb")),
        st.integers(1, 3),
        st.just(moves),
        st.data(),
    )


def _add(value: NumpyArray, gradient: NumpyArray) -> NumpyArray:
    return value + gradient


def _gradient(worker: int, number: int) -> NumpyArray:
    """Returns what a worker pushes: a digit of its own, so that sums can be read."""
    return np.array([number * 10**worker])


@dataclass
class _Serial:
    """The values by the definition.

    Attributes:
        rounds: value of each round, in 'sync'.
        value: with all pushes that have come, in 'async'.
        counted: the number of each worker's last push that is in `value`.
        sent: the same, also of pushes that were lost when the server was killed.
    """

    rounds: list[NumpyArray]
    value: NumpyArray
    counted: list[int]
    sent: list[int]


class _Disk(NamedTuple):
    """The disk that outlives a kill: what the part has saved, and the serial value at that time."""

    state: bytes
    value: NumpyArray
    counted: list[int]


class _World:
    """Workers, a network and a disk around the part."""

    def __init__(self, part: Any, history: _History) -> None:
        self._part, self._history = part, history
        history.story.clear()
        workers = range(history.workers)
        sums = [sum(_gradient(w, n) for w in workers) for n in range(1, history.rounds + 1)]
        self._serial = {}
        for key in history.keys:
            rounds = [np.zeros(1, "int64")]
            for one in sums:
                rounds.append(rounds[-1] + one)
            zeros = [0] * history.workers
            self._serial[key] = _Serial(rounds, rounds[0], list(zeros), list(zeros))
        self._disk: dict[str, _Disk] = {}
        #: Each worker's number, by key; what it waits for; and what is on its way to the server.
        self._at = {(w, key): 0 for w in workers for key in history.keys}
        self._open = [_Message("pull", w, key, 0) for w in workers for key in history.keys]
        self._way = list(self._open)
        self._server = self._new()
        for key in history.keys:
            self._server.make(key, np.zeros(1, "int64"))
            self._save(key)

    def _new(self) -> Any:
        return self._part.Server(self._history.workers, self._history.consistency, _add)

    # -- what happens ------------------------------------------------------------------------

    def play(self) -> None:
        """Lets things happen until everybody has had all answers."""
        waited: list[_Message] = []
        trouble = _TROUBLE
        while self._way or (
            self._history.moves != _DELIVER and self._open and self._open != waited
        ):
            if not self._way:
                waited = list(self._open)  # nothing will come of asking a second time
                self._way = list(waited)
            move, which = self._history.draw(len(self._way), trouble > 0)
            trouble -= move != "deliver"
            if move == "kill":
                self._kill("killed")
            elif move == "repeat":
                self._way.append(
                    self._open[which % len(self._open)] if self._open else self._way[which]
                )
            else:
                self._deliver(self._way.pop(which), move)
        if self._open:
            what, worker, key, number = self._open[0]
            raise Wrong("never", what=what, worker=worker, name=key, number=number)

    def _deliver(self, message: _Message, move: str) -> None:
        """Gives the server a message; then it saves and answers, unless it is killed."""
        what, worker, key, number = message
        gradient: tuple[NumpyArray, ...] = ()
        text = ""
        serial = self._serial[key]
        if what == "push":
            pushed = _gradient(worker, number)
            gradient, text = (pushed,), f", {pushed.tolist()}"
            serial.sent[worker] = max(serial.sent[worker], number)
            if number == serial.counted[worker] + 1:
                serial.counted[worker] = number
                serial.value = serial.value + pushed
        said = getattr(self._server, what)(worker, key, number, *gradient)
        self._tell(f"{what}({worker}, {key!r}, {number}{text})")
        answers = listed(what, said)
        self._history.story[-1] += f" -> {_shown(answers)}"
        for answer in answers:
            self._look_at(*answer)
        if self._history.consistency == "async":
            self._look_for_late(message, answers)
        if what == "push" and answers and move != "forget":
            self._save(key)
        if move in ("forget", "drop"):
            self._kill("killed before that was saved" if move == "forget" else "killed then")
            return
        for one, name, at, value in answers:
            self._take(_Message("push" if value is None else "pull", one, name, at))

    def _save(self, key: str) -> None:
        serial = self._serial[key]
        saved = self._server.save(key)
        self._tell(f"save({key!r})")
        with as_wrong("no_pickle", Exception):
            state = pickle.dumps(saved)
        self._disk[key] = _Disk(state, serial.value, list(serial.counted))

    def _kill(self, how: str) -> None:
        """Ends the server, begins another with what was saved; workers send what is open again."""
        self._tell(f"# {how}; another server begins")
        self._server = self._new()
        for key, disk in self._disk.items():
            self._server.restore(key, pickle.loads(disk.state))
            self._tell(f"restore({key!r}, ...)")
            self._serial[key].value = disk.value
            self._serial[key].counted = list(disk.counted)
        self._way = list(self._open)

    def _take(self, message: _Message) -> None:
        """A worker takes an answer; when it has both of a number, it goes on with the next."""
        if message not in self._open:
            return
        self._open.remove(message)
        _, worker, key, number = message
        waits = any((one.worker, one.key) == (worker, key) for one in self._open)
        if number < self._history.rounds and not waits:
            self._at[worker, key] = number + 1
            ahead = [_Message(what, worker, key, number + 1) for what in ("push", "pull")]
            self._open += ahead
            self._way += ahead

    def _tell(self, line: str) -> None:
        self._history.story.append(line)

    # -- what must hold ----------------------------------------------------------------------

    def _look_at(self, worker: int, key: Any, number: int, value: Any) -> None:
        """Holds an answer against the definition."""
        known = (worker, key) in self._at
        if not known or not isinstance(number, int) or number > self._at[worker, key] or number < 0:
            raise Wrong("not_asked", worker=worker, name=key, number=number)
        serial = self._serial[key]
        if value is None:
            if not 1 <= number <= serial.sent[worker]:
                raise Wrong("not_asked", worker=worker, name=key, number=number)
            return
        if self._history.consistency == "sync":
            missing = [one for one, sent in enumerate(serial.sent) if sent < number]
            if missing:
                raise Wrong("half", worker=worker, number=number, other=missing[0], name=key)
            wanted = serial.rounds[number]
        else:
            if number > serial.counted[worker]:
                raise Wrong("before", worker=worker, number=number, name=key)
            wanted = serial.value
        if not isinstance(value, np.ndarray) or not np.array_equal(value, wanted):
            found = value.tolist() if isinstance(value, np.ndarray) else repr(value)
            raise Wrong(
                f"value_{self._history.consistency}",
                worker=worker, number=number, name=key, found=found, wanted=wanted.tolist(),
            )  # fmt: skip

    def _look_for_late(self, message: _Message, answers: list[tuple[Any, ...]]) -> None:
        """In 'async' nothing waits but a pull that came before its push."""
        what, worker, key, number = message
        if number > self._serial[key].counted[worker]:
            return
        said = [(one, name, at) for one, name, at, v in answers if (v is None) == (what == "push")]
        if message[1:] not in said:
            raise Wrong("late", what=what, worker=worker, name=key, number=number)


def listed(what: str, answers: Any) -> list[tuple[Any, ...]]:
    """Returns the answers, each of four.

    Raises:
        Wrong: they are none.
    """
    if not isinstance(answers, (list, tuple)):
        raise Wrong("no_list", what=what, found=repr(answers))
    for one in answers:
        if not isinstance(one, tuple) or len(one) != 4:
            raise Wrong("no_answer", what=what, found=repr(one))
    return list(answers)


def _shown(answers: list[tuple[Any, ...]]) -> str:
    shown = [
        f"({one}, {key!r}, {number}, {value.tolist() if isinstance(value, np.ndarray) else value})"
        for one, key, number, value in answers
    ]
    return f"[{', '.join(shown)}]"


def _answers(part: Any, history: _History) -> None:
    _World(part, history).play()


@dataclass(frozen=True)
class _Orders:
    """Pushes of one round, and the order in which they come."""

    gradients: tuple[float, ...]
    order: tuple[int, ...]

    def __str__(self) -> str:
        lines = [f"Server({len(self.order)}, 'sync', lambda value, gradient: value / 2 + gradient)"]
        return "\n".join(lines + [f"push({w}, 'w', 1, [{self.gradients[w]}])" for w in self.order])


@st.composite
def _orders(draw: Any) -> _Orders:
    order = draw(st.permutations(range(draw(st.integers(2, 4)))))
    gradients = draw(st.lists(st.sampled_from(_FLOATS), min_size=len(order), max_size=len(order)))
    return _Orders(tuple(gradients), tuple(order))


def _sums_in_order(part: Any, example: _Orders) -> None:
    """The update is made once, with the sum in the order of the workers: to the bit."""

    def update(value: NumpyArray, gradient: NumpyArray) -> NumpyArray:
        return value / 2 + gradient

    gradients = [np.array([one], "float32") for one in example.gradients]
    server, first = part.Server(len(gradients), "sync", update), np.array([4.0], "float32")
    server.make("w", first)
    for worker in example.order:
        server.push(worker, "w", 1, gradients[worker].copy())
    wanted = update(first, reduce(np.add, gradients))
    answers = listed("pull", server.pull(0, "w", 1))
    found = [value for worker, _, number, value in answers if (worker, number) == (0, 1)]
    if not found or not np.array_equal(found[0], wanted):
        shown = found[0].tolist() if found else "-"
        raise Wrong("rounding", found=shown, wanted=wanted.tolist())


def _does_not_grow(part: Any) -> None:
    """Checks that what a server has, and what it saves, is as large after 40 rounds as after 4."""
    for consistency in ("sync", "async"):
        sizes = []
        for rounds in (4, 40):
            server = part.Server(2, consistency, _add)
            server.make("w", np.zeros(1, "int64"))
            for number in range(1, rounds + 1):
                for worker in range(2):
                    server.push(worker, "w", number, np.ones(1, "int64"))
                for worker in range(2):
                    server.pull(worker, "w", number)
                    server.pull(worker, "w", number)
            sizes.append((_entries(server), _entries(server.save("w"))))
        if sizes[1] != sizes[0]:
            raise Wrong(
                "grows", consistency=consistency, few=sizes[0][0], many=sizes[1][0],
                few_saved=sizes[0][1], many_saved=sizes[1][1],
            )  # fmt: skip


def _entries(value: Any) -> int:
    """Returns how many entries a value has, with all that is in it."""
    if isinstance(value, Mapping):
        return len(value) + sum(_entries(one) for one in value.values())
    if isinstance(value, np.ndarray):
        return int(value.size)
    if isinstance(value, (str, bytes)):
        return len(value)
    if isinstance(value, Collection):
        return len(value) + sum(_entries(one) for one in value)
    return _entries(vars(value)) if hasattr(value, "__dict__") and not callable(value) else 0


_BOTH: Final = ("sync", "async")

CHECKS: Final = (
    Check("sync", _answers, _histories(("sync",), _DELIVER), tries=100),
    Check("async", _answers, _histories(("async",), _DELIVER), tries=100),
    Check("once", _answers, _histories(_BOTH, _REPEAT)),
    Check("killed", _answers, _histories(_BOTH, _KILL), tries=300),
    Check("order", _sums_in_order, _orders()),
    Check("memory", _does_not_grow),
)
