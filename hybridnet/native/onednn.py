"""oneDNN for programs on CPUs: found, compiled against the installed JAX, and loaded when wanted.

``pip install 'hybridnet[onednn]'`` brings the library; `onednn.cc` makes custom calls of XLA of it.
A C++ compiler builds that in some seconds, once: the result is kept in the cache folder. Where
something is missing, a line of the logger ``hybridnet.native`` says what, and programs go without.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import importlib.util
import logging
import os
import shlex
import shutil
import sys
import threading
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from hybridnet.base import config
from hybridnet.base.errors import MXNetError
from hybridnet.base.files import OwnFolder, atomic_write, lock
from hybridnet.base.lazy import hashlib, jax, metadata, resources, subprocess, tempfile
from hybridnet.base.locks import free_in_children
from hybridnet.base.processor import LOW_PRIORITY, processor
from hybridnet.engine import RLock

from . import onednn_library

#: The custom calls by their names in programs, and how these names begin, in executables' bytes.
COMPUTE: Final = "hybridnet_onednn_compute"
PACK: Final = "hybridnet_onednn_pack"
PREFIX: Final = b"hybridnet_onednn_"

_HEADERS: Final = "onednn-devel-cpu-gomp"
_SOURCE: Final = "onednn.cc"
_INCLUDED: Final = (
    "calls.h",
    "lanes.h",
    "lstm.h",
    "narrow.h",
    "parallel.h",
    "primitives.h",
    "winograd.h",
)
_COMPILERS: Final = ("c++", "g++", "clang++")
# Seconds; on a busy machine it has taken 20, and far longer where other work goes first.
_COMPILER_SECONDS: Final = 3600
# Milliseconds in which Python does not see Ctrl-C.
_STEP: Final = 100
# The niceness of its session: a loop on all processors has three quarters of them. (At 10 what
# takes 4 s by itself takes 25 beside one, and the loop waits for its faster program all the time.)
_SESSION: Final = "5"
# The program of the process that compiles, see `build`.
_BUILD: Final = "from hybridnet.native import onednn; onednn.build_here()"

_log: Final = logging.getLogger("hybridnet.native")
_lock: Final = free_in_children(RLock())


class _Package(NamedTuple):
    """The installed package of oneDNN."""

    version: str
    library: Path
    headers: Path


class _Unusable(Exception):
    """Says why oneDNN cannot be used, though it is installed."""


@cache
def _package() -> _Package | None:
    library = onednn_library.find()
    try:
        header = onednn_library.file_of(_HEADERS, "dnnl.h")
        version = metadata.version(onednn_library.DISTRIBUTION)
    except (metadata.PackageNotFoundError, FileNotFoundError):
        return None
    return None if library is None else _Package(version, library, header.parent)


def name() -> str | None:
    """Returns 'onednn ' and the version; None where it is not installed, not wanted, or left out.

    It is part of the name of every program on disk, so it says nothing that costs time to know.
    """
    if _thread.leaves_out or not config.onednn():
        return None
    found = _package()
    return None if found is None else f"onednn {found.version}"


def load() -> bool:
    """Whether programs can call oneDNN; compiles and loads what is needed for that, once.

    Not in a block of `left_out`.
    """
    return name() is not None and _loaded()[0] is not None


class _Thread(threading.local):
    """Whether the programs that a thread makes now do without oneDNN."""

    leaves_out = False


_thread: Final = _Thread()


@contextlib.contextmanager
def left_out() -> Iterator[None]:
    """A block in which this thread makes programs that do without oneDNN."""
    before, _thread.leaves_out = _thread.leaves_out, True
    try:
        yield
    finally:
        _thread.leaves_out = before


def is_decided() -> bool:
    """Whether programs can call oneDNN is known: somebody called `load`, or it is not wanted."""
    return _result is not None or name() is None


def is_built() -> bool:
    """Whether what programs need to call oneDNN is known, or is there and need only be loaded."""
    package, folder = _package(), _folder()
    if is_decided():
        return True
    if package is None or folder is None:
        return False
    try:
        with OwnFolder(folder) as own:
            os.close(_whole(own, _file_name(package)))
    except OSError:  # it is not there, or not whole
        return False
    return True


def build() -> None:
    """Compiles in a process what programs need to call oneDNN, if it is kept, and waits for it.

    That process leaves the processors to other work, and outlives this one: a script of three
    seconds, started again and again, would otherwise never come to its calls. It loads nothing, nor
    JAX. Where it fails, `load` says why.
    """
    if is_built() or _package() is None or _folder() is None or not _can_start_python():
        return
    devnull = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in range(3)]
    call = [*_preferring_others(), sys.executable, "-P", "-c", _BUILD]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    # Not by `subprocess`, which warns of processes that it outlives; in a session of its own, which
    # Ctrl-C and the end of a terminal do not reach.
    with contextlib.suppress(OSError):
        process = os.posix_spawn(call[0], call, environ, file_actions=devnull, setsid=True)
        os.waitpid(process, 0)


def build_here() -> None:
    """Compiles what programs need to call oneDNN, if it is kept; the program of `build`."""
    _lower_session()
    package, folder = _package(), _folder()
    if package is not None and folder is not None:
        with contextlib.suppress(OSError, ValueError, RuntimeError, _Unusable):
            os.close(_kept(package, folder / _file_name(package)))


def _lower_session() -> None:
    """Lowers the priority of this process's own session, which it began, below that of others.

    Linux shares the processors among sessions first (sched(7), "The autogroup feature"), so that a
    process's niceness counts within its own only.
    """
    with contextlib.suppress(OSError), open("/proc/self/autogroup", "w", encoding="utf-8") as group:
        group.write(_SESSION)


def _can_start_python() -> bool:
    """Whether there is a Python to start: programs that are one file bring none."""
    return bool(sys.executable) and not getattr(sys, "frozen", False)


def state() -> str:
    """Returns in words whether programs can call oneDNN, and if not, why; loads it."""
    if not config.onednn():
        return "off (HYBRIDNET_ONEDNN=0)"
    if name() is None:
        return "not installed (pip install 'hybridnet[onednn]')"
    library, why = _loaded()
    return str(name()) if library is not None else f"cannot be used: {why}"


def use_threads(number: int) -> None:
    """Lets LSTMs that programs run from now on compute with this many threads."""
    global _threads
    _threads = number
    if _result is not None and _result[0] is not None:
        _result[0].HybridnetUseThreads(number)


_threads = 0  # as many as there are
# The library and '', or None and why it cannot be used; None: nobody asked yet.
_result: tuple[Any, str] | None = None


def _loaded() -> tuple[Any, str]:
    global _result
    with _lock:
        if _result is None:
            try:
                _result = _load(), ""
            except _Unusable as error:
                _result = None, str(error)
                _log.warning("oneDNN is installed but cannot be used: %s", error)
        return _result


def _load() -> Any:
    package = _package()
    if package is None:
        raise _Unusable("its files are gone")
    try:
        with onednn_library.settings():
            library = _open(package)
        library.HybridnetPackedBytes.restype = ctypes.c_int64
        library.HybridnetPackedBytes.argtypes = [ctypes.POINTER(ctypes.c_int64), ctypes.c_int64]
        library.HybridnetClose.argtypes = [ctypes.c_int64]
        library.HybridnetLeave.restype = None
        library.HybridnetUseThreads.restype = None
        library.HybridnetUseThreads(_threads)
        functions = {COMPUTE: library.HybridnetCompute, PACK: library.HybridnetPack}
        for target, function in functions.items():
            jax.ffi.register_ffi_target(target, jax.ffi.pycapsule(function), platform="cpu")
    except (OSError, AttributeError, RuntimeError, ValueError) as error:
        # ValueError: CXX holds an open quote; RuntimeError: XLA will not have them.
        raise _Unusable(str(error)) from None
    atexit.register(_close, library)
    if hasattr(os, "register_at_fork"):  # a forked child cannot compute, and has nobody to wait for
        os.register_at_fork(after_in_child=lambda: atexit.unregister(_close))
    return library


def _close(library: ctypes.CDLL) -> None:
    """Waits for what computes; after Ctrl-C for the present calls only, and the next ones fail.

    JAX and the C++ libraries take their things down after this, and nobody may use them then.
    """
    try:
        while not library.HybridnetClose(_STEP):
            pass
    except KeyboardInterrupt:
        library.HybridnetLeave()
        while not library.HybridnetClose(_STEP):
            pass


def _open(package: _Package) -> ctypes.CDLL:
    """Returns the compiled custom calls, from the cache folder where they are there."""
    folder = _folder()
    if folder is not None:
        try:
            return _library(_kept(package, folder / _file_name(package)))
        except OSError as error:  # the disk is full, or nobody may write there
            _log.info("%s cannot keep what calls oneDNN: %s", folder, error)
    with tempfile.TemporaryDirectory() as temporary:
        made = _compiled(package, Path(temporary) / "onednn.so")
        with OwnFolder(made.parent) as own:
            return _library(own.open(made.name))


def _library(descriptor: int) -> ctypes.CDLL:
    """Loads an open file: by its path it could be another one than was looked at.

    The descriptor stays open, as the loader remembers what it has loaded by this name.
    """
    return ctypes.CDLL(f"/proc/self/fd/{descriptor}")


def _sources() -> dict[str, bytes]:
    """Returns the custom calls' source and what it includes, by name, also from an archive."""
    folder = resources.files(__package__)
    return {name: (folder / name).read_bytes() for name in (_SOURCE, *_INCLUDED)}


def _file_name(package: _Package) -> str:
    """Returns what the file of the compiled custom calls is called."""
    sources = [*_sources().values()]
    # It is compiled for all that the processor can do, and other machines may have the same folder.
    facts = (sources, package, metadata.version("jaxlib"), _xla_headers(), processor())
    digest = hashlib.blake2b(repr(facts).encode(), digest_size=16).hexdigest()
    return f"onednn-{digest}.so"


def _xla_headers() -> str:
    """Returns the folder of XLA's headers, as `jax.ffi.include_dir`, for which JAX is not loaded.

    Raises:
        RuntimeError: jaxlib is not where packages are.
    """
    found = importlib.util.find_spec("jaxlib")
    if found is None or not found.submodule_search_locations:
        raise RuntimeError("jaxlib's folder cannot be found")
    return os.path.join(os.path.abspath(found.submodule_search_locations[0]), "include")


def _kept(package: _Package, file: Path) -> int:
    """Opens the compiled custom calls, compiled first if they are not there, whole.

    Raises:
        OSError: the folder is not this user's alone, or they cannot be kept there.
    """
    with (
        OwnFolder(file.parent) as folder,
        open(file.with_suffix(".lock"), "w", encoding="utf-8") as alone,
    ):
        lock(alone)
        with contextlib.suppress(OSError):
            return _whole(folder, file.name)
        _compiled(package, file)
        seal = _seal(file.name)
        with atomic_write(file.with_name(seal)) as stream:
            stream.write(_hash(folder.read(file.name)))
        file.with_name(seal).chmod(0o600)
        return _whole(folder, file.name)


def _whole(folder: OwnFolder, name: str) -> int:
    """Opens a library that was written to its end: loading half of one ends the process.

    Raises:
        OSError: it was not, or it is not there, or others can have written it.
    """
    descriptor = folder.open(name)
    try:
        with open(descriptor, "rb", closefd=False) as stream:
            found = _hash(stream.read())
        if not found or found != folder.read(_seal(name)):
            raise OSError(f"{name} is not whole")
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _seal(name: str) -> str:
    """Returns where the hash of a library's bytes is kept, beside it."""
    return str(Path(name).with_suffix(".hash"))


def _hash(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).hexdigest().encode() if data else b""


def _folder() -> Path | None:
    """Returns the folder of compiled libraries; None where none is to be kept, or others write."""
    try:
        cache_folder = config.cache_dir()
    except RuntimeError:  # there is no home directory
        return None
    if cache_folder is None:
        return None
    folder = cache_folder / "native"
    try:
        with OwnFolder(folder, make=True):
            return folder
    except OSError:
        return None


def clear() -> int:
    """Removes what was compiled, for any version of JAX; returns how many libraries."""
    folder = _folder()
    found = [] if folder is None else list(folder.glob("onednn-*"))
    for path in found:
        if path.is_dir():  # of somebody who was killed while compiling
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    return sum(path.suffix == ".so" for path in found)


def _preferring_others() -> list[str]:
    """Returns what a command begins with that leaves the processors to other work."""
    nice = shutil.which("nice")
    return [] if nice is None else [nice, "-n", str(LOW_PRIORITY)]


def _compiled(package: _Package, file: Path) -> Path:
    """Compiles the custom calls into a file, which appears whole or not at all."""
    asked = os.environ.get("CXX", "").strip()
    # CXX may hold arguments, too, as in make: 'ccache g++'.
    command, *options = shlex.split(asked) or [""]
    names = (command,) if command else _COMPILERS
    compiler = next(filter(None, map(shutil.which, names)), None)
    if compiler is None:
        raise _Unusable(f"there is no C++ compiler ({', '.join(names)}; CXX can name one)")
    _log.info("compiling oneDNN's custom calls with %s", compiler)
    with tempfile.TemporaryDirectory(dir=file.parent, prefix="onednn-") as temporary:
        made = Path(temporary) / file.name
        for name, data in _sources().items():
            made.with_name(name).write_bytes(data)
        call = [
            compiler,
            *options,
            "-O3",
            "-march=native",
            "-std=c++17",
            "-shared",
            "-fPIC",
            f"-I{_xla_headers()}",
            f"-I{package.headers}",
            str(made.with_name(_SOURCE)),
            f"-o{made}",
            str(package.library),
            f"-Wl,-rpath,{package.library.parent}",
        ]
        try:
            run = subprocess.run(call, capture_output=True, text=True, timeout=_COMPILER_SECONDS)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise _Unusable(f"{compiler} could not be run: {error}") from None
        if run.returncode:
            lines = [line for line in run.stderr.splitlines() if "error" in line] or [run.stderr]
            raise _Unusable(f"{compiler} failed with {run.returncode}: {lines[0]}")
        made.chmod(0o700)  # whatever the umask: what others may write to is not loaded
        os.replace(made, file)
    return file


# Calls ------------------------------------------------------------------------------------------


def compute(spec: Sequence[int], shapes: Sequence[Sequence[int]], *arrays: Any) -> Sequence[Any]:
    """Adds a call of oneDNN to a traced program; returns its results, in float32.

    What is computed, and so what the arrays and results are:

    - a convolution or a product: (data, weights[, bias][, addend]) -> the result;
    - its gradient by the data: (weights, gradient of the result) -> the gradient;
    - its gradient by the weights: (data, gradient of the result) -> the gradient[, that of the
      bias];
    - a layer of an LSTM: (the inputs' share of the gates, first hidden state, first cell state,
      weights) -> the hidden states, the gates and the cell states of all steps;
    - its gradient: (gradient of the hidden states, gates, cell states, first cell state, gradients
      of the last hidden and cell states, weights) -> the gradients of the inputs' share of the
      gates and of both first states.

    Args:
        spec: the numbers that say which of these it is, and how; see `onednn.cc`.
        shapes: the shapes of the results.
        arrays: the arrays.
    """
    results: Sequence[Any] = _call(COMPUTE, spec, shapes, *arrays)
    return results


def pack(spec: Sequence[int], weight: Any) -> Any:
    """Turns weights into the order of a kernel: numbers for calls by that `spec` alone."""
    library, _ = _loaded()
    numbers = (ctypes.c_int64 * len(spec))(*spec)
    size = library.HybridnetPackedBytes(numbers, len(spec))
    if size < 0:
        raise MXNetError(f"oneDNN has no kernel for {list(spec)}")
    return _call(PACK, spec, [(-(-size // 4),)], weight)[0]


def _call(target: str, spec: Sequence[int], shapes: Sequence[Sequence[int]], *arrays: Any) -> Any:
    results = [jax.ShapeDtypeStruct(tuple(shape), np.float32) for shape in shapes]
    return jax.ffi.ffi_call(target, results, vmap_method="sequential")(
        *arrays, spec=np.array(spec, np.int64)
    )
