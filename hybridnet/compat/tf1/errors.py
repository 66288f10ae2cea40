"""TensorFlow's errors, each a kind of hybridnet's own: ``tf.errors.InvalidArgumentError``."""

from __future__ import annotations

from typing import Any

from hybridnet.base import MXNetError

__all__ = [
    "AbortedError", "AlreadyExistsError", "CancelledError", "DataLossError",
    "DeadlineExceededError", "FailedPreconditionError", "InternalError", "InvalidArgumentError",
    "NotFoundError", "OpError", "OperatorNotAllowedInGraphError", "OutOfRangeError",
    "PermissionDeniedError", "ResourceExhaustedError", "UnavailableError", "UnimplementedError",
    "UnknownError",
]  # fmt: skip


class OpError(MXNetError):
    """A node failed in a run.

    Args:
        node_def: what is known of the node, or None; or the message, where nothing else is told.
        op: the Operation, or None.
        message: what happened.
        error_code: TensorFlow's number of the kind; that of the class where it is not given.

    Attributes:
        message, op, node_def: as given.
        error_code: the number.
    """

    code: int = 2

    def __init__(
        self, node_def: Any = None, op: Any = None, message: str = "", error_code: int | None = None
    ) -> None:
        if isinstance(node_def, str):  # as Python's errors are raised, and ours are raised anew
            node_def, message = None, node_def
        super().__init__(message)
        self.node_def = node_def
        self.op = op
        self.message = message
        self.error_code = self.code if error_code is None else error_code

    def __str__(self) -> str:
        return self.message


class OperatorNotAllowedInGraphError(TypeError):
    """A tensor was used where Python wants a value: ``if tensor:``, ``for x in tensor:``."""


class CancelledError(OpError):
    """The run was given up."""

    code = 1


class UnknownError(OpError):
    """Nothing more is known."""

    code = 2


class InvalidArgumentError(OpError, ValueError):
    """An operation got an input that does not fit."""

    code = 3


class DeadlineExceededError(OpError):
    """There was no time left."""

    code = 4


class NotFoundError(OpError):
    """A file, or a value in it, is not there."""

    code = 5


class AlreadyExistsError(OpError):
    """Something that was to be created exists already."""

    code = 6


class PermissionDeniedError(OpError):
    """The caller may not do this."""

    code = 7


class ResourceExhaustedError(OpError):
    """There is no memory or room left."""

    code = 8


class FailedPreconditionError(OpError):
    """The state is not one in which this can run: a variable has no value yet."""

    code = 9


class AbortedError(OpError):
    """The operation was given up."""

    code = 10


class OutOfRangeError(OpError):
    """There is nothing left to read: a queue is closed and empty."""

    code = 11


class UnimplementedError(OpError):
    """The operation does not do this."""

    code = 12


class InternalError(OpError):
    """Something is wrong that should never be."""

    code = 13


class UnavailableError(OpError):
    """A service, such as a task of the cluster, cannot be reached at the moment."""

    code = 14


class DataLossError(OpError):
    """Data cannot be recovered."""

    code = 15


#: The numbers of the kinds.
(
    OK, CANCELLED, UNKNOWN, INVALID_ARGUMENT, DEADLINE_EXCEEDED, NOT_FOUND, ALREADY_EXISTS,
    PERMISSION_DENIED, RESOURCE_EXHAUSTED, FAILED_PRECONDITION, ABORTED, OUT_OF_RANGE,
    UNIMPLEMENTED, INTERNAL, UNAVAILABLE, DATA_LOSS,
) = range(16)  # fmt: skip
