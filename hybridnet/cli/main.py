"""The command line: its arguments, and errors as one clear line."""

from __future__ import annotations

import argparse
import os
import select
import sys
from collections.abc import Sequence
from typing import Final, NoReturn

import hybridnet
from hybridnet.base.errors import MXNetError
from hybridnet.base.interrupts import defer_interrupts
from hybridnet.labs.command import add_lab

from .chat import add_chat
from .completion import add_completion
from .convert import add_convert
from .doctor.command import add_doctor
from .im2rec import add_im2rec
from .launch import add_launch
from .rec import add_rec
from .replay import add_replay
from .run import run
from .train_options import add_train

#: The exit status of a usage or input error, as argparse has it.
_USAGE: Final = 2
#: The status that shells report for a program ended by Ctrl-C.
_INTERRUPTED: Final = 130
#: And for one whose reader has gone (SIGPIPE).
_UNREAD: Final = 141
#: What the error of a missing extra says to do.
_INSTALL: Final = "pip install 'hybridnet["

_EXAMPLES: Final = """\
for example:
  hybridnet train                                 LeNet on digits that come with it, in three ways
  hybridnet train --data train.rec --epochs 20    a network of the model zoo on your images
  hybridnet im2rec train images --list            a list of the images in a folder, and then
  hybridnet im2rec train images                   the record file of it
  hybridnet run train.py --epochs 3               a script of MXNet's, as it is
  hybridnet doctor project                        what of a project of MXNet's will run
  hybridnet replay step.hn                        a step that made NaN, operator by operator
  hybridnet chat folder                           a network of Hugging Face's, at the terminal
  hybridnet launch -n 2 -s 1 python train.py      two workers and a server that adds up
  hybridnet lab list                              parts of the system to write yourself: the course
  hybridnet convert --help                        models of Caffe and ONNX
  hybridnet info                                  what is installed, and which devices there are

In Python:
  import hybridnet as mx
  a = mx.nd.ones((2, 3)); print(a * 2 + 1)        arrays; mx.gluon has layers, mx.sym graphs
  mx.runtime.explain()                            what ran just now, as a program

`hybridnet COMMAND --help` says all of a command; README.md is where to begin.
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hybridnet",
        description="A hybrid imperative and symbolic deep-learning framework, with MXNet's names.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"hybridnet {hybridnet.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    add_train(commands)

    run = commands.add_parser(
        "run",
        help="run a script that imports mxnet: hybridnet takes MXNet's name in its process",
        description="Runs a Python script as `python SCRIPT` does, with hybridnet as mxnet.",
    )
    run.add_argument(
        "--no-numpy-names",
        dest="numpy_names",
        action="store_false",
        help="do not give NumPy the names back that it dropped, such as np.bool and np.float",
    )
    run.add_argument("-m", dest="module", action="store_true", help="SCRIPT is a module's name")
    run.add_argument("script", metavar="SCRIPT", help="the file, or with -m the module")
    run.add_argument("arguments", nargs=argparse.REMAINDER, help="the script's own")

    commands.add_parser("info", help="print versions, devices, engine kind and cache folder")

    cache = commands.add_parser("cache", help="show or empty the folder of compiled programs")
    cache.add_argument(
        "action",
        choices=("info", "clear"),
        help="info: print path, number, bytes and limit; clear: remove all programs",
    )

    add_rec(commands)
    add_im2rec(commands)
    add_convert(commands)
    add_doctor(commands)
    add_launch(commands)
    add_replay(commands)
    add_chat(commands)
    add_lab(commands)
    add_completion(commands, parser)
    return parser


def program() -> NoReturn:
    """Runs the command of this process and ends it."""
    status = main()
    if sys.stdout is not None:  # as after `>&-`
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            status = _UNREAD
        if status == _UNREAD:  # Python would write what is left as the process ends, and fail
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(status)


def _is_unread() -> bool:
    """Whether nobody reads the output any more, as after `| head`."""
    if not hasattr(select, "poll"):
        return False
    found = select.poll()
    found.register(sys.stdout.fileno(), 0)
    return any(event & select.POLLERR for _, event in found.poll(0))


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status.

    Args:
        arguments: as on the command line; default the process's own.
    """
    parser = _parser()
    words = sys.argv[1:] if arguments is None else arguments
    if not words:
        parser.print_help(sys.stderr)
        return _USAGE
    options = parser.parse_args(words)
    if options.command not in ("run", "launch"):
        defer_interrupts()
    try:
        if options.command == "run":
            return run(options.script, options.arguments, options.module, options.numpy_names)
        return _run(options)
    except ImportError as error:
        if options.command == "run" or _INSTALL not in str(error):
            raise
        print(f"hybridnet {options.command}: {_one_line(error)}", file=sys.stderr)
        return _USAGE
    except (MXNetError, OSError) as error:
        if isinstance(error, BrokenPipeError) and _is_unread():
            return _UNREAD
        print(f"hybridnet {options.command}: {_one_line(error)}", file=sys.stderr)
        return _USAGE
    except KeyboardInterrupt:
        print(f"hybridnet {options.command}: interrupted", file=sys.stderr)
        return _INTERRUPTED


def _run(options: argparse.Namespace) -> int:
    if "run" in options:
        return options.run(options) or 0
    # Imported here and not above: these bring in JAX, which takes a second that help does not.
    if options.command == "info":
        from .info import print_info

        print_info()
    elif options.command == "cache":
        from .cache import run_cache

        run_cache(options.action)
    else:
        from .train import train

        train(options)
    return 0


def _one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split())
