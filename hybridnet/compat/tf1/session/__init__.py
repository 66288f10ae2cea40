"""Sessions: what runs a graph, its options, and what it is fed."""

from .session import InteractiveSession as InteractiveSession
from .session import Session as Session
from .session import get_default_session as get_default_session
from .session import (
    register_session_run_conversion_functions as register_session_run_conversion_functions,
)
