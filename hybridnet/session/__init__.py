"""`Session`: runs parts of a graph, and holds the variables between runs."""

from .errors import FeedError as FeedError
from .errors import MissingFeedError as MissingFeedError
from .errors import UninitializedError as UninitializedError
from .metadata import RunMetadata as RunMetadata
from .metadata import RunOptions as RunOptions
from .session import Session as Session

__all__ = [
    "FeedError",
    "MissingFeedError",
    "RunMetadata",
    "RunOptions",
    "Session",
    "UninitializedError",
]
