"""The errors of the parameter server."""


class KVStoreError(RuntimeError):
    """A message that the store must refuse, or a kind of store that does not exist."""


class DeadNodeError(KVStoreError):
    """A process of the run is gone, so that what waits for it cannot be done."""


class RunOverError(KVStoreError):
    """The run has ended in order: this process has come too late to take part."""
