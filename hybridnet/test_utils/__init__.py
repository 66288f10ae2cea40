"""Helpers that tests written for MXNet import: comparing, random data, checks of gradients.

from hybridnet import test_utils
test_utils.check_numeric_gradient(sym.tanh(sym.var("x")), [np.random.rand(3, 4)])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hybridnet.base.unsupported import missing
from hybridnet.util import use_np

from . import arrays, compare, consistency, defaults, distributions, environ, files, symbolic
from .arrays import *  # noqa: F403
from .compare import *  # noqa: F403
from .consistency import *  # noqa: F403
from .defaults import *  # noqa: F403
from .distributions import *  # noqa: F403
from .environ import *  # noqa: F403
from .files import *  # noqa: F403
from .symbolic import *  # noqa: F403

__all__ = [
    *arrays.__all__,
    *compare.__all__,
    *consistency.__all__,
    *defaults.__all__,
    *distributions.__all__,
    *environ.__all__,
    *files.__all__,
    *symbolic.__all__,
    "use_np",
]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        raise missing("test_utils", name, __all__)
