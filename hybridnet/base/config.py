"""The environment variables hybridnet reads, each in one place with its meaning and default."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from .errors import ParameterError

#: The topics of HYBRIDNET_LOG.
_TOPICS: Final = ("programs",)
#: The names that HYBRIDNET_DEBUG takes.
_DEBUGGED: Final = ("nans", "indices", "memory")
_UNITS: Final = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SIZE: Final = re.compile(r"([0-9]+) *([KMGT]?)(?:i?B)?", re.IGNORECASE)


def _integer(name: str, default: int, minimum: int) -> int:
    text = os.environ.get(name, "").strip()
    if not text:
        return default
    try:
        value = int(text)
    except ValueError:
        value = minimum - 1
    if value < minimum:
        raise ParameterError(f"{name} must be an integer >= {minimum}, got {text!r}")
    return value


def _flag(name: str, default: bool = False) -> bool:
    text = os.environ.get(name, "").strip()
    if text not in ("", "0", "1"):
        raise ParameterError(f"{name} must be 0 or 1, got {text!r}")
    return text == "1" if text else default


def explain() -> bool:
    """HYBRIDNET_EXPLAIN: 1 notes where in the user's code each operator is recorded (default 0).

    ``hybridnet.runtime.explain`` then shows these lines, and errors name them. It takes about a
    microsecond an operator.
    """
    return _flag("HYBRIDNET_EXPLAIN")


def debug() -> frozenset[str]:
    """HYBRIDNET_DEBUG: what to look for in the whole program, names with commas (default nothing).

    ``nans``, ``indices`` and ``memory`` are what the scopes of `hybridnet.debug` look for.
    """
    text = os.environ.get("HYBRIDNET_DEBUG", "")
    names = frozenset(name for name in map(str.strip, text.split(",")) if name)
    if not names <= set(_DEBUGGED):
        raise ParameterError(
            f"HYBRIDNET_DEBUG must be names of {', '.join(_DEBUGGED)}, with commas between, "
            f"got {text!r}"
        )
    return names


def passes() -> bool:
    """HYBRIDNET_PASSES: 'on' (default), or 'off': graphs are run as they were written.

    Otherwise the passes' exact rules are applied to whatever is run as a graph.
    """
    text = os.environ.get("HYBRIDNET_PASSES", "").strip().lower()
    if text not in ("", "on", "off"):
        raise ParameterError(f"HYBRIDNET_PASSES must be 'on' or 'off', got {text!r}")
    return text != "off"


class _Fork:
    """The state of this process after a fork."""

    host_only = False


class _Order:
    """Whether additions have one order, whatever the clock says; None: nobody has asked."""

    is_fixed: bool | None = None


def fix_order(fixed: bool) -> None:
    """Sets what `deterministic` answers, where its variable does not."""
    _Order.is_fixed = fixed or _flag("HYBRIDNET_DETERMINISTIC")


def deterministic() -> bool:
    """HYBRIDNET_DETERMINISTIC: 1 gives the same bits each time (default 0).

    No clock decides then what computes something: programs are compiled before they run, and
    neither replaced nor run by NumPy first; see `hybridnet.runtime.deterministic`. It is read when
    it is first asked for: each launch of what is not compiled asks.
    """
    if _Order.is_fixed is None:
        fix_order(False)
    return bool(_Order.is_fixed)


def keep_to_host() -> None:
    """Makes `host` answer 'only' from now on: this process has no XLA, and cannot get one."""
    _Fork.host_only = True


def host() -> str:
    """HYBRIDNET_HOST: what runs on NumPy arrays instead of being compiled for XLA.

    'auto' (default): what runs a few times; 'only': every operator that can be, and nothing is
    compiled because it runs often; 'off': none, which is the default where `deterministic`. A
    forked child of a process in which XLA computes has 'only', whatever the variable says.
    """
    if _Fork.host_only:
        return "only"
    given = os.environ.get("HYBRIDNET_HOST")
    if given:  # it is asked for each operator that is new
        text = given.strip().lower() or "auto"
        if text not in ("auto", "only", "off"):
            raise ParameterError(f"HYBRIDNET_HOST must be 'auto', 'only' or 'off', got {text!r}")
        if text != "auto":
            return text
    return "off" if deterministic() else "auto"


def tuning() -> str:
    """HYBRIDNET_TUNE: how lowerings and compile options are chosen.

    'builtin' (default): by the rules that come with hybridnet, and by what ``hybridnet.tune`` found
    before; 'background': hot programs are tuned besides, in idle moments; 'off': every operator's
    plain lowering and XLA's own options.
    """
    text = os.environ.get("HYBRIDNET_TUNE", "").strip().lower() or "builtin"
    if text not in ("builtin", "background", "off"):
        raise ParameterError(
            f"HYBRIDNET_TUNE must be 'builtin', 'background' or 'off', got {text!r}"
        )
    return text


def onednn() -> bool:
    """HYBRIDNET_ONEDNN: 0 leaves oneDNN alone where it is installed (default 1).

    It is with ``pip install 'hybridnet[onednn]'``; convolutions on CPUs are computed by it then.
    """
    return _flag("HYBRIDNET_ONEDNN", True)


def num_threads() -> int:
    """HYBRIDNET_NUM_THREADS: with how many threads programs compute on CPUs (default: by itself).

    By itself it is OMP_NUM_THREADS, or the processors that the process may use.
    """
    return _integer("HYBRIDNET_NUM_THREADS", 0, 1)


def num_cpu_devices() -> int:
    """HYBRIDNET_NUM_CPU_DEVICES: how many devices XLA makes of the processor (default 1).

    The contexts ``cpu(i)`` share them in turn.
    """
    return _integer("HYBRIDNET_NUM_CPU_DEVICES", 1, 1)


def gpu_preallocate() -> bool:
    """HYBRIDNET_GPU_PREALLOCATE: 1 has JAX take most of a GPU's memory at once (default 0).

    That is JAX's own default: three quarters of the card, or XLA_PYTHON_CLIENT_MEM_FRACTION of it.
    Here memory is taken as it is needed, up to as much. XLA_PYTHON_CLIENT_PREALLOCATE, where it is
    set, says it instead. It is read when the first GPU is asked for.
    """
    return _flag("HYBRIDNET_GPU_PREALLOCATE")


def numpy_names() -> bool:
    """HYBRIDNET_NUMPY_NAMES: 1 gives NumPy its old names back where mxnet is imported (default 0).

    Such as ``np.bool`` and ``np.float``. ``hybridnet run`` sets it for the processes of a script.
    """
    return _flag("HYBRIDNET_NUMPY_NAMES")


def soft_placement() -> bool:
    """HYBRIDNET_SOFT_PLACEMENT: 1 places a node whose device is not there elsewhere (default 0).

    So it does with one whose device has no kernel for it; ``hybridnet.placement`` logs a line.
    """
    return _flag("HYBRIDNET_SOFT_PLACEMENT")


def cache_dir() -> Path | None:
    """HYBRIDNET_CACHE_DIR: folder of files that can be made again (default ~/.cache/hybridnet).

    Compiled programs are kept in it, which XLA runs as they are, so it must be the user's own. None
    where the value is 'off': nothing is kept then.
    """
    text = os.environ.get("HYBRIDNET_CACHE_DIR", "").strip()
    if text.lower() == "off":
        return None
    if text:
        return Path(text).expanduser()
    base = os.environ.get("XDG_CACHE_HOME", "").strip() or "~/.cache"
    return Path(base).expanduser() / "hybridnet"


def data_dir() -> str:
    """MXNET_HOME: folder of data sets and trained models (default ~/.mxnet), as MXNet has it."""
    return os.environ.get("MXNET_HOME", "").strip() or str(Path("~/.mxnet").expanduser())


def lab_seconds() -> int:
    """HYBRIDNET_LAB_SECONDS: seconds that one property of a lab's part may take (default 30)."""
    return _integer("HYBRIDNET_LAB_SECONDS", 30, 1)


def eliminate_common_expr() -> bool:
    """MXNET_ELIMINATE_COMMON_EXPR: 0 keeps equal expressions in what executors show.

    Without it (default 1) each is once in `Executor.get_optimized_symbol`. Programs
    compute it once in any case.
    """
    return _flag("MXNET_ELIMINATE_COMMON_EXPR", default=True)


def do_mirror() -> bool:
    """MXNET_BACKWARD_DO_MIRROR: 1 has training compute results again to save memory (default 0).

    It holds for what is differentiated as a graph: bound symbols, hybridized blocks and
    ``hn.function``. It is read whenever one of these runs.
    """
    return _flag("MXNET_BACKWARD_DO_MIRROR")


def update_on_kvstore() -> bool:
    """MXNET_UPDATE_ON_KVSTORE: 0 has modules add gradients in the key-value store only (default 1).

    Else the store applies the optimizer, too. It is read when a module's optimizer is made.
    """
    return _flag("MXNET_UPDATE_ON_KVSTORE", True)


def _bytes(name: str, default: int) -> int:
    text = os.environ.get(name, "").strip()
    if not text:
        return default
    found = _SIZE.fullmatch(text)
    if found is None:
        raise ParameterError(f"{name} must be a number of bytes, like 500M or 2G, got {text!r}")
    return int(found[1]) * _UNITS[found[2].upper()]


def cache_size() -> int:
    """HYBRIDNET_CACHE_SIZE: bytes the programs in the cache folder may take (default 1G).

    A whole number, with K, M, G or T for powers of 1024; 0 keeps none. The programs used least
    recently are dropped.
    """
    return _bytes("HYBRIDNET_CACHE_SIZE", 1 << 30)


def programs_size() -> int:
    """HYBRIDNET_PROGRAMS_SIZE: bytes of compiled programs to keep in memory (default 1G).

    Written as HYBRIDNET_CACHE_SIZE is. The programs used least recently are dropped, and compiled
    or read from disk again when they are needed; what is being used stays, whatever it takes. It is
    read when the first program is made.
    """
    return _bytes("HYBRIDNET_PROGRAMS_SIZE", 1 << 30)


def constants_size() -> int:
    """HYBRIDNET_CONSTANTS_SIZE: bytes of what is made once of weights that stay (default 1G).

    Programs that infer turn and scale their weights once, not at each call; what they make of them
    is kept beside them. Written as HYBRIDNET_CACHE_SIZE is; 0 keeps nothing.
    """
    return _bytes("HYBRIDNET_CONSTANTS_SIZE", 1 << 30)


def keep_memory() -> int:
    """HYBRIDNET_KEEP_MEMORY: bytes of freed host memory to keep for the next step (default 2G).

    Written as HYBRIDNET_CACHE_SIZE is; 0 leaves the C library's allocator as it is. It is read when
    the first array is made.
    """
    return _bytes("HYBRIDNET_KEEP_MEMORY", 2 << 30)


def log_topics() -> frozenset[str]:
    """HYBRIDNET_LOG: what to explain on stderr, names with commas between (default nothing).

    'programs': what is compiled, read from disk or run one by one, why, how long it took, and at
    the end how often each program ran.
    """
    text = os.environ.get("HYBRIDNET_LOG", "")
    topics = frozenset(topic.strip() for topic in text.split(",") if topic.strip())
    if topics - set(_TOPICS):
        raise ParameterError(f"HYBRIDNET_LOG can name {', '.join(_TOPICS)}, got {text!r}")
    return topics
