"""``tf.train``: optimizers, learning rates, moving averages, checkpoints."""

from hybridnet.events import summary_iterator as summary_iterator

from .files.messages import *  # noqa: F403
from .files.readers import match_filenames_once as match_filenames_once
from .files.readers import string_input_producer as string_input_producer
from .queues.coordinator import *  # noqa: F403
from .queues.inputs import *  # noqa: F403
from .queues.runner import *  # noqa: F403
from .training.averages import *  # noqa: F403
from .training.cluster import *  # noqa: F403
from .training.hooks import *  # noqa: F403
from .training.monitored import *  # noqa: F403
from .training.optimizer import *  # noqa: F403
from .training.optimizers import *  # noqa: F403
from .training.rates import *  # noqa: F403
from .training.reporting import *  # noqa: F403
from .training.run_hook import *  # noqa: F403
from .training.saver import *  # noqa: F403
from .training.scaffold import *  # noqa: F403
from .training.session_manager import *  # noqa: F403
from .training.supervisor import *  # noqa: F403
from .training.sync_replicas import *  # noqa: F403
