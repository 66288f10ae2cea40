"""The errors between tasks; each names the task."""

from hybridnet.base.errors import MXNetError


class ClusterError(MXNetError):
    """A step over several tasks did not end as it should."""


class UnavailableError(ClusterError):
    """A task has died, or cannot be reached."""


class AbortedError(ClusterError):
    """A task came back without what it held."""


class LateError(ClusterError):
    """A step did not end in the time that it was given."""


class StaleError(ClusterError):
    """A task holds variables of other types than the part was cut for, or none."""


class EndedError(ClusterError):
    """Nothing more will come: a queue is closed and empty."""


class GivenUpError(ClusterError):
    """Something that waited is not waited for any more: a queue or a session was closed."""


class WrongError(ClusterError):
    """Something cannot be asked so: a shape or a name does not fit."""
