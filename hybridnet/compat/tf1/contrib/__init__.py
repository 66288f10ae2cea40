"""``tf.contrib``: of TensorFlow's additions, those that other names lack."""

from __future__ import annotations

from .. import distributions as distributions
from . import data as data
from . import framework as framework
from . import layers as layers
from . import legacy_seq2seq as legacy_seq2seq
from . import lookup as lookup
from . import losses as losses
from . import nccl as nccl
from . import rnn as rnn
from . import seq2seq as seq2seq
from . import slim as slim
from . import tensorboard as tensorboard
from . import training as training


def __getattr__(name: str) -> object:
    raise AttributeError(
        f"tf.contrib.{name} is not there: of tf.contrib there are data, distributions, framework, "
        "layers, legacy_seq2seq, lookup, losses, nccl, rnn, seq2seq, slim, tensorboard and "
        "training, in part; TensorFlow has taken it out since"
    )
