"""Checkpoints: the values of variables in files that appear whole or not at all.

    saver = hn.checkpoint.Saver({"net": net, "trainer": trainer}, max_to_keep=3)
    saver.save("run/model", 100)                       # run/model-100.safetensors, and an index
    pending = saver.save_async("run/model", 200)       # training goes on meanwhile
    saver.restore(hn.checkpoint.latest_checkpoint("run"))

The files are safetensors, which other programs read too; the package comes with the checkpoint
extra: ``pip install 'hybridnet[checkpoint]'``. `Save` and `Restore` are the same as nodes of a
symbol.
"""

from __future__ import annotations

from .index import CheckpointState as CheckpointState
from .index import checkpoint_exists as checkpoint_exists
from .index import get_checkpoint_state as get_checkpoint_state
from .index import latest_checkpoint as latest_checkpoint
from .nodes import Restore as Restore
from .nodes import Save as Save
from .reader import list_variables as list_variables
from .reader import load_variable as load_variable
from .reader import variable_types as variable_types
from .saver import PendingSave as PendingSave
from .saver import Saver as Saver
from .slots import Slot as Slot
from .slots import session_slots as session_slots

__all__ = [
    "CheckpointState",
    "PendingSave",
    "Restore",
    "Save",
    "Saver",
    "Slot",
    "checkpoint_exists",
    "get_checkpoint_state",
    "latest_checkpoint",
    "list_variables",
    "load_variable",
    "session_slots",
    "variable_types",
]
