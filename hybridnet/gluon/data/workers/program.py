"""The command line of the interpreter that becomes a nursery."""

from __future__ import annotations

import json
import sys
from typing import Final

# It imports hybridnet from where this process has it, and nothing from the present folder (-P),
# which need not be one of those.
_PROGRAM: Final = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from hybridnet.gluon.data.workers.nursery import main; main(int(sys.argv[2]))"
)


def command(descriptor: int) -> list[str]:
    """Returns the command line.

    Args:
        descriptor: of the socket over which it is told what to do; it must be inherited.
    """
    return [sys.executable, "-P", "-c", _PROGRAM, json.dumps(sys.path), str(descriptor)]
