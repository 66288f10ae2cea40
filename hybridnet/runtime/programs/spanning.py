"""Programs that span processes: who is told of their launches.

All processes of a gang must launch the same programs on its meshes, in the same order, or they wait
for one another for ever. `hybridnet.distributed`, which knows the others, is told of each launch,
and of each wait for what one makes.
"""

from __future__ import annotations

from typing import Any, Protocol

from hybridnet.base.errors import MXNetError

__all__ = ["Peers", "spanning"]


class Peers(Protocol):
    """The processes that launch programs together, as this one knows them."""

    @property
    def fault(self) -> type[MXNetError]:
        """The kind of the errors that say that one of them is gone."""

    def launch(self, what: str) -> None:
        """Notes what this process is about to launch; waits for the others where that is new.

        Args:
            what: says which program it is: the same in all processes.

        Raises:
            MXNetError: they launch something else, or one of them is gone.
        """

    def launched(self) -> None:
        """Notes that the launch has returned."""

    def finish(self, array: Any) -> None:
        """Waits until an array is computed.

        Raises:
            MXNetError: it never will be, as the others do something else, or one is gone.
            Exception: XLA's error.
        """

    def explained(self, error: Exception) -> Exception:
        """Returns why a launch failed: that somebody is gone, or XLA's own error."""


class _Spanning:
    """The gang of this process; None while it is on its own."""

    gang: Peers | None = None


#: What is told of launches that span processes.
spanning = _Spanning()
