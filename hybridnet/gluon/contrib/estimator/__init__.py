"""`gluon.contrib.estimator`: a training loop whose events are handled by objects."""

from . import batch_processor as batch_processor
from . import estimator as estimator
from . import event_handler as event_handler
from . import utils as utils
from .batch_processor import BatchProcessor
from .checkpoint_handler import CheckpointHandler
from .early_stopping import EarlyStoppingHandler
from .estimator import Estimator
from .events import BatchBegin, BatchEnd, EpochBegin, EpochEnd, TrainBegin, TrainEnd
from .handlers import GradientUpdateHandler, MetricHandler, StoppingHandler, ValidationHandler
from .logging_handler import LoggingHandler

__all__ = [
    "BatchBegin",
    "BatchEnd",
    "BatchProcessor",
    "CheckpointHandler",
    "EarlyStoppingHandler",
    "EpochBegin",
    "EpochEnd",
    "Estimator",
    "GradientUpdateHandler",
    "LoggingHandler",
    "MetricHandler",
    "StoppingHandler",
    "TrainBegin",
    "TrainEnd",
    "ValidationHandler",
]
