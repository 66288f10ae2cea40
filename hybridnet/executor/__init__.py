"""Bound graphs: a symbol with the arrays that it computes with, see `Executor`."""

from .executor import Executor as Executor

__all__ = ["Executor"]
