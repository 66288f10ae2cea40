"""``tf.nn``: what networks are made of."""

from __future__ import annotations

from .conv_ops import *  # noqa: F403
from .entropy_ops import *  # noqa: F403
from .gather_ops import embedding_lookup as embedding_lookup
from .nn_ops import *  # noqa: F403
from .norm_ops import *  # noqa: F403
from .order_ops import in_top_k as in_top_k
from .order_ops import top_k as top_k
from .pool_ops import *  # noqa: F403
from .sparse_ops import embedding_lookup_sparse as embedding_lookup_sparse
