"""``tf.train``: optimizers, learning rates, moving averages, checkpoints."""

from __future__ import annotations

from .files.messages import *  # noqa: F403
from .files.readers import match_filenames_once as match_filenames_once
from .files.readers import string_input_producer as string_input_producer
from .queues.coordinator import *  # noqa: F403
from .queues.inputs import *  # noqa: F403
from .queues.looper import *  # noqa: F403
from .queues.runner import *  # noqa: F403
from .summaries.events import summary_iterator as summary_iterator
from .training.averages import ExponentialMovingAverage as ExponentialMovingAverage
from .training.cluster import ClusterSpec as ClusterSpec
from .training.cluster import replica_device_setter as replica_device_setter
from .training.ending import *  # noqa: F403
from .training.hooks import *  # noqa: F403
from .training.monitored import *  # noqa: F403
from .training.optimizer import Optimizer as Optimizer
from .training.optimizers import AdadeltaOptimizer as AdadeltaOptimizer
from .training.optimizers import AdagradOptimizer as AdagradOptimizer
from .training.optimizers import AdamOptimizer as AdamOptimizer
from .training.optimizers import FtrlOptimizer as FtrlOptimizer
from .training.optimizers import GradientDescentOptimizer as GradientDescentOptimizer
from .training.optimizers import MomentumOptimizer as MomentumOptimizer
from .training.optimizers import RMSPropOptimizer as RMSPropOptimizer
from .training.rates import cosine_decay as cosine_decay
from .training.rates import cosine_decay_restarts as cosine_decay_restarts
from .training.rates import create_global_step as create_global_step
from .training.rates import exponential_decay as exponential_decay
from .training.rates import get_global_step as get_global_step
from .training.rates import get_or_create_global_step as get_or_create_global_step
from .training.rates import global_step as global_step
from .training.rates import inverse_time_decay as inverse_time_decay
from .training.rates import linear_cosine_decay as linear_cosine_decay
from .training.rates import natural_exp_decay as natural_exp_decay
from .training.rates import piecewise_constant as piecewise_constant
from .training.rates import piecewise_constant_decay as piecewise_constant_decay
from .training.rates import polynomial_decay as polynomial_decay
from .training.reporting import *  # noqa: F403
from .training.run_hook import *  # noqa: F403
from .training.saver import *  # noqa: F403
from .training.scaffold import *  # noqa: F403
from .training.server import Server as Server
from .training.session_manager import SessionManager as SessionManager
from .training.supervisor import Supervisor as Supervisor
from .training.sync_replicas import SyncReplicasOptimizer as SyncReplicasOptimizer
