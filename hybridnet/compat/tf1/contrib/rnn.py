"""``tf.contrib.rnn``: the names that cells and loops had there."""

from __future__ import annotations

from ..recurrent.cell import LSTMStateTuple as LSTMStateTuple
from ..recurrent.cell import RNNCell as RNNCell
from ..recurrent.gated import BasicLSTMCell as BasicLSTMCell
from ..recurrent.gated import BasicRNNCell as BasicRNNCell
from ..recurrent.gated import GRUCell as GRUCell
from ..recurrent.gated import LSTMCell as LSTMCell
from ..recurrent.static import static_bidirectional_rnn as static_bidirectional_rnn
from ..recurrent.static import static_rnn as static_rnn
from ..recurrent.wrappers import DeviceWrapper as DeviceWrapper
from ..recurrent.wrappers import DropoutWrapper as DropoutWrapper
from ..recurrent.wrappers import MultiRNNCell as MultiRNNCell
from ..recurrent.wrappers import ResidualWrapper as ResidualWrapper
