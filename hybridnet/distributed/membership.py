"""The place of a process in its gang, as its caller gives it, or else its environment.

The environment is that of ``hybridnet launch`` and of MXNet's launchers (``DMLC_*``), or of SLURM
or Open MPI. What is asked for is where rank 0 coordinates, how many processes there are, and which
of them this one is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, final

from hybridnet.base.errors import MXNetError, ParameterError

# Where rank 0 coordinates, if nothing says so, under SLURM: a port that jobs on the same machine
# are unlikely to share.
_FIRST_PORT: Final = 61440
_PORTS: Final = 4096
_COORDINATOR: Final = "HYBRIDNET_DIST_COORDINATOR"
#: Variables that say how many processes there are, and which this one is; the first that is set.
_SIZES: Final = ("HYBRIDNET_DIST_SIZE", "DMLC_NUM_WORKER", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE")
_RANKS: Final = (
    *("HYBRIDNET_DIST_RANK", "DMLC_WORKER_ID", "DMLC_TASK_ID"),
    *("SLURM_PROCID", "OMPI_COMM_WORLD_RANK"),
)


@final
@dataclass(frozen=True, slots=True)
class Membership:
    """A process's place in its gang.

    Attributes:
        address: host and port at which rank 0 coordinates.
        size: how many processes there are.
        rank: the number of this one, from 0 on.
    """

    address: str
    size: int
    rank: int

    @property
    def host(self) -> str:
        """The host of the address."""
        return self.address.rpartition(":")[0]

    @property
    def port(self) -> int:
        """The port of the address."""
        return int(self.address.rpartition(":")[2])


def find_membership(
    address: str | None = None,
    size: int | None = None,
    rank: int | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Membership | None:
    """Returns this process's place: what is given, and the rest from the environment.

    Args:
        address: host and port of rank 0, ``"host:port"``.
        size: how many processes.
        rank: which of them.
        environ: the environment.

    Returns:
        None where nothing says that there is a gang, or it is one of a single process.

    Raises:
        ParameterError: something is missing, or is not what it must be.
        MXNetError: the environment is that of a parameter server's process.
    """
    if size is None:
        _refuse_server(environ)
        size = _number(_SIZES, environ, 1)
    if size is None and rank is None and address is None:
        return None
    if size == 1:
        return None
    if rank is None:
        rank = _number(_RANKS, environ, 0)
    if address is None:
        address = _address(environ)
    for given, what, names in (
        (address, "address=, host and port of rank 0", (_COORDINATOR,)),
        (size, "size=, the number of processes", _SIZES),
        (rank, "rank=, the number of this process", _RANKS),
    ):
        if given is None:
            raise ParameterError(
                f"distributed.initialize: needs {what}, or {names[0]} in the environment; "
                "hybridnet launch -n 2 -s 0 python SCRIPT sets all there is"
            )
    assert address is not None and size is not None and rank is not None
    return _checked(Membership(address, size, rank))


def _checked(found: Membership) -> Membership:
    whole = isinstance(found.size, int) and isinstance(found.rank, int)
    if not whole or not 0 <= found.rank < found.size:
        raise ParameterError(
            "distributed.initialize: rank must be an integer from 0 to size - 1, got rank "
            f"{found.rank!r} and size {found.size!r}"
        )
    if not re.fullmatch(r".+:\d{1,5}", found.address):
        raise ParameterError(
            f"distributed.initialize: address must be 'host:port', got {found.address!r}"
        )
    return found


def _refuse_server(environ: Mapping[str, str]) -> None:
    """Refuses the environment of a parameter server, whose processes must not end as one."""
    role = environ.get("DMLC_ROLE", "worker").strip() or "worker"
    servers = environ.get("DMLC_NUM_SERVER", "0").strip() or "0"
    if role != "worker" or servers != "0":
        raise MXNetError(
            f"distributed.initialize: this process is a {role} of a run with {servers} parameter "
            "server(s), which one that dies must not end, as it ends a gang; start the run "
            "without servers: hybridnet launch -n 2 -s 0 python SCRIPT"
        )


def _number(names: tuple[str, ...], environ: Mapping[str, str], least: int) -> int | None:
    for name in names:
        text = environ.get(name, "").strip()
        if not text:
            continue
        if not text.isdecimal() or int(text) < least:
            raise ParameterError(f"{name} must be an integer >= {least}, got {text!r}")
        return int(text)
    return None


def _address(environ: Mapping[str, str]) -> str | None:
    sources: tuple[Callable[[Mapping[str, str]], str | None], ...] = (
        lambda environ: environ.get(_COORDINATOR, "").strip() or None,
        _address_by_dmlc,
        _address_by_slurm,
    )
    return next((found for source in sources if (found := source(environ))), None)


def _address_by_dmlc(environ: Mapping[str, str]) -> str | None:
    host, port = (environ.get(f"DMLC_PS_ROOT_{part}", "").strip() for part in ("URI", "PORT"))
    return f"{host}:{port}" if host and port else None


def _address_by_slurm(environ: Mapping[str, str]) -> str | None:
    nodes = environ.get("SLURM_STEP_NODELIST") or environ.get("SLURM_JOB_NODELIST") or ""
    job = environ.get("SLURM_JOB_ID", "")
    if not nodes or not job.isdecimal():
        return None
    return f"{_first_node(nodes)}:{_FIRST_PORT + int(job) % _PORTS}"


def _first_node(nodes: str) -> str:
    """Returns the first host of a list as SLURM writes it: ``node[01-04,7],other``."""
    found = re.match(r"([^,\[]+)(?:\[(\d+)[^\]]*\]([^,\[]*))?", nodes)
    if found is None:
        raise ParameterError(f"SLURM_JOB_NODELIST must be a list of hosts, got {nodes!r}")
    return "".join(part for part in found.groups() if part)
