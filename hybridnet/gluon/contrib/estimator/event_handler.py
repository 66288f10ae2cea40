"""The handlers, where MXNet has them."""

from .checkpoint_handler import CheckpointHandler
from .early_stopping import EarlyStoppingHandler
from .events import (
    BatchBegin,
    BatchEnd,
    EpochBegin,
    EpochEnd,
    EventHandler,
    TrainBegin,
    TrainEnd,
)
from .handlers import GradientUpdateHandler, MetricHandler, StoppingHandler, ValidationHandler
from .logging_handler import LoggingHandler

__all__ = [
    "BatchBegin",
    "BatchEnd",
    "CheckpointHandler",
    "EarlyStoppingHandler",
    "EpochBegin",
    "EpochEnd",
    "EventHandler",
    "GradientUpdateHandler",
    "LoggingHandler",
    "MetricHandler",
    "StoppingHandler",
    "TrainBegin",
    "TrainEnd",
    "ValidationHandler",
]
