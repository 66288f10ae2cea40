"""``tf.train``: optimizers, learning rates, moving averages, checkpoints."""

from __future__ import annotations

from .averages import ExponentialMovingAverage as ExponentialMovingAverage
from .coordinator import *  # noqa: F403
from .events import summary_iterator as summary_iterator
from .hooks import *  # noqa: F403
from .input_ops import *  # noqa: F403
from .monitored import *  # noqa: F403
from .optimizer import Optimizer as Optimizer
from .optimizers import AdadeltaOptimizer as AdadeltaOptimizer
from .optimizers import AdagradOptimizer as AdagradOptimizer
from .optimizers import AdamOptimizer as AdamOptimizer
from .optimizers import FtrlOptimizer as FtrlOptimizer
from .optimizers import GradientDescentOptimizer as GradientDescentOptimizer
from .optimizers import MomentumOptimizer as MomentumOptimizer
from .optimizers import RMSPropOptimizer as RMSPropOptimizer
from .queue_runner import *  # noqa: F403
from .rates import cosine_decay as cosine_decay
from .rates import cosine_decay_restarts as cosine_decay_restarts
from .rates import create_global_step as create_global_step
from .rates import exponential_decay as exponential_decay
from .rates import get_global_step as get_global_step
from .rates import get_or_create_global_step as get_or_create_global_step
from .rates import global_step as global_step
from .rates import inverse_time_decay as inverse_time_decay
from .rates import linear_cosine_decay as linear_cosine_decay
from .rates import natural_exp_decay as natural_exp_decay
from .rates import piecewise_constant as piecewise_constant
from .rates import piecewise_constant_decay as piecewise_constant_decay
from .rates import polynomial_decay as polynomial_decay
from .run_hook import *  # noqa: F403
from .saver import *  # noqa: F403
