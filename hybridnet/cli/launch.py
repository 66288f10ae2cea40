"""``hybridnet launch``: starts a training script on many processes, with servers, and watches them.

The switches are those of MXNet's ``tools/launch.py``, and some more.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import socket
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from hybridnet.base.errors import MXNetError, ParameterError
from hybridnet.kvstore import KVStoreError
from hybridnet.kvstore.cluster import PREFIXES, Cluster
from hybridnet.kvstore.run_token import RunToken
from hybridnet.kvstore.supervise import (
    Job,
    LocalSupervisor,
    MpiSupervisor,
    RaySupervisor,
    SgeSupervisor,
    SlurmSupervisor,
    SshSupervisor,
    Supervisor,
    own_address,
    read_hosts,
    run_job,
)
from hybridnet.kvstore.supervise.reporting import reporting

_LAUNCHERS: Final = ("local", "ssh", "mpi", "sge", "slurm", "ray")
_HERE: Final = "127.0.0.1"


def add_launch(commands: Any) -> None:
    """Adds the command to the parser's commands."""
    parser = commands.add_parser(
        "launch",
        help="run a training script on several processes, with parameter servers",
        description="Starts a scheduler, servers, and workers that run COMMAND; starts again what "
        "is killed, and ends everything when the workers have ended. The exit status is 0 if all "
        "workers ended with 0, else that of the first one that was lost.",
        usage="hybridnet launch -n N [-s S] [options] COMMAND ...",
    )
    add = parser.add_argument
    add("-n", "--num-workers", type=_count, required=True, metavar="N", help="workers")
    add(
        "-s",
        "--num-servers",
        type=_whole,
        metavar="S",
        help="servers (default: as many); 0: a gang, which computes by collective calls",
    )
    add("-H", "--hostfile", metavar="FILE", help="machines, one a line (for ssh, mpi, slurm)")
    add(
        "--launcher",
        choices=_LAUNCHERS,
        help="what starts the processes (default: local, and ssh with a host file)",
    )
    add(
        "--sync-dst-dir",
        metavar="DIR",
        help="ssh: copy this folder to DIR on every machine first, and run there",
    )
    for name, who in (("", "all processes"), ("-server", "servers"), ("-worker", "workers")):
        add(
            f"--env{name}",
            action="append",
            default=[],
            metavar="NAME[=VALUE]",
            help=f"a variable for {who}; without a value, the one that it has here",
        )
    add("--p3", action="store_true", help="send small parts, the urgent ones first")
    add(
        "--restarts",
        type=_whole,
        default=3,
        metavar="K",
        help="start a process that was killed again up to K times (default: 3)",
    )
    add(
        "--import",
        dest="imports",
        action="append",
        default=[],
        metavar="MODULE",
        help="a module that servers import, for an optimizer of your own",
    )
    add("--standby", action="store_true", help="keep a second copy of all values at other servers")
    add(
        "--on-loss",
        choices=("fail", "shrink"),
        help="when a worker is lost: all fail (default), or the others go on",
    )
    add("--state-dir", metavar="DIR", help="where servers keep their values (default: in memory)")
    add("--cpus", type=_count, metavar="K", help="ray: processors of a worker, and its threads")
    add("--gpus", type=_whole, default=0, metavar="K", help="ray: GPUs of a worker")
    add("--python", metavar="PATH", help="ssh: the interpreter there (default: python3)")
    add(
        "program",
        nargs=argparse.REMAINDER,
        metavar="COMMAND",
        help="what each worker runs: a program, or a script, FILE.py",
    )
    parser.set_defaults(run=_launch)


def _count(text: str) -> int:
    value = _whole(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {text}")
    return value


def _whole(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = -1
    if value < 0:
        raise argparse.ArgumentTypeError(f"must be a whole number, got {text}")
    return value


def _launch(options: argparse.Namespace) -> int:
    """Runs the command; returns its exit status."""
    try:
        job = job_of(options, os.environ)
        supervisor = _supervisor(options)
        if not job.cluster.servers:
            return run_job(job, supervisor, restarts=options.restarts)
        with reporting(job.cluster) as report:
            return run_job(job, supervisor, restarts=options.restarts, report=report)
    except (KVStoreError, ImportError) as error:
        raise MXNetError(str(error)) from error


def job_of(options: argparse.Namespace, environ: Any) -> Job:
    """Returns the job that a command line asks for.

    Args:
        options: as the parser made them.
        environ: the environment, which has the settings that no switch is for.

    Raises:
        ParameterError: it asks for what cannot be.
        KVStoreError: so does the environment.
    """
    command = options.program[1:] if options.program[:1] == ["--"] else options.program
    if not command:
        raise ParameterError(
            "needs the command that each worker is to run, as: launch -n 2 python train.py"
        )
    launcher = _launcher(options)
    if len(command) == 1 and " " in command[0]:
        command = shlex.split(command[0])  # as MXNet's launcher takes it
    if _is_script(command[0]):
        command = [options.python or _python(launcher), *command]
    root = environ.get("DMLC_PS_ROOT_URI", "").strip()
    servers = options.num_workers if options.num_servers is None else options.num_servers
    root = root or _root(launcher, servers, options.hostfile)
    port = environ.get("DMLC_PS_ROOT_PORT", "").strip() or str(_free_port())
    settings = {
        **{name: environ[name] for name in environ if name.startswith(PREFIXES)},
        "DMLC_ROLE": "worker",
        "DMLC_PS_ROOT_URI": root,
        "DMLC_PS_ROOT_PORT": port,
        "DMLC_NUM_WORKER": str(options.num_workers),
        "DMLC_NUM_SERVER": str(servers),
        **({"DMLC_PS_VAN_TYPE": "p3"} if options.p3 else {}),
        **({"HYBRIDNET_DIST_STANDBY": "1"} if options.standby else {}),
        **({"HYBRIDNET_DIST_ON_LOSS": options.on_loss} if options.on_loss else {}),
        **({"HYBRIDNET_DIST_STATE_DIR": options.state_dir} if options.state_dir else {}),
    }
    if options.imports:
        settings["HYBRIDNET_DIST_IMPORT"] = ",".join(options.imports)
    for name in ("HYBRIDNET_DIST_TOKEN", "HYBRIDNET_DIST_TOKEN_FILE", *_OWN):
        settings.pop(name, None)
    token = RunToken.from_environment(environ) or RunToken.new()
    settings["HYBRIDNET_DIST_TOKEN"] = token.text
    cluster = replace(Cluster.from_environment(settings), host=_HERE)
    away = {} if launcher == "local" else _handed_on(environ)
    python = {"python": options.python or "python3"} if launcher == "ssh" else {}
    return Job(
        tuple(command),
        cluster,
        env={**away, **_variables("--env", options.env, environ)},
        env_server=_variables("--env-server", options.env_server, environ),
        env_worker=_variables("--env-worker", options.env_worker, environ),
        **python,
    )


def _is_script(path: str) -> bool:
    """Whether a command is a script of Python's that the system runs not by itself."""
    return path.endswith(".py") and os.path.isfile(path) and shutil.which(path) is None


def _python(launcher: str) -> str:
    """Returns the interpreter of workers: this one, if this machine has them."""
    return "python3" if launcher == "ssh" else sys.executable


def _root(launcher: str, servers: int, hostfile: str | None) -> str:
    """Returns where the scheduler will be; of a gang, its first process."""
    if launcher == "local" or (launcher == "ray" and not servers):  # where Ray puts it
        return _HERE
    if servers:
        return own_address()
    if launcher != "ssh" or hostfile is None:
        raise ParameterError(
            f"launch: -s 0 is for --launcher local, ssh and ray, got {launcher}: srun and mpirun "
            "start gangs by themselves, as each process finds its place in their variables"
        )
    return read_hosts(hostfile)[0].name.rpartition("@")[2]


#: What is one process's own, and comes into the settings of none from outside.
_OWN: Final = (
    *("HYBRIDNET_DIST_RANK", "DMLC_WORKER_ID", "DMLC_SERVER_ID"),
    *("DMLC_NUM_ATTEMPT", "DMLC_NODE_HOST", "DMLC_INTERFACE"),
)
#: What processes on other machines are told of this one's environment, beside the run's settings.
_HANDED_ON: Final = ("HYBRIDNET_", "OMP_", "XLA_", "JAX_", "MXNET_", "PS_", "DMLC_INTERFACE")


def _handed_on(environ: Any) -> dict[str, str]:
    return {
        name: environ[name]
        for name in environ
        if name.startswith(_HANDED_ON) and not name.startswith("HYBRIDNET_DIST_TOKEN")
    }


def _launcher(options: argparse.Namespace) -> str:
    launcher: str = options.launcher or ("ssh" if options.hostfile else "local")
    if launcher == "ssh" and not options.hostfile:
        raise ParameterError("launch: --launcher ssh needs --hostfile, a file of machines")
    if launcher != "ssh" and (options.sync_dst_dir or options.python):
        raise ParameterError("launch: --sync-dst-dir and --python are for --launcher ssh")
    if launcher != "ray" and (options.cpus or options.gpus):
        raise ParameterError(f"launch: --cpus and --gpus are for --launcher ray, got {launcher}")
    if launcher in ("local", "sge", "ray") and options.hostfile:
        raise ParameterError(f"launch: --launcher {launcher} takes no --hostfile")
    return launcher


def _supervisor(options: argparse.Namespace) -> Supervisor:
    """Returns what starts the processes."""
    launcher = _launcher(options)
    if launcher == "ssh":
        hosts = read_hosts(options.hostfile)
        return SshSupervisor(hosts, options.sync_dst_dir, options.python or "python3")
    if launcher == "mpi":
        return MpiSupervisor(options.hostfile and str(Path(options.hostfile).resolve()))
    if launcher == "slurm":
        return SlurmSupervisor(
            [host.name for host in read_hosts(options.hostfile)] if options.hostfile else ()
        )
    if launcher == "sge":
        return SgeSupervisor()
    if launcher == "ray":
        return RaySupervisor(options.cpus, options.gpus)
    return LocalSupervisor()


def _variables(switch: str, given: Sequence[str], environ: Any) -> dict[str, str]:
    """Returns variables that were given as ``NAME=VALUE``, ``NAME:VALUE`` or ``NAME``."""
    found = {}
    for text in given:
        name, mark, value = text.partition("=")
        if not mark or ":" in name:
            name, mark, value = text.partition(":")  # as MXNet's launcher takes them
        if not name.isidentifier():
            raise ParameterError(f"launch: {switch} must be NAME or NAME=VALUE, got {text!r}")
        if mark:
            found[name] = value
        elif name in environ:
            found[name] = environ[name]
        else:
            raise ParameterError(f"launch: {switch} {name}: there is no such variable here")
    return found


def _free_port() -> int:
    """Returns a port that nobody listens on now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind(("", 0))
        return int(probe.getsockname()[1])
