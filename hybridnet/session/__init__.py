"""`Session`: runs parts of a graph, and holds the variables between runs."""

from .errors import FeedError, MissingFeedError, UninitializedError
from .metadata import RunMetadata, RunOptions
from .session import Session

__all__ = [
    "FeedError",
    "MissingFeedError",
    "RunMetadata",
    "RunOptions",
    "Session",
    "UninitializedError",
]
