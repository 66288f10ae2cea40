"""`rnn`: recurrent cells on symbols, buckets of sentences, and checkpoints of both."""

from . import io as io
from . import rnn as rnn
from . import rnn_cell as rnn_cell
from .io import *  # noqa: F403
from .io import __all__ as _io_names
from .rnn import *  # noqa: F403
from .rnn import __all__ as _rnn_names
from .rnn_cell import *  # noqa: F403
from .rnn_cell import __all__ as _cell_names

__all__ = [*_cell_names, *_io_names, *_rnn_names]
