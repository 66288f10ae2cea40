"""The connection of a gang's processes: who is there, what they tell each other, and JAX's own.

Rank 0 starts the `relay`, to which all connect; it runs the service by which JAX's devices of
several processes find each other. `jax.distributed.initialize` starts that service in rank 0 and
has it find out who is alive, and then a process that dies ends all others by SIGABRT. Here they are
told instead. That needs names that are private to JAX; with a JAX that lacks them, `connect` says
so.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from typing import IO, Any, Final, final

from hybridnet.base.errors import MXNetError
from hybridnet.base.jax_private import gang_client, gang_state
from hybridnet.engine import RLock

from .membership import Membership
from .relay import LINE, attempt, keep_alive
from .secret import HELLO, Secret, TalkError, read_line, secret_of

# Seconds between tries to reach rank 0's machine, and after which one try has failed.
_AGAIN: Final = 0.1
_TRY: Final = 2.0
# Seconds that the relay may take to end once it has closed its connections, and bytes of what it
# said last that are told.
_ENDS: Final = 0.5
_SAID: Final = 2000
# Bytes of all names at most.
_NAMES: Final = 1 << 24
# JAX's own heartbeats, as `relay` has them.
_HEARTBEAT: Final = 3600

#: Called from another thread with who said something, and what; or with None and nothing where
#: the connection itself is lost.
Hear = Callable[[int | None, Mapping[str, Any]], None]


@final
class _RelayProcess:
    """The relay, as rank 0 has started it: how it ended, and what it said on standard error.

    That goes to a file without a name: the relay outlives rank 0, and would hold open a pipe that
    others read to its end.

    Args:
        pid: of the process.
        errors: the file.
    """

    def __init__(self, pid: int, errors: IO[bytes]) -> None:
        self._pid = pid
        self._errors = errors
        self._begun = 0

    def has_begun(self) -> None:
        """Notes that it serves: what it has said until now, such as JAX's warnings, is no news."""
        self._begun = os.fstat(self._errors.fileno()).st_size

    def end(self) -> str:
        """Returns how it ended, and the last that it said."""
        size = os.fstat(self._errors.fileno()).st_size
        said = os.pread(self._errors.fileno(), _SAID, max(self._begun, size - _SAID))
        lines = [line for line in said.decode(errors="replace").splitlines() if line.strip()]
        words = "; it said:\n" + "\n".join(f"  | {line}" for line in lines) if lines else ""
        return self._how() + words

    def _how(self) -> str:
        until = time.monotonic() + _ENDS
        try:
            while True:
                ended, status = os.waitpid(self._pid, os.WNOHANG)
                if ended or time.monotonic() > until:
                    break
                time.sleep(_ENDS / 100)
        except ChildProcessError:  # somebody else has waited for it
            return "it has ended"
        code = os.waitstatus_to_exitcode(status)
        if not ended:
            return "it is still there"
        return (
            f"it was ended by {signal.Signals(-code).name}" if code < 0 else f"its status is {code}"
        )


@final
class Coordination:
    """One process's connection.

    Args:
        connection: to the relay.
        names: of all processes, by rank.
        client: JAX's.
        relay: the relay; None: another process has started it.
    """

    def __init__(
        self,
        connection: socket.socket,
        names: list[str],
        client: Any,
        relay: _RelayProcess | None,
    ) -> None:
        self.names = names
        self._relay = relay
        self._connection = connection
        self._client = client
        self._lock = RLock()

    def listen(self, hear: Hear) -> None:
        """Calls a function with whatever the others say from now on, in a thread of its own."""
        threading.Thread(
            target=self._read, args=(hear,), name="hybridnet-gang", daemon=True
        ).start()

    def _read(self, hear: Hear) -> None:
        with contextlib.suppress(OSError, TalkError), self._connection.makefile("rb") as lines:
            for line in lines:
                message = read_line(line)
                hear(message.get("from"), message)
        hear(None, {})

    def tell(self, message: Mapping[str, Any]) -> None:
        """Tells all others something."""
        data = json.dumps(message).encode()[: LINE - 1] + b"\n"
        with self._lock, contextlib.suppress(OSError):  # whoever reads sees that it is lost
            self._connection.sendall(data)

    def how_it_ended(self) -> str:
        """Returns how the relay ended and what it said, in the process that has started it."""
        return "rank 0 says how" if self._relay is None else self._relay.end()

    def close(self) -> None:
        """Parts from the others: nothing is said or heard any more."""
        with contextlib.suppress(RuntimeError):  # others may be gone already
            self._client.shutdown()
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)


def connect(member: Membership, patience: float, bind: str) -> Coordination:
    """Connects this process with the others, before JAX begins.

    Args:
        member: its place.
        patience: seconds to wait for the others.
        bind: the host on which rank 0 listens.

    Raises:
        MXNetError: they did not come, there is no token, or this JAX is of another kind.
    """
    try:
        state = gang_state()
    except (ImportError, AttributeError) as error:
        raise _unknown(error) from error
    secret = secret_of(member.host)
    until = time.monotonic() + patience
    relay = _start_relay(bind, member, secret) if member.rank == 0 else None
    connection, message = _welcomed(member, secret, until, patience)
    try:
        client = gang_client(
            f"{member.host}:{message['port']}",
            member.rank,
            init_timeout=max(1, round(patience)),
            heartbeat_timeout=_HEARTBEAT,
            shutdown_on_destruction=False,
            use_compression=True,
        )
        client.connect()
    except (ImportError, AttributeError) as error:
        connection.close()
        raise _unknown(error) from error
    except RuntimeError as error:
        connection.close()
        raise _missed(member, patience, error) from error
    connection.settimeout(None)
    # Where JAX's backends, which begin later, find whom they belong to.
    state.client, state.process_id, state.num_processes = client, member.rank, member.size
    state.coordinator_address = member.address
    return Coordination(connection, message["names"], client, relay)


def _unknown(error: Exception) -> MXNetError:
    return MXNetError(f"distributed.initialize: this version of JAX lacks a name: {error}")


def _start_relay(bind: str, member: Membership, secret: Secret) -> _RelayProcess:
    """Starts the relay, which ends by itself, and waits until it listens."""
    module = f"{__package__}.relay"
    errors = tempfile.TemporaryFile()  # noqa: SIM115
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", module, bind, str(member.port), str(member.size)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        start_new_session=True,  # what ends rank 0's group must not end it
        text=True,
    )
    assert process.stdin is not None and process.stdout is not None
    # Closing tells it, too, so that this is inside.
    with contextlib.suppress(BrokenPipeError), process.stdin as told:
        told.write(f"{secret.text}\n")  # nobody sees it there, as in a command line
    with process.stdout as lines:
        said = lines.readline().strip()
    # It outlives this process, which waits for it only where it ended too early.
    process.returncode = 0
    relay = _RelayProcess(process.pid, errors)
    if said != "ready":
        why = said or f"of the process for it: {relay.end()}"
        errors.close()
        raise MXNetError(
            f"distributed.initialize: rank 0 cannot coordinate at {member.address}: {why}"
        )
    relay.has_begun()
    return relay


def _reached(member: Membership, until: float, patience: float) -> socket.socket:
    """Returns a connection to the relay, which may begin later."""
    while True:
        try:
            connection = socket.create_connection((member.host, member.port), _TRY)
        except OSError as error:
            if time.monotonic() > until:
                raise _missed(member, patience, error) from error
            time.sleep(_AGAIN)
            continue
        keep_alive(connection)
        return connection


def _welcomed(
    member: Membership, secret: Secret, until: float, patience: float
) -> tuple[socket.socket, dict[str, Any]]:
    """Returns a connection to the relay, and what it says when all are there."""
    while True:
        connection = _reached(member, until, patience)
        try:
            message = _welcome(connection, member, secret, until)
        except (OSError, ValueError) as error:
            connection.close()
            # That of an earlier start answers nothing: it is about to end.
            if not isinstance(error, _NoAnswer) or time.monotonic() > until:
                raise _missed(member, patience, error) from error
            time.sleep(_AGAIN)
            continue
        if "refused" in message:
            connection.close()
            raise MXNetError(f"distributed.initialize: {message['refused']}")
        return connection, message


class _NoAnswer(ConnectionError):
    """The relay has closed the connection without a word."""


def _welcome(
    connection: socket.socket, member: Membership, secret: Secret, until: float
) -> dict[str, object]:
    """Shows the token, and has it shown; says who this is, and waits until all are there."""
    theirs, ours = str(_line(connection, HELLO, until).get("nonce")), Secret.nonce()
    _say(connection, {"nonce": ours, "proof": secret.proof("rank", theirs, ours)})
    answer = _line(connection, HELLO, until)
    if "refused" in answer:
        return answer
    if not secret.holds(answer.get("proof"), "relay", theirs, ours):
        return {"refused": f"who answers at {member.address} does not have this gang's token"}
    name = f"{socket.gethostname()}, process {os.getpid()}"
    hello = {"rank": member.rank, "size": member.size, "name": name, "attempt": attempt()}
    _say(connection, hello)
    message = _line(connection, _NAMES, until)
    # Else somebody came and went before all were there.
    if "names" not in message and "refused" not in message:
        raise ConnectionError(f"rank {message.get('from')} has ended")
    return message


def _say(connection: socket.socket, message: Mapping[str, Any]) -> None:
    connection.sendall(json.dumps(message).encode() + b"\n")


def _line(connection: socket.socket, most: int, until: float) -> dict[str, object]:
    """Reads a message byte by byte, as what follows it is for who reads later."""
    heard = b""
    while not heard.endswith(b"\n"):
        connection.settimeout(max(until - time.monotonic(), 0.01))
        try:
            data = connection.recv(1)
        except ConnectionResetError:  # it ended before it had read what was sent
            data = b""
        if not data:
            raise _NoAnswer("rank 0 does not answer")
        heard += data
        if len(heard) > most:
            raise TalkError(f"rank 0 says more than {most} bytes")
    return read_line(heard)


def _missed(member: Membership, patience: float, error: Exception) -> MXNetError:
    return MXNetError(
        f"distributed.initialize: rank {member.rank} of {member.size} found not all others at "
        f"{member.address} in {patience:g} s: {error}"
    )
