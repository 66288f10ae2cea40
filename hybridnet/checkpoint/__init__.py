"""Checkpoints: the values of variables in files that appear whole or not at all.

    saver = hn.checkpoint.Saver({"net": net, "trainer": trainer}, max_to_keep=3)
    saver.save("run/model", 100)                       # run/model-100.safetensors, and an index
    pending = saver.save_async("run/model", 200)       # training goes on meanwhile
    saver.restore(hn.checkpoint.latest_checkpoint("run"))

The files are safetensors, which other programs read too; the package comes with the checkpoint
extra: ``pip install 'hybridnet[checkpoint]'``. `Save` and `Restore` are the same as nodes of a
symbol.
"""

from .index import (
    INDEX,
    CheckpointState,
    checkpoint_exists,
    file_of,
    get_checkpoint_state,
    latest_checkpoint,
    update_index,
)
from .nodes import Restore, Save
from .reader import list_variables, load_variable, variable_types
from .saver import PendingSave, Saver
from .slots import Slot, session_slots

__all__ = [
    "INDEX",
    "CheckpointState",
    "PendingSave",
    "Restore",
    "Save",
    "Saver",
    "Slot",
    "checkpoint_exists",
    "file_of",
    "get_checkpoint_state",
    "latest_checkpoint",
    "list_variables",
    "load_variable",
    "session_slots",
    "update_index",
    "variable_types",
]
