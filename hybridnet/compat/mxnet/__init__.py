"""MXNet 1.9's name for hybridnet: `import mxnet` in scripts that are run unmodified.

    import hybridnet.compat.mxnet
    hybridnet.compat.mxnet.install()

    import mxnet as mx          # is hybridnet, for this process

``hybridnet run script.py`` does it for a script and for the processes that it starts, and
``%load_ext hybridnet.compat.mxnet`` for a notebook.

- ``mxnet.x.y`` and ``from mxnet.x import y`` give hybridnet's own modules, classes and functions,
  so that both names can be mixed; modules at another place here are found by MXNet's name, too.
- ``mxnet.__version__`` is 1.9.1, which packages compare; ours is ``mxnet.__hybridnet_version__``.
- What was pickled under MXNet's names is found under them.
- A name that hybridnet does not have is an error that says what to use instead.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from .alias import install as install
from .alias import is_installed as is_installed
from .alias import uninstall as uninstall
from .numpy_names import NUMPY_NAMES
from .numpy_names import restore_numpy_names as restore_numpy_names
from .old_modules import MODULE_NAMES
from .old_modules import restore_modules as restore_modules
from .python_names import PYTHON_NAMES
from .python_names import restore_python_names as restore_python_names

__all__ = [
    "RESTORED",
    "install",
    "installed",
    "is_installed",
    "load_ipython_extension",
    "restore_modules",
    "restore_numpy_names",
    "restore_python_names",
    "uninstall",
]


def _is_missing(path: str) -> bool:
    module, _, name = path.rpartition(".")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # names about to go warn when they are asked for
        return not hasattr(importlib.import_module(module), name)


#: The names that the installed NumPy and Python lack and `install` gives back: ``numpy.float``.
RESTORED: Final = frozenset(
    filter(_is_missing, PYTHON_NAMES | MODULE_NAMES | {f"numpy.{name}" for name in NUMPY_NAMES})
)


@contextmanager
def installed() -> Iterator[None]:
    """Makes ``import mxnet`` import hybridnet for a block; what was there before comes back."""
    was_installed = is_installed()
    install()
    try:
        yield
    finally:
        if not was_installed:
            uninstall()


def load_ipython_extension(ipython: Any) -> None:
    """Installs the alias for a notebook, with NumPy's old names: ``%load_ext`` calls this.

    Args:
        ipython: the shell.
    """
    install(numpy_names=True)
