"""``hybridnet run``: a script of MXNet's, unmodified, with hybridnet under MXNet's name."""

from __future__ import annotations

import builtins
import os
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Final

import hybridnet.compat.mxnet.path as _path
from hybridnet.compat.mxnet import install

#: The status that shells report for a program ended by Ctrl-C.
_INTERRUPTED: Final = 130
#: Holds `mxnet.py`, which processes that the script starts find as mxnet.
_CHILDREN: Final = str(Path(_path.__file__).parent)


def run(
    script: str, arguments: Sequence[str], is_module: bool = False, numpy_names: bool = True
) -> int:
    """Runs a script as ``python script.py`` does; `import mxnet` is hybridnet there.

    So it is in the processes that the script starts, by PYTHONPATH.

    Args:
        script: a file, a folder with a ``__main__.py``, or a module's name.
        arguments: what the script finds in ``sys.argv[1:]``.
        is_module: whether `script` is a module's name, as in ``python -m``.
        numpy_names: whether NumPy and Python get the names back that they dropped; see `install`.

    Returns:
        The exit status: 0, or 1 after an error that nobody has caught, which is printed. SystemExit
        is passed on.

    Raises:
        OSError: the script cannot be read.
    """
    install(numpy_names)
    os.environ["HYBRIDNET_NUMPY_NAMES"] = "1" if numpy_names else "0"
    old = os.environ.get("PYTHONPATH")
    sys.path.append(_CHILDREN)  # which multiprocessing hands on
    os.environ["PYTHONPATH"] = _CHILDREN + (os.pathsep + old if old else "")
    sys.argv = [script, *arguments]
    code = None if is_module or os.path.isdir(script) else Path(script).read_bytes()
    try:
        if is_module:
            sys.path.insert(0, os.getcwd())
            runpy.run_module(script, run_name="__main__", alter_sys=True)
        elif code is None:
            runpy.run_path(script, run_name="__main__")
        else:
            _run_file(script, code)
    except SystemExit:
        raise
    except BaseException as error:
        error.with_traceback(_beyond(error.__traceback__))
        # As Python does where nobody catches an error: what runs at exit asks for it.
        sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
        sys.excepthook(type(error), error, error.__traceback__)
        return _INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _run_file(script: str, code: bytes) -> None:
    """Runs a file in a module of its own, which stays `__main__` until the process has ended."""
    module = ModuleType("__main__")
    module.__dict__.update(__file__=script, __builtins__=builtins)
    sys.modules["__main__"] = module
    sys.path.insert(0, str(Path(script).resolve().parent))
    exec(compile(code, script, "exec", dont_inherit=True), module.__dict__)


def _beyond(trace: TracebackType | None) -> TracebackType | None:
    """Returns a traceback without the lines of this file and of what it runs scripts by."""
    while trace is not None and trace.tb_frame.f_globals.get("__name__") in (__name__, "runpy"):
        trace = trace.tb_next
    return trace
