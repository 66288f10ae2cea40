"""The module `mxnet` in the processes that a script under ``hybridnet run`` starts."""

from __future__ import annotations

from hybridnet.base import config
from hybridnet.compat.mxnet.alias import install

install(config.numpy_names())  # puts the package in the place of this module
