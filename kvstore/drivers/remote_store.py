"""A worker's parameter server over machines: host arrays in, completions out.

    store = RemoteStore(Cluster.from_environment())      # says hello; waits for the scheduler
    store.configure("sum", {})                           # by rank 0
    store.init("w", np.zeros(8, np.float32))             # by rank 0 (others may; it is ignored)
    store.barrier()
    store.push("w", gradient, done=None)                 # returns at once
    arrived = Completion()
    store.pull("w", out, done=arrived)                   # returns at once
    arrived.wait()                                       # out is written

One thread owns the sockets and runs the worker's state machine; the caller's thread only puts into
its queue. `done(error)` is called on that thread, with None or the exception, exactly once; it
must be quick. Arrays that are given to `push` must not be written before its `done`; `out` of
a pull is written before its `done` and not afterwards.
"""

from __future__ import annotations

import itertools
import json
import os
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, final

import numpy as np

from hybridnet.engine import RLock
from hybridnet.kvstore.cluster import Cluster
from hybridnet.kvstore.drivers.completion import Completion
from hybridnet.kvstore.drivers.known_keys import KnownKeys, flat, keys_of_servers
from hybridnet.kvstore.drivers.plans import key_of, plan_of
from hybridnet.kvstore.drivers.residuals import Residuals
from hybridnet.kvstore.drivers.worker_driver import Callback, Outgoing, Waiting, WorkerDriver
from hybridnet.kvstore.errors import DeadNodeError, KVStoreError, RunOverError
from hybridnet.kvstore.messages import Key
from hybridnet.kvstore.protocol.parts import parts_of
from hybridnet.kvstore.protocol.words import (
    SCHEDULER,
    CallBarrier,
    CallCommand,
    CallConfigure,
    CallInit,
    CallLeave,
    CallPull,
    CallPush,
    CallRestore,
    CallStates,
    Incoming,
    KeySpec,
    StoreSettings,
)
from hybridnet.kvstore.storage.dtypes import Array
from hybridnet.kvstore.storage.pushed import part_of
from hybridnet.kvstore.storage.updates import PartOf
from hybridnet.kvstore.transport.interface import Transport
from hybridnet.kvstore.transport.json_words import write_word
from hybridnet.kvstore.transport.zmq_transport import ZmqTransport

__all__ = ["Completion", "Done", "RemoteStore"]

#: What is called when something is complete: with None, or with what went wrong.
Done = Callback

_PRIORITIES: Final = 2**31 - 1
#: Characters of the settings of all stores together: the view of the run, which has them, is sent
#: to all whenever something changes, and may have twice as many (`wire.py`).
_MOST_SETTINGS: Final = 1 << 19
_LINGER: Final = 1.0  # seconds that the last messages may take to leave


@final
class RemoteStore:
    """Init, push, pull, barrier of one worker.

    Args:
        cluster: who this process is and where the scheduler is. It waits until all workers and
            servers have said hello.
        timeout: seconds to wait for that; by default `cluster.connect`.

    Attributes:
        rank: of this worker, 0 to `num_workers - 1`.
        num_workers: how many workers there are.
        num_servers: how many servers there are.
        generation: the attempt of this process; above 0 it replaces one that died.
        resumes: of a process that replaces one: so many pushes of each key count already. It goes
            on with the next; else 0.

    Raises:
        DeadNodeError: a peer is gone, or did not come.
        RunOverError: all workers have finished, the one that this process replaces among them.
        KVStoreError: the scheduler refuses this process (another run, a wrong token).
        ImportError: pyzmq is missing; says what to install.
    """

    def __init__(self, cluster: Cluster, *, timeout: float | None = None) -> None:
        self._cluster = cluster
        self._plan = plan_of(cluster)
        self._pid = os.getpid()
        self._keys = KnownKeys()
        self._numbers = itertools.count(1)
        self._inbox: deque[tuple[Incoming, Waiting]] = deque()
        self._idle = self._told = False
        self._lock = RLock()
        self._rules: dict[int, _Rules] = {}  # by store
        self._sizes: dict[int, int] = {}  # by store, of its settings
        self._ended: BaseException | None = None
        self._began = Completion()
        self._residuals: Residuals | None = None
        self._transport: Transport = ZmqTransport(
            token=cluster.token, encrypt=cluster.encrypt, me=key_of(cluster)
        )
        self._driver = WorkerDriver(cluster, self._transport)
        self._thread = threading.Thread(target=self._run, name="hybridnet-dist", daemon=True)
        self._thread.start()
        self._wait_for_all(cluster.connect if timeout is None else timeout)
        begun = self._driver.begun
        assert begun is not None
        self.rank = begun.rank
        self.num_workers = cluster.workers
        self.num_servers = cluster.servers
        self.generation = cluster.generation
        self.resumes = begun.resumes
        self._residuals = Residuals(cluster.state_folder, self.rank)
        if self.resumes:
            try:
                self._recall_keys()
            except KVStoreError:
                self._thread.join(cluster.deadline)
                if isinstance(self._ended, RunOverError):
                    raise self._ended from None
                raise

    def _wait_for_all(self, timeout: float) -> None:
        try:
            self._began.wait(timeout)
        except BaseException as error:
            self._ended = error
            self._transport.wake()
            self._thread.join()
            if not isinstance(error, TimeoutError):
                raise
            cluster = self._cluster
            raise DeadNodeError(
                f"a distributed run requires {', '.join(cluster.counted())} "
                f"and a scheduler at {cluster.root}:{cluster.port}, but not all of them came in "
                f"{timeout:g} s (HYBRIDNET_DIST_CONNECT)"
            ) from None

    def _recall_keys(self) -> None:
        """Makes the keys that the process before this one made, in its order.

        So a script may make them in another order, or ask for the shapes that they have.
        """
        waits = []
        for name, spec in keys_of_servers(self._ask_keys, self._plan):
            self._keys.recall(name, spec)
            waits.append(Completion())
            self._call(partial(CallInit, name=name, spec=spec), Waiting(waits[-1]))
        for one in waits:
            one.wait()

    def _ask_keys(self, first: int) -> Sequence[str]:
        wait = Completion()
        asked = Waiting(wait)
        self._call(partial(CallCommand, name="keys", body=str(first)), asked, wait)
        return asked.answers

    # -- the thread ----------------------------------------------------------------------------

    def _run(self) -> None:
        driver = self._driver
        error: BaseException = KVStoreError("the store is closed")
        try:
            self._transport.connect(SCHEDULER, f"tcp://{self._cluster.root}:{self._cluster.port}")
            driver.start()
            while driver.finished is None and self._ended is None:
                self._take_calls()
                if driver.finished is None:
                    driver.turn(0.0 if self._inbox else None)
                    self._idle = False
                if driver.begun is not None and not self._told:
                    self._told = True
                    self._began(None)
            finish = driver.finished
            if finish is not None and finish.code:
                kind = DeadNodeError if finish.code == "dead" else KVStoreError
                error = kind(finish.sentence)
            elif finish is not None and finish.sentence:
                error = RunOverError(finish.sentence)
        except BaseException as raised:  # it must reach those who wait
            error = raised
        self._end(error)

    def _take_calls(self) -> None:
        """Hands what callers have asked for to the machine."""
        driver, inbox = self._driver, self._inbox
        self._idle = True  # from here on callers ring
        while inbox and driver.finished is None:
            event, waiting = inbox.popleft()
            if isinstance(event, CallPush) and inbox:
                event, waiting = self._with_pull(event, waiting)
            driver.calls[event.call] = waiting  # type: ignore[union-attr]
            if isinstance(event, CallPush):
                self._compress(event)
            driver.handle(event)

    def _with_pull(self, push: CallPush, waiting: Waiting) -> tuple[CallPush, Waiting]:
        """Makes one call of a push and the pull of the same key behind it: half the messages."""
        pull, other = self._inbox[0]
        if (
            not isinstance(pull, CallPull)
            or pull.name != push.name
            or pull.rows is not None
            or push.rows is not None
            or push.wants_value
            or self._is_held_back(push.name)
        ):
            return push, waiting
        self._inbox.popleft()
        push.wants_value = True
        waiting.out = other.out
        if waiting.done is _ignore:
            waiting.done = other.done
            return push, waiting
        first, second = waiting.done, other.done

        def done(error: BaseException | None) -> None:
            first(error)
            second(error)

        waiting.done = done
        return push, waiting

    def _is_held_back(self, key: Key) -> bool:
        """Whether a pull of a key may have to wait longer than the push before it."""
        return self._rules_of(self._keys.find("pull", key).spec).staleness is not None

    def _rules_of(self, spec: KeySpec) -> _Rules:
        return self._rules.get(spec.store, _NO_RULES)

    def _compress(self, event: CallPush) -> None:
        key, given = self._keys.find("push", event.name), event.payload
        threshold = self._rules_of(key.spec).threshold
        if threshold is None:
            return
        if event.rows is not None or key.spec.rows or key.spec.dtype != "float32":
            return
        machine = self._driver.machine
        number, pushes = machine.key_number(event.name), machine.pushes_of(event.name)
        assert self._residuals is not None
        residual = self._residuals.begin(number, key.spec.size, pushes)
        parts = parts_of(0, event.name, key.spec, self._plan)
        WorkerDriver.compress(given, parts, residual, threshold)
        self._residuals.commit(number, pushes + 1)

    def _end(self, error: BaseException) -> None:
        with self._lock:
            self._ended = self._ended or error
        for event, waiting in self._inbox:
            self._driver.calls[event.call] = waiting  # type: ignore[union-attr]
        self._inbox.clear()
        self._driver.fail_all(error)
        self._driver.close(_LINGER)
        if self._residuals is not None:
            self._residuals.close()
        if not self._told:
            self._began(error)

    def _call(
        self, make: Callable[[int], Incoming], waiting: Waiting, wait: Completion | None = None
    ) -> None:
        """Hands a call to the thread."""
        if os.getpid() != self._pid:
            raise KVStoreError(
                "a distributed store belongs to the process that made it, and this one was forked "
                "from it; use the store in the parent, or make one in a process of its own"
            )
        with self._lock:
            if self._ended is not None:
                raise KVStoreError(f"the store does nothing any more: {self._ended}")
            self._inbox.append((make(next(self._numbers)), waiting))
        if self._idle:
            self._idle = False
            self._transport.wake()
        if wait is not None:
            wait.wait()

    # -- what callers ask for --------------------------------------------------------------------

    def configure(
        self,
        optimizer: str,
        parameters: Mapping[str, Any],
        *,
        consistency: str = "sync",
        compression: Mapping[str, Any] | None = None,
        staleness: int | None = None,
        store: int = 0,
        changes: bool = False,
        done: Done | None = None,
    ) -> None:
        """Tells all servers what to do with gradients. Rank 0's counts; of others it is ignored.

        It is said for the keys of one store: a program may have several, which know nothing of each
        other.

        A worker that was started again says it once more at its beginning, as its program does,
        and changes nothing: servers have what holds by now.

        Args:
            optimizer: a name in `hybridnet.kvstore.storage.updates`: "assign" (as MXNet without an
                optimizer), "sum", or one that a module of the servers registers.
            parameters: JSON: numbers, strings, lists, dicts, None.
            consistency: "sync" or "async".
            compression: {"type": "2bit", "threshold": 0.5}, or None.
            staleness: for async, how many pushes a worker may be ahead; None for any number.
            store: for the keys that are made with this number; the same in all workers.
            changes: whether something else held before, and all workers call it before the same
                push to the store, when all that they have pushed to it counts.
            done: called when all servers do so; None: this call waits for that.

        Raises:
            KVStoreError: an argument is none of that.
        """
        if consistency not in ("sync", "async"):
            raise KVStoreError(f"consistency must be 'sync' or 'async', got {consistency!r}")
        rules = _Rules(_threshold(compression), staleness)
        text = "" if optimizer == "assign" else _json({"name": optimizer, "parameters": parameters})
        codec = "" if rules.threshold is None else _json({"threshold": rules.threshold})
        kind: Any = consistency
        settings = StoreSettings(0, kind, text, staleness, codec, store)
        self._check_size(settings)
        self._rules[store] = rules
        done, wait = _waited(done)
        self._call(lambda call: CallConfigure(call, settings, changes), Waiting(done), wait)

    def _check_size(self, settings: StoreSettings) -> None:
        others = sum(size for store, size in self._sizes.items() if store != settings.store)
        size = len(write_word(settings))
        if others + size > _MOST_SETTINGS:
            raise KVStoreError(
                f"configure requires the settings of all stores of a run to have {_MOST_SETTINGS} "
                f"characters of JSON together, got {others + size} with those of store "
                f"{settings.store}; use the stores that there are again, instead of new ones"
            )
        self._sizes[settings.store] = size

    def optimizer(self, store: int = 0) -> tuple[str, Mapping[str, Any]]:
        """The optimizer of a store at the servers: the arguments of the `configure` that holds."""
        settings = self._driver.view.settings_of(store)
        if not settings.optimizer:
            return "assign", {}
        found = json.loads(settings.optimizer)
        return found["name"], found["parameters"]

    def init(
        self, key: Key, value: Array, *, is_rows: bool = False, is_whole: bool = False,
        store: int = 0, done: Done | None = None,
    ) -> None:  # fmt: skip
        """Makes a key with its first value. All ranks call it; rank 0's value counts.

        Args:
            key: text or int.
            value: any shape; float32, float64, float16, bfloat16 or an integer type. It is copied.
            is_rows: whether this is a row-sparse table: pushed and pulled by rows.
            is_whole: whether one server is to have all of it, for an optimizer whose update of an
                element depends on the others.
            store: whose `configure` says what is done with its pushes.
            done: called when it is there; None: this call waits for that.

        Raises:
            KVStoreError: the key exists, or its values are of another kind.
        """
        known = self._keys.new(key, value, is_rows, is_whole, store)
        spec = known.spec
        if known.recalled:
            known.recalled = False
            if done is not None:
                done(None)
            return
        own = np.array(value, known.dtype, order="C") if self.rank == 0 else value
        sent = Outgoing(flat(own, spec))
        done, wait = _waited(done)
        self._call(lambda call: CallInit(call, key, spec, sent), Waiting(done, sent), wait)

    def recalled_shape(self, key: Key) -> tuple[int, ...] | None:
        """The shape of a key that the process made which this one replaces.

        Returns:
            It; None where there is no such key, or `init` has made it here by now.
        """
        return self._keys.recalled_shape(key)

    def push(self, key: Key, value: Array, *, priority: int = 0, done: Done | None = None) -> None:
        """Sends a gradient. Returns at once.

        Args:
            key: an initialised one.
            value: shape and dtype as the key's, C-contiguous. Not to be written before `done`.
            priority: of what waits to be sent, the higher goes first.
            done: called when it counts for good (it is committed by all its servers).

        Raises:
            KVStoreError: there is no such key, or the value does not fit it.
        """
        sent = Outgoing(flat(value, self._keys.fitting("push", key, value)))
        self._call(
            lambda call: CallPush(call, key, sent, None, _clamped(priority)),
            Waiting(done or _ignore, sent),
        )

    def pull(self, key: Key, out: Array, *, priority: int = 0, done: Done | None = None) -> None:
        """Fetches the value after this worker's pushes so far. Returns at once.

        Args:
            key: an initialised one.
            out: is written; shape and dtype as the key's, C-contiguous.
            priority: as in `push`.
            done: called when `out` is written; None: this call waits for that.

        Raises:
            KVStoreError: there is no such key, or `out` does not fit it.
        """
        there = flat(out, self._keys.fitting("pull", key, out))
        done, wait = _waited(done)
        self._call(
            lambda call: CallPull(call, key, None, _clamped(priority)),
            Waiting(done, out=there),
            wait,
        )

    def push_pull(
        self, key: Key, value: Array, out: Array, *, priority: int = 0, done: Done | None = None
    ) -> None:
        """A push whose answer is the new value: one round trip.

        Args:
            key: an initialised one.
            value: as in `push`.
            out: as in `pull`; another array than `value`, which may have to be sent again.
            priority: as in `push`.
            done: called when `out` is written; None: this call waits for that.

        Raises:
            KVStoreError: there is no such key, or an array does not fit it.
        """
        if self._is_held_back(key):
            self.push(key, value, priority=priority)
            self.pull(key, out, priority=priority, done=done)
            return
        sent = Outgoing(flat(value, self._keys.fitting("push", key, value)))
        there = flat(out, self._keys.fitting("pull", key, out))
        done, wait = _waited(done)
        self._call(
            lambda call: CallPush(call, key, sent, None, _clamped(priority), True),
            Waiting(done, sent, there),
            wait,
        )

    def push_rows(
        self, key: Key, rows: Array, values: Array, *, priority: int = 0, done: Done | None = None
    ) -> None:
        """Sends the gradient of some rows of a table. Returns at once.

        Args:
            key: one that was initialised with `is_rows=True`.
            rows: (n,) int64, ascending, each once.
            values: (n, ...) the rows.
            priority: as in `push`.
            done: as in `push`.

        Raises:
            KVStoreError: there is no such table, or the rows do not fit it.
        """
        table = self._keys.fitting_rows("push_rows", key, rows, values)
        sent = Outgoing(values.reshape(len(rows), table.size // table.rows), rows)
        self._call(
            lambda call: CallPush(call, key, sent, rows, _clamped(priority)),
            Waiting(done or _ignore, sent),
        )

    def row_sparse_pull(
        self, key: Key, rows: Array, out: Array, *, priority: int = 0, done: Done | None = None
    ) -> None:
        """Fetches some rows of a table: `out[i] = table[rows[i]]`.

        Args:
            key: one that was initialised with `is_rows=True`.
            rows: (n,) int64, ascending, each once.
            out: (n, ...), is written.
            priority: as in `push`.
            done: called when `out` is written; None: this call waits for that.

        Raises:
            KVStoreError: there is no such table, or the rows do not fit it.
        """
        table = self._keys.fitting_rows("row_sparse_pull", key, rows, out)
        done, wait = _waited(done)
        there = out.reshape(len(rows), table.size // table.rows)
        waiting = Waiting(done, out=there, rows=rows)
        self._call(lambda call: CallPull(call, key, rows, _clamped(priority)), waiting, wait)

    def parts(self, key: Key) -> list[PartOf]:
        """Returns the parts of a key, as `Updates` know them.

        Raises:
            KVStoreError: there is no such key.
        """
        spec = self._keys.find("parts", key).spec
        return [part_of(key, spec, part) for part in parts_of(0, key, spec, self._plan)]

    def states(self, key: Key) -> list[tuple[int, Array]]:
        """Fetches what the servers have of a key, with all pushes of this worker so far.

        Returns:
            For each of its `parts` how many updates the optimizer has counted, and the bytes of the
            value and of the optimizer's states, one after the other.

        Raises:
            KVStoreError: there is no such key, or the servers cannot answer.
        """
        count, wait, found = len(self.parts(key)), Completion(), dict[int, tuple[int, Array]]()
        self._call(lambda call: CallStates(call, key), Waiting(wait, states=found), wait)
        return [found[index] for index in range(count)]

    def put_states(self, key: Key, parts: Sequence[Array], updates: int, number: int) -> None:
        """Puts values and states in the place of what the servers have; waits for that.

        Args:
            key: an initialised one, that nobody else pushes meanwhile.
            parts: as in `states`, for each of its `parts`.
            updates: how many updates the optimizer is to have counted.
            number: the how-manieth call for this key in this run, from 1; an older one than the
                servers have had, of a process that replaces one that died, changes nothing.

        Raises:
            KVStoreError: there is no such key, or the states are of another optimizer.
        """
        self._keys.find("put_states", key)
        payload, wait = list(parts), Completion()
        self._call(lambda call: CallRestore(call, key, payload, updates, number),
                   Waiting(wait), wait)  # fmt: skip

    def barrier(self, name: str = "", *, done: Done | None = None) -> None:
        """Waits until all workers have called it as often.

        Args:
            name: barriers of different names are independent.
            done: called then; None: this call waits.
        """
        done, wait = _waited(done)
        self._call(lambda call: CallBarrier(call, name), Waiting(done), wait)

    def command(self, head: int | str, body: str, *, done: Done | None = None) -> None:
        """Sends a command to all servers: MXNet's `_send_command_to_servers`; known ones only."""
        done, wait = _waited(done)
        self._call(lambda call: CallCommand(call, str(head), body), Waiting(done), wait)

    def snapshot(self, name: str, *, done: Done | None = None) -> None:
        """Makes all servers write values and states to files `NAME.server-RANK.npz`.

        Args:
            name: a path below the folder that the job has named for snapshots
                (`Cluster.snapshots`); relative ones begin there.
            done: as in `command`.
        """
        self.command("snapshot", name, done=done)

    def dead_nodes(self) -> list[str]:
        """Returns who is gone, as "worker 1 on host h (killed by signal 9)"; empty if nobody is."""
        return [
            f"{one.peer.role} {one.peer.rank} on host {one.host} ({one.reason or 'not heard of'})"
            for one in self._driver.view.peers
            if one.state in ("lost", "gone")
        ]

    def statistics(self) -> Mapping[str, int]:
        """Returns counts: parts pushed and pulled, messages refused, bytes, calls outstanding."""
        driver = self._driver
        return {
            "parts_pushed": driver.pushed,
            "parts_pulled": driver.pulled,
            "refused": driver.refused,
            "bytes_sent": driver.bytes_sent,
            "bytes_received": driver.bytes_received,
            "outstanding": len(driver.calls) + len(self._inbox),
        }

    def close(self, *, barrier: bool = True, timeout: float | None = None) -> None:
        """Ends this worker's part of the run; later calls are refused. Idempotent.

        Args:
            barrier: whether to wait until the other workers have come to their ends, too (MXNet's
                barrier before exit). They learn at once that this one pushes no more.
            timeout: seconds; by default no limit with `barrier`, else `cluster.deadline`.
        """
        if os.getpid() != self._pid or self._ended is not None:
            return
        try:
            left = Completion()
            self._call(lambda call: CallLeave(call, barrier), Waiting(left))
            left.wait(self._cluster.deadline if timeout is None and not barrier else timeout)
        except (KVStoreError, TimeoutError):
            pass  # who is gone need not be waited for
        with self._lock:
            self._ended = self._ended or KVStoreError("it was closed")
        self._transport.wake()
        if threading.current_thread() is not self._thread:
            self._thread.join(self._cluster.deadline)

    def is_cut(self, key: Key) -> bool:
        """Whether a key is in several parts, each of which is updated on its own."""
        return len(self.parts(key)) > 1


@final
@dataclass(frozen=True, slots=True)
class _Rules:
    """The rules of this worker for the pushes and pulls of a store's keys.

    Attributes:
        threshold: of 2-bit compression; None without it.
        staleness: as in `RemoteStore.configure`.
    """

    threshold: float | None = None
    staleness: int | None = None


_NO_RULES: Final = _Rules()


def _waited(done: Done | None) -> tuple[Done, Completion | None]:
    """Returns what is called at the end, and what the caller waits for, if it does."""
    if done is not None:
        return done, None
    wait = Completion()
    return wait, wait


def _ignore(error: BaseException | None) -> None:
    """Nobody asked to hear of it; what went wrong fails the next call, too."""


def _clamped(priority: int) -> int:
    return max(-_PRIORITIES, min(_PRIORITIES, priority))


def _json(value: Any) -> str:
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise KVStoreError(f"a server's settings must be JSON: {error}") from None


def _threshold(compression: Mapping[str, Any] | None) -> float | None:
    """Returns the threshold of 2-bit compression, None without compression."""
    if not compression or compression.get("type") == "none":
        return None
    threshold = float(compression.get("threshold", 0.5))
    if compression.get("type") != "2bit" or not threshold > 0:
        raise KVStoreError(
            f"gradient compression must be of type '2bit' with a threshold above 0, got "
            f"{dict(compression)}"
        )
    return threshold
