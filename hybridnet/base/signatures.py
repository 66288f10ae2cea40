"""Signatures of users' functions, whose annotations may name what is not there."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable

if sys.version_info >= (3, 14):
    from annotationlib import Format

    def signature_of(function: Callable[..., object]) -> inspect.Signature:
        """Returns the signature of a callable; see `inspect.signature` for what it raises.

        Since Python 3.14 annotations are evaluated when somebody asks, and so they may name what
        only type checkers import. Here such a one is an `annotationlib.ForwardRef`.
        """
        return inspect.signature(function, annotation_format=Format.FORWARDREF)

else:
    signature_of = inspect.signature
