"""``tf.nn``: what networks are made of."""

from . import rnn_cell as rnn_cell
from .operations.gathering import embedding_lookup as embedding_lookup
from .operations.nn.activation import *  # noqa: F403
from .operations.nn.conv import *  # noqa: F403
from .operations.nn.entropy import *  # noqa: F403
from .operations.nn.moments import *  # noqa: F403
from .operations.nn.norm import *  # noqa: F403
from .operations.nn.pool import *  # noqa: F403
from .operations.nn.sampling import *  # noqa: F403
from .operations.ordering import in_top_k as in_top_k
from .operations.ordering import top_k as top_k
from .operations.sparse.functions import embedding_lookup_sparse as embedding_lookup_sparse
from .recurrent.dynamic import bidirectional_dynamic_rnn as bidirectional_dynamic_rnn
from .recurrent.dynamic import dynamic_rnn as dynamic_rnn
from .recurrent.raw import raw_rnn as raw_rnn
from .recurrent.static import *  # noqa: F403
