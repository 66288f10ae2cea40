"""``tf.contrib.rnn``: the names that cells and loops had there."""

from ..recurrent.cell import LSTMStateTuple as LSTMStateTuple
from ..recurrent.cell import RNNCell as RNNCell
from ..recurrent.gated import *  # noqa: F403
from ..recurrent.static import *  # noqa: F403
from ..recurrent.wrappers import *  # noqa: F403
