"""Steps that change variables without locking them: what came for a part is kept until it commits.

A part reads its variables when it begins. Where another step has changed them by the time at which
it ends, it runs once more on their values of then, with what it has received: so no update is lost,
and no task waits for another while a variable is locked.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any, final

from hybridnet.base.errors import OpError
from hybridnet.runtime.between_tasks import Key, LocalRendezvous, Received, Rendezvous, Sent, Take


@final
class NotingRendezvous(Rendezvous):
    """Another one, of which is noted what comes from elsewhere.

    Args:
        around: that one.
        devices: this task's; what they send each other is not noted.

    Attributes:
        came: what has come, by key.
    """

    def __init__(self, around: Rendezvous, devices: Container[str]) -> None:
        self._around = around
        self._devices = devices
        self.came: dict[Key, Received] = {}

    def send(self, key: Key, value: Any, dead: bool = False) -> None:
        """See `Rendezvous.send`."""
        self._around.send(key, value, dead)

    def send_all(self, tensors: Sequence[Sent]) -> None:
        """See `Rendezvous.send_all`."""
        self._around.send_all(tensors)

    def receive_all(self, wanted: Sequence[tuple[Key, Any]], take: Take) -> None:
        """See `Rendezvous.receive_all`."""

        def note(came: list[tuple[Any, Received]]) -> None:
            self.came.update((key, made) for (key, _), made in came)
            take([(name, made) for (_, name), made in came])

        own = [one for one in wanted if one[0].source in self._devices]
        if own:
            self._around.receive_all(own, take)
        if len(own) < len(wanted):
            others = [one for one in wanted if one[0].source not in self._devices]
            self._around.receive_all([(one[0], one) for one in others], note)

    def abort(self, error: BaseException) -> None:
        """See `Rendezvous.abort`."""
        self._around.abort(error)


@final
class RepeatedRendezvous(Rendezvous):
    """Gives again what has come; what goes elsewhere was sent already.

    Args:
        came: what has come.
        devices: this task's.
    """

    def __init__(self, came: Mapping[Key, Received], devices: Container[str]) -> None:
        self._came = came
        self._devices = devices
        self._here = LocalRendezvous()

    def send(self, key: Key, value: Any, dead: bool = False) -> None:
        """See `Rendezvous.send`."""
        if key.destination in self._devices:
            self._here.send(key, value, dead)

    def receive_all(self, wanted: Sequence[tuple[Key, Any]], take: Take) -> None:
        """See `Rendezvous.receive_all`."""
        for key, name in wanted:
            found = self._came.get(key)
            if found is None and key.source in self._devices:
                self._here.receive_all([(key, name)], take)
                continue
            if found is None:  # with other values a loop takes other turns
                why = f"variables changed while the step ran, and it needs {key} now; run it again"
                found = Received(error=OpError(why))
            take([(name, found)])

    def abort(self, error: BaseException) -> None:
        """See `Rendezvous.abort`."""
        self._here.abort(error)
