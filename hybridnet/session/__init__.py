"""`Session`: runs parts of a graph, and holds the variables between runs."""

from .errors import FeedError, MissingFeedError, UninitializedError
from .fetches import Fetches, Joined
from .held import IS_HELD, VALUE_OR
from .metadata import DeviceStepStats, RunMetadata, RunOptions, StepStats, Trace
from .python_call import PythonCall
from .runner import Runner
from .session import Session
from .step import (
    LateCalls,
    Request,
    RunStep,
    register_late_calls,
)

__all__ = [
    "IS_HELD",
    "VALUE_OR",
    "DeviceStepStats",
    "FeedError",
    "Fetches",
    "Joined",
    "LateCalls",
    "MissingFeedError",
    "PythonCall",
    "Request",
    "RunMetadata",
    "RunOptions",
    "RunStep",
    "Runner",
    "Session",
    "StepStats",
    "Trace",
    "UninitializedError",
    "register_late_calls",
]
