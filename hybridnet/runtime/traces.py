"""Recordings that are kept as graphs."""

from .record.trace import Captured as Captured
from .record.trace import GraphBuilder as GraphBuilder
from .record.trace import Trace as Trace
from .record.trace import host_scalars as host_scalars
from .record.trace import init_scope as init_scope
