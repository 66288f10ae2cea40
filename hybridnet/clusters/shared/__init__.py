"""Things that several sessions use by a name: queues, and accumulators of gradients.

Each is a `SharedThing`: it is asked something, and answers when it can. A session of one process
has them in a `SharedStore` of its graph, a task of a cluster in one for all its clients.
"""

from .store import SharedStore, SharedUse
from .thing import Asked, SharedThing

__all__ = ["Asked", "SharedStore", "SharedThing", "SharedUse"]
