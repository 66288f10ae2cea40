"""`Scaffold` and the creators of sessions: what a monitored session is made with, and how."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, final

from ..graph import GraphKeys, Operation, get_default_graph, group
from ..session.session import Session
from ..summaries.values import merge_all
from ..tables.table import tables_initializer
from ..variables.lists import (
    global_variables,
    global_variables_initializer,
    local_variables_initializer,
    report_uninitialized_variables,
)
from .saver import Saver
from .session_manager import SessionManager

__all__ = ["ChiefSessionCreator", "Scaffold", "WorkerSessionCreator"]

#: Seconds between two looks whether the chief has initialized the variables.
_LOOK: Final = 0.2


def unset_globals() -> Any:
    """Returns what is fetched as the names of the global variables without a value."""
    return report_uninitialized_variables(global_variables())


def _init_op() -> Operation:
    return group(global_variables_initializer(), name="init")


@final
class Scaffold:
    """The parts that a monitored session is made with; those not given are made by `finalize`.

    Args:
        init_op: the Operation that initializes the variables.
        init_feed_dict: the feeds of `init_op`.
        init_fn: called with scaffold and session after `init_op` has run.
        ready_op: a fetch of the names of variables that are not ready; default all variables
            without a value.
        ready_for_local_init_op: likewise, before local variables are initialized.
        local_init_op: the Operation that initializes local variables.
        summary_op: the merged summaries; default all of the graph.
        saver: the `Saver` that saves and restores the variables.
        copy_from_scaffold: another scaffold, which provides the parts that are not given.
        local_init_feed_dict: the feeds of `local_init_op`.

    Attributes:
        init_op, init_feed_dict, init_fn, ready_op, ready_for_local_init_op, local_init_op,
        local_init_feed_dict, summary_op, saver: as given, or made.
    """

    def __init__(
        self,
        init_op: Any = None,
        init_feed_dict: Any = None,
        init_fn: Callable[[Any, Any], Any] | None = None,
        ready_op: Any = None,
        ready_for_local_init_op: Any = None,
        local_init_op: Any = None,
        summary_op: Any = None,
        saver: Saver | None = None,
        copy_from_scaffold: Scaffold | None = None,
        local_init_feed_dict: Any = None,
    ) -> None:
        if copy_from_scaffold is not None and not isinstance(copy_from_scaffold, Scaffold):
            raise TypeError(f"copy_from_scaffold must be a Scaffold, got {copy_from_scaffold!r}")

        def given(name: str, value: Any) -> Any:
            return getattr(copy_from_scaffold, name, None) if value is None else value

        self.init_op = given("init_op", init_op)
        self.init_feed_dict = given("init_feed_dict", init_feed_dict)
        self.init_fn = given("init_fn", init_fn)
        self.ready_op = given("ready_op", ready_op)
        self.ready_for_local_init_op = given("ready_for_local_init_op", ready_for_local_init_op)
        self.local_init_op = given("local_init_op", local_init_op)
        self.local_init_feed_dict = given("local_init_feed_dict", local_init_feed_dict)
        self.summary_op = given("summary_op", summary_op)
        self.saver = given("saver", saver)

    def finalize(self) -> Scaffold:
        """Makes what was not given, and finalizes the graph; returns itself."""
        makers: dict[str, tuple[str, Callable[[], Any]]] = {
            "init_op": (GraphKeys.INIT_OP, _init_op),
            "ready_op": (GraphKeys.READY_OP, report_uninitialized_variables),
            "ready_for_local_init_op": (GraphKeys.READY_FOR_LOCAL_INIT_OP, unset_globals),
            "local_init_op": (GraphKeys.LOCAL_INIT_OP, self.default_local_init_op),
            "summary_op": (GraphKeys.SUMMARY_OP, merge_all),
        }
        if global_variables():
            makers["saver"] = GraphKeys.SAVERS, Saver
        for name, (key, make) in makers.items():
            if getattr(self, name) is None:
                setattr(self, name, self.get_or_default(key, make))
        get_default_graph().finalize()
        return self

    @staticmethod
    def get_or_default(collection_key: str, default_constructor: Callable[[], Any]) -> Any:
        """Returns what is first in a collection of the default graph; makes it if there is nothing.

        Args:
            collection_key: the collection.
            default_constructor: makes what is added to it.
        """
        graph = get_default_graph()
        held = graph.get_collection(collection_key)
        if held:
            return held[0]
        made = default_constructor()
        if made is not None:
            graph.add_to_collection(collection_key, made)
        return made

    @staticmethod
    def default_local_init_op() -> Any:
        """Returns what initializes all local variables, and fills all tables."""
        return group(local_variables_initializer(), tables_initializer(), name="local_init")

    def _manager(self) -> SessionManager:
        """Returns what makes its sessions."""
        return SessionManager(
            local_init_op=self.local_init_op,
            ready_op=self.ready_op,
            ready_for_local_init_op=self.ready_for_local_init_op,
            recovery_wait_secs=_LOOK,
            local_init_feed_dict=self.local_init_feed_dict,
        )


@final
class ChiefSessionCreator:
    """Makes sessions whose variables are initialized, or restored from the last checkpoint.

    Args:
        scaffold: with what.
        master: their target.
        config: of the sessions.
        checkpoint_dir: the folder of the checkpoints.
        checkpoint_filename_with_path: or the checkpoint to restore.
    """

    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: Any = None,
        checkpoint_dir: Any = None,
        checkpoint_filename_with_path: Any = None,
    ) -> None:
        self._scaffold = scaffold or Scaffold()
        self._master = master
        self._config = config
        self._folder = checkpoint_dir
        self._path = checkpoint_filename_with_path

    def create_session(self) -> Session:
        """Makes a session."""
        scaffold = self._scaffold.finalize()
        function = scaffold.init_fn
        return scaffold._manager().prepare_session(
            self._master,
            init_op=scaffold.init_op,
            saver=scaffold.saver,
            checkpoint_dir=self._folder,
            checkpoint_filename_with_path=self._path,
            config=self._config,
            init_feed_dict=scaffold.init_feed_dict,
            init_fn=None if function is None else lambda session: function(scaffold, session),
        )


@final
class WorkerSessionCreator:
    """Makes sessions of workers that are not the chief, which wait until that has initialized all.

    Args:
        scaffold, master, config: as for `ChiefSessionCreator`.
        max_wait_secs: how long they wait.
    """

    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: Any = None,
        max_wait_secs: float = 1800,
    ) -> None:
        self._scaffold = scaffold or Scaffold()
        self._master = master
        self._config = config
        self._wait = max_wait_secs

    def create_session(self) -> Session:
        """Makes a session.

        Raises:
            tf.errors.DeadlineExceededError: variables have no value after `max_wait_secs`.
        """
        manager = self._scaffold.finalize()._manager()
        return manager.wait_for_session(self._master, self._config, self._wait)
