"""``tf.contrib``: of TensorFlow's additions, those that other names lack."""

from __future__ import annotations

from . import layers as layers
from . import nccl as nccl
from . import rnn as rnn


def __getattr__(name: str) -> object:
    raise AttributeError(
        f"tf.contrib.{name} is not there: of tf.contrib there are layers, nccl and rnn, in part; "
        "TensorFlow has taken it out since"
    )
