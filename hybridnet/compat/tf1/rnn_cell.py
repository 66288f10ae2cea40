"""``tf.nn.rnn_cell``: steps of recurrent networks."""

from .recurrent.cell import LSTMStateTuple as LSTMStateTuple
from .recurrent.cell import RNNCell as RNNCell
from .recurrent.gated import *  # noqa: F403
from .recurrent.wrappers import *  # noqa: F403
