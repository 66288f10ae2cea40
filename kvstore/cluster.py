"""The settings of a process of a distributed run, read once from its environment and checked.

The names that begin with ``DMLC_`` and ``MXNET_KVSTORE_`` are those of MXNet's launchers, so theirs
start our processes, too. What MXNet has no name for begins with ``HYBRIDNET_DIST_``.
"""

from __future__ import annotations

import ipaddress
import os
import socket
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, final

from hybridnet.kvstore.errors import KVStoreError
from hybridnet.kvstore.protocol.words import server_processes
from hybridnet.kvstore.run_token import TOKEN, TOKEN_FILE, RunToken
from hybridnet.kvstore.system import check_system, memory_folder

Role = Literal["worker", "server", "scheduler"]

ROLES: Final[tuple[Role, ...]] = ("worker", "server", "scheduler")
#: What the names of all these variables begin with: launchers hand them on.
PREFIXES: Final = ("DMLC_", "PS_", "MXNET_KVSTORE_", "HYBRIDNET_DIST_")

#: Exit status of a server or scheduler that cannot begin: its settings are wrong, say.
CANNOT_SERVE: Final = 4

_MAX_PROCESSES: Final = 1 << 16  # processes of a role: a rank has 16 bits in a message
#: SIOCGIFADDR, of macOS and of Linux.
_ASK_ADDRESS: Final = 0xC0206921 if sys.platform == "darwin" else 0x8915


@final
@dataclass(frozen=True, slots=True)
class Cluster:
    """The settings of one process of a distributed run.

    Attributes:
        role: DMLC_ROLE: what this process is (default worker).
        root: DMLC_PS_ROOT_URI: where the scheduler is, a host's name or address.
        port: DMLC_PS_ROOT_PORT: its port.
        workers: DMLC_NUM_WORKER: how many there are.
        servers: DMLC_NUM_SERVER: how many there are; 0: the workers are a gang without servers.
        token: HYBRIDNET_DIST_TOKEN, or the file HYBRIDNET_DIST_TOKEN_FILE: who has it may connect.
            None only where the run is on one machine.
        rank: HYBRIDNET_DIST_RANK, DMLC_WORKER_ID or DMLC_SERVER_ID: the number of this process
            among those of its role; None lets the scheduler choose.
        generation: DMLC_NUM_ATTEMPT: how often this process was started again (default 0).
        host: DMLC_NODE_HOST, or the address of DMLC_INTERFACE: what this process listens on, and
            where others find it. By default the address that leads to the scheduler.
        p3: DMLC_PS_VAN_TYPE=p3: small parts, the urgent ones first.
        window: DMLC_PS_WATER_MARK: how many parts are under way at once with p3 (default 10).
        big_array: MXNET_KVSTORE_BIGARRAY_BOUND: from how many elements on an array is spread over
            all servers (default 1,000,000).
        slice_elements: MXNET_KVSTORE_SLICE_THRESHOLD: elements in a part with p3 (default 40,000).
        part_bytes: HYBRIDNET_DIST_PART_BYTES: bytes in a part without p3 (default 1 MiB).
        deadline: HYBRIDNET_DIST_DEADLINE: seconds after which a process that is known to be gone,
            and did not come back, fails the calls that wait for it (default 10).
        connect: HYBRIDNET_DIST_CONNECT: seconds to wait at the start until all are there
            (default 120).
        staleness: HYBRIDNET_DIST_STALENESS: by how many pushes a worker of a dist_async store may
            be ahead of the slowest; None: by any number, as in MXNet.
        encrypt: HYBRIDNET_DIST_ENCRYPT: 1: values are encrypted on the way, as everything else is;
            0: they are not; None (default): wherever an address is not loopback.
        mapped: HYBRIDNET_DIST_STATE: 'mapped' (default) keeps a server's values in mapped files,
            which survive its end; with 'none' they are lost with it.
        folder: HYBRIDNET_DIST_STATE_DIR: where the run makes a folder of its own for these files;
            by default in /dev/shm, or where that cannot be the folder for temporary files.
        snapshots: HYBRIDNET_DIST_SNAPSHOT_DIR: the folder below which servers write snapshots; by
            default each one's current folder.
        standby: HYBRIDNET_DIST_STANDBY: 1 keeps a second copy at another server (default 0).
        on_loss: HYBRIDNET_DIST_ON_LOSS: 'fail' (default) raises in every worker when one of them is
            lost; with 'shrink' the others go on.
        imports: HYBRIDNET_DIST_IMPORT: modules that servers import, with commas between: those
            that register the users' own optimizers.
    """

    role: Role = "worker"
    root: str = "127.0.0.1"
    port: int = 0
    workers: int = 1
    servers: int = 1
    token: RunToken | None = None
    rank: int | None = None
    generation: int = 0
    host: str = "127.0.0.1"
    p3: bool = False
    window: int = 10
    big_array: int = 1_000_000
    slice_elements: int = 40_000
    part_bytes: int = 1 << 20
    deadline: float = 10.0
    connect: float = 120.0
    staleness: int | None = None
    encrypt: bool | None = None
    mapped: bool = True
    folder: Path | None = None
    snapshots: Path | None = None
    standby: bool = False
    on_loss: Literal["fail", "shrink"] = "fail"
    imports: tuple[str, ...] = ()

    @staticmethod
    def from_environment(environ: Mapping[str, str] = os.environ) -> Cluster:
        """Reads the settings of this process.

        Args:
            environ: the environment.

        Raises:
            KVStoreError: a variable is missing, or holds what it cannot hold; or this system
                has no distributed runs.
        """
        check_system()
        read = _Reader(environ)
        role = read.one_of("DMLC_ROLE", "worker", ROLES)
        root = read.text("DMLC_PS_ROOT_URI")
        if not root:
            raise KVStoreError(
                "a distributed store requires a scheduler, servers and workers: start the script "
                "by hybridnet launch -n 2 -s 2 python SCRIPT, or set DMLC_PS_ROOT_URI, "
                "DMLC_PS_ROOT_PORT, DMLC_NUM_WORKER, DMLC_NUM_SERVER and DMLC_ROLE in each process"
            )
        workers = read.whole("DMLC_NUM_WORKER", None, 1, _MAX_PROCESSES)
        servers = read.whole("DMLC_NUM_SERVER", None, 0, _MAX_PROCESSES)
        staleness = read.whole("HYBRIDNET_DIST_STALENESS", -1, 0)
        folder = read.text("HYBRIDNET_DIST_STATE_DIR")
        snapshots = read.text("HYBRIDNET_DIST_SNAPSHOT_DIR")
        standby = read.flag("HYBRIDNET_DIST_STANDBY")
        serving = server_processes(servers, standby)
        count = {"worker": workers, "server": serving, "scheduler": 1}[role]
        cluster = Cluster(
            role=role,
            root=root,
            port=read.whole("DMLC_PS_ROOT_PORT", None, 1, 65535),
            workers=workers,
            servers=servers,
            token=RunToken.from_environment(environ),
            rank=read.rank(role, count),
            generation=read.whole("DMLC_NUM_ATTEMPT", 0, 0, (1 << 32) - 1),
            host=_own_host(read, root),
            p3=read.one_of("DMLC_PS_VAN_TYPE", "zmq", ("zmq", "p3")) == "p3",
            window=read.whole("DMLC_PS_WATER_MARK", 10, 1),
            big_array=read.whole("MXNET_KVSTORE_BIGARRAY_BOUND", 1_000_000, 1),
            slice_elements=read.whole("MXNET_KVSTORE_SLICE_THRESHOLD", 40_000, 1),
            part_bytes=read.whole("HYBRIDNET_DIST_PART_BYTES", 1 << 20, 64, 16 << 20),
            deadline=read.seconds("HYBRIDNET_DIST_DEADLINE", 10.0),
            connect=read.seconds("HYBRIDNET_DIST_CONNECT", 120.0),
            staleness=None if staleness == -1 else staleness,
            encrypt=read.choice("HYBRIDNET_DIST_ENCRYPT"),
            mapped=read.one_of("HYBRIDNET_DIST_STATE", "mapped", ("mapped", "none")) == "mapped",
            folder=Path(folder) if folder else None,
            snapshots=Path(snapshots) if snapshots else None,
            standby=standby,
            on_loss=read.one_of("HYBRIDNET_DIST_ON_LOSS", "fail", ("fail", "shrink")),
            imports=read.names("HYBRIDNET_DIST_IMPORT"),
        )
        cluster.check()
        return cluster

    def check(self) -> None:
        """Refuses a run that strangers could join.

        Raises:
            KVStoreError: it is reached from other machines, and has no token.
        """
        if self.token is None and not (is_loopback(self.host) and is_loopback(self.root)):
            raise KVStoreError(
                f"a distributed run that other machines reach (scheduler {self.root}, this process "
                f"{self.host}) requires a secret: set {TOKEN}, or {TOKEN_FILE} to a file of mode "
                "0600, to the same 64 hexadecimal digits in every process; hybridnet launch does"
            )

    def counted(self) -> list[str]:
        """Returns how many processes of which roles there are, in words."""
        pairs = ((self.workers, "worker"), (self.serving, "server"))
        return [f"{count} {role}{'' if count == 1 else 's'}" for count, role in pairs]

    def environment(self) -> dict[str, str]:
        """Returns the variables that `from_environment` reads these settings from, but the secret.

        Those at their defaults are left out. The token is handed on by who may see it.
        """
        default = Cluster()
        found = {
            "DMLC_ROLE": self.role,
            "DMLC_PS_ROOT_URI": self.root,
            "DMLC_PS_ROOT_PORT": str(self.port),
            "DMLC_NUM_WORKER": str(self.workers),
            "DMLC_NUM_SERVER": str(self.servers),
            "DMLC_NUM_ATTEMPT": str(self.generation),
        }
        for name, variable in _PLAIN.items():
            value = getattr(self, name)
            if value != getattr(default, name):
                found[variable] = str(int(value)) if isinstance(value, bool) else str(value)
        if self.p3:
            found["DMLC_PS_VAN_TYPE"] = "p3"
        if not self.mapped:
            found["HYBRIDNET_DIST_STATE"] = "none"
        if self.imports:
            found["HYBRIDNET_DIST_IMPORT"] = ",".join(self.imports)
        return found

    @property
    def run(self) -> bytes:
        """16 bytes that tell this run from others."""
        if self.token is not None:
            return self.token.run
        # Without a token all is on one machine, where a port is one run's at a time.
        return RunToken(bytes(32)).derive(f"{self.root}:{self.port}")[:16]

    @property
    def serving(self) -> int:
        """The number of processes with the role of a server, those of standbys included."""
        return server_processes(self.servers, self.standby)

    @property
    def state_folder(self) -> Path:
        """The folder in which servers of this run keep what survives their end."""
        return (self.folder or memory_folder()) / f"hybridnet-{self.run.hex()}"


#: Fields that are written to the environment as they are.
_PLAIN: Final = {
    "rank": "HYBRIDNET_DIST_RANK",
    "host": "DMLC_NODE_HOST",
    "window": "DMLC_PS_WATER_MARK",
    "big_array": "MXNET_KVSTORE_BIGARRAY_BOUND",
    "slice_elements": "MXNET_KVSTORE_SLICE_THRESHOLD",
    "part_bytes": "HYBRIDNET_DIST_PART_BYTES",
    "deadline": "HYBRIDNET_DIST_DEADLINE",
    "connect": "HYBRIDNET_DIST_CONNECT",
    "staleness": "HYBRIDNET_DIST_STALENESS",
    "encrypt": "HYBRIDNET_DIST_ENCRYPT",
    "folder": "HYBRIDNET_DIST_STATE_DIR",
    "snapshots": "HYBRIDNET_DIST_SNAPSHOT_DIR",
    "standby": "HYBRIDNET_DIST_STANDBY",
    "on_loss": "HYBRIDNET_DIST_ON_LOSS",
}


@final
class _Reader:
    """Values of an environment, checked; what is wrong is said with the variable's name."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ

    def text(self, name: str) -> str:
        return self._environ.get(name, "").strip()

    def one_of(self, name: str, default: str, known: tuple[Any, ...]) -> Any:
        found = self.text(name).lower() or default
        if found not in known:
            raise KVStoreError(f"{name} must be one of {', '.join(known)}, got {found!r}")
        return found

    def whole(self, name: str, default: int | None, least: int, most: int = 1 << 62) -> int:
        text = self.text(name)
        if not text:
            if default is None:
                raise KVStoreError(
                    f"{name} must be set in every process of a distributed run; hybridnet launch "
                    "sets it"
                )
            return default
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if not least <= value <= most:
            limit = f"from {least} to {most}" if most < 1 << 62 else f">= {least}"
            raise KVStoreError(f"{name} must be an integer {limit}, got {text!r}")
        return value

    def seconds(self, name: str, default: float) -> float:
        text = self.text(name)
        try:
            value = float(text or default)
        except ValueError:
            value = 0.0
        if not 0 < value < 1e9:
            raise KVStoreError(f"{name} must be a number of seconds > 0, got {text!r}")
        return value

    def flag(self, name: str) -> bool:
        return bool(self.one_of(name, "0", ("0", "1")) == "1")

    def choice(self, name: str) -> bool | None:
        return self.flag(name) if self.text(name) else None

    def names(self, name: str) -> tuple[str, ...]:
        found = tuple(one.strip() for one in self.text(name).split(",") if one.strip())
        for one in found:
            if not all(part.isidentifier() for part in one.split(".")):
                raise KVStoreError(f"{name} must be modules' names with commas, got {one!r}")
        return found

    def rank(self, role: Role, count: int) -> int | None:
        for name in ("HYBRIDNET_DIST_RANK", f"DMLC_{role.upper()}_ID"):
            if self.text(name):
                return self.whole(name, None, 0, count - 1)
        return None


def _own_host(read: _Reader, root: str) -> str:
    """Returns the address that this process is found at."""
    given = read.text("DMLC_NODE_HOST")
    if given:
        return given
    interface = read.text("DMLC_INTERFACE")
    if interface:
        return _address_of(interface)
    if is_loopback(root):
        return "127.0.0.1"
    return _probe(root, lambda probe: str(probe.getsockname()[0]))


def _probe(root: str, ask: Callable[[socket.socket], str]) -> str:
    """Asks a datagram socket towards `root`, which sends nothing, where it would send from."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((root, 9))
            return ask(probe)
    except OSError as error:
        raise KVStoreError(
            f"DMLC_PS_ROOT_URI must be a host that this machine reaches, got {root!r}: {error}; "
            "DMLC_NODE_HOST or DMLC_INTERFACE say where this process is found"
        ) from error


def _address_of(interface: str) -> str:
    """Returns the IPv4 address of a network interface.

    Raises:
        KVStoreError: there is none of this name, or it has no such address.
    """
    known = [name for _, name in socket.if_nameindex()]
    if interface not in known:
        raise KVStoreError(f"DMLC_INTERFACE must be one of {', '.join(known)}, got {interface!r}")
    try:
        import fcntl  # POSIX only, as the request is

        request = interface.encode()[:15].ljust(256, b"\0")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            found = fcntl.ioctl(probe.fileno(), _ASK_ADDRESS, request)
    except (ImportError, OSError) as error:
        raise KVStoreError(
            f"DMLC_INTERFACE: {interface!r} has no IPv4 address: {error}; set DMLC_NODE_HOST to "
            "the address that others reach this process at"
        ) from error
    return socket.inet_ntoa(found[20:24])


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches a host by this name."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
