"""JAX and other modules that take long to import or may be missing, imported at their first use.

``from hybridnet.base.lazy import jnp`` costs nothing: the real module is imported when an attribute
is first asked for, which happens when the first operator is lowered. So ``import hybridnet``, the
file readers and data-loading workers never pay for JAX (about a second) nor start its threads.
"""

from __future__ import annotations

import importlib
import logging
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic, sleep
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from hybridnet.base.locks import free_in_children
from hybridnet.engine import RLock

from .whole_import import import_whole

__all__ = [
    "cv2",
    "farmhash",
    "fsspec",
    "hashlib",
    "jax",
    "jax_core",
    "jnp",
    "lax",
    "linalg",
    "metadata",
    "mlir",
    "numpy",
    "onnx",
    "pickletools",
    "protobuf",
    "resources",
    "special",
    "subprocess",
    "tempfile",
    "threadpoolctl",
    "xla_client",
]


#: Held by whoever imports JAX.
_importing: Final = free_in_children(RLock())
#: For models of Caffe, and for records and events of TensorFlow.
_PROTOBUF: Final = "pip install 'hybridnet[caffe]' or 'hybridnet[tf1]'"
#: Module that may be missing -> what needs it, the package that has it, and what installs that.
_EXTRAS: Final = {
    "cv2": ("images need", "opencv-python-headless", "pip install 'hybridnet[image]'"),
    "farmhash": (
        "several buckets for words beyond a vocabulary need",
        "pyfarmhash",
        "pip install 'hybridnet[lookup]', for which a C++ compiler compiles it where there is no "
        "wheel: elsewhere than on Linux on x86-64, and for Python 3.14",
    ),
    "fsspec": (
        "files that are not on this machine need",
        "fsspec",
        "pip install 'hybridnet[remote]'",
    ),
    "google": ("files of protobuf's need", "protobuf", _PROTOBUF),
    "google.protobuf": ("files of protobuf's need", "protobuf", _PROTOBUF),
    "onnx": ("ONNX models need", "onnx", "pip install 'hybridnet[onnx]'"),
}


#: Seconds that a fork waits for imports at most: JAX's takes one or two, more on a busy machine.
_FORK_TIMEOUT: Final = 10.0
_TICK: Final = 0.001


class _Imports:
    """Keeps imports and forks apart.

    A module that a thread imports is locked, for ever in a child that was forked meanwhile and does
    not have the thread.
    """

    def __init__(self) -> None:
        #: the threads that import, as often as they do.
        self._importing: list[int] = []
        #: the thread that forks.
        self._forking: int | None = None

    def run(self, name: str) -> ModuleType:
        """Imports a module, after a fork that is under way; returns it."""
        thread = threading.get_ident()
        try:
            self._begin(thread)
            if name.partition(".")[0] == "jax":
                _import_jax()
            return importlib.import_module(name)
        finally:  # also where the handler of a signal raised, maybe before it was noted
            if thread in self._importing:
                self._importing.remove(thread)

    def _begin(self, thread: int) -> None:
        """Notes that a thread imports, once no other thread forks."""
        self._importing.append(thread)  # first: who forks looks when it has said so
        while self._forking not in (None, thread):
            self._importing.remove(thread)
            sleep(_TICK)
            self._importing.append(thread)

    def before_fork(self) -> None:
        """Waits until no other thread imports, but not for ever: it may wait for this one."""
        thread, end = threading.get_ident(), monotonic() + _FORK_TIMEOUT
        self._forking = thread
        while set(self._importing) - {thread} and monotonic() < end:
            sleep(_TICK)

    def after_fork(self) -> None:
        """In the parent."""
        self._forking = None

    def after_fork_in_child(self) -> None:
        """In the child, which has this thread only."""
        self._forking = None
        self._importing = [one for one in self._importing if one == threading.get_ident()]


_imports: Final = _Imports()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_imports.before_fork,
        after_in_parent=_imports.after_fork,
        after_in_child=_imports.after_fork_in_child,
    )


class _LazyModule(ModuleType):
    """Stands for a module until one of its attributes is wanted."""

    def __getattr__(self, name: str) -> Any:
        try:
            module = _imports.run(self.__name__)
        except ModuleNotFoundError as error:
            if error.name not in _EXTRAS:
                raise
            needs, wheel, install = _EXTRAS[error.name]
            raise ModuleNotFoundError(
                f"{needs} the package {wheel}, which is not installed; {install}",
                name=error.name,
            ) from error
        try:
            value = getattr(module, name)
        except AttributeError:
            value = _submodule(self.__name__, name)
            if value is None:
                raise
        # Kept here, so that the next access is an ordinary attribute look-up. ``config`` values
        # are objects that change inside, not attributes that are rebound, so this never goes stale.
        self.__dict__[name] = value
        return value


def _import_jax() -> None:
    """Imports JAX, which leaves loggers and random numbers as they were."""
    if "jax" in sys.modules:
        import_whole("jax")  # another thread may be at it
        return
    _quieten()
    with _importing, _drawing_apart():
        import_whole("jax")
    _quieten()  # again: JAX sets what its own configuration says, by default nothing


@contextmanager
def _drawing_apart() -> Iterator[None]:
    """Gives this thread a generator of its own for what it draws by `numpy.random.rand`.

    A module of JAX's draws as it is imported. That would move on the generator that a program has
    seeded, at a time that nobody knows.
    """
    random: Any = numpy.random
    thread, theirs, own = threading.get_ident(), random.rand, random.RandomState(0)

    def rand(*shape: int) -> Any:
        return (own.rand if threading.get_ident() == thread else theirs)(*shape)

    random.rand = rand
    try:
        yield
    finally:
        random.rand = theirs


def _quieten() -> None:
    """Limits JAX's log to warnings and what is worse, unless its level was set.

    Programs set the root logger to DEBUG to see their own steps, which is no wish for a dozen lines
    of JAX's for each compilation.
    """
    logger = logging.getLogger("jax")
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.WARNING)


def _submodule(module: str, name: str) -> ModuleType | None:
    """Returns a module that its package does not import by itself; None if there is none."""
    if module not in _EXTRAS:
        return None
    try:
        return importlib.import_module(f"{module}.{name}")
    except ModuleNotFoundError:
        return None


if TYPE_CHECKING:
    import hashlib
    import pickletools
    import subprocess
    import tempfile
    from importlib import metadata, resources

    import cv2
    import farmhash
    import fsspec
    import jax
    import jax.numpy as jnp
    import numpy
    import onnx
    import threadpoolctl
    from google import protobuf
    from jax import lax
    from jax.extend import core as jax_core
    from jax.interpreters import mlir
    from jaxlib import xla_client
    from scipy import linalg, special
else:
    hashlib = _LazyModule("hashlib")
    cv2 = _LazyModule("cv2")  # an extra
    farmhash = _LazyModule("farmhash")  # an extra
    fsspec = _LazyModule("fsspec")  # an extra
    jax = _LazyModule("jax")
    jax_core = _LazyModule("jax.extend.core")
    jnp = _LazyModule("jax.numpy")
    lax = _LazyModule("jax.lax")
    linalg = _LazyModule("scipy.linalg")  # which JAX needs
    metadata = _LazyModule("importlib.metadata")
    mlir = _LazyModule("jax.interpreters.mlir")
    numpy = _LazyModule("numpy")
    onnx = _LazyModule("onnx")  # an extra
    pickletools = _LazyModule("pickletools")
    protobuf = _LazyModule("google.protobuf")  # an extra
    resources = _LazyModule("importlib.resources")
    special = _LazyModule("scipy.special")  # which JAX needs
    subprocess = _LazyModule("subprocess")
    tempfile = _LazyModule("tempfile")
    threadpoolctl = _LazyModule("threadpoolctl")
    xla_client = _LazyModule("jaxlib.xla_client")  # not public
