"""``tf.math``: functions of numbers, reductions, running sums, segments."""

from __future__ import annotations

from .gather_ops import confusion_matrix as confusion_matrix
from .gather_ops import invert_permutation as invert_permutation
from .math_ops import *  # noqa: F403
from .nn_ops import l2_normalize as l2_normalize
from .nn_ops import log_softmax as log_softmax
from .nn_ops import softmax as softmax
from .nn_ops import softplus as softplus
from .nn_ops import softsign as softsign
from .nn_ops import zero_fraction as zero_fraction
from .order_ops import *  # noqa: F403
from .reduce_ops import *  # noqa: F403
