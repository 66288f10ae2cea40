"""`model`: checkpoints of symbols in the two files MXNet writes, and an old estimator."""

from hybridnet.module.base_module import BatchEndParam as BatchEndParam
from hybridnet.module.feed_forward import FeedForward as FeedForward
from hybridnet.module.stores import create_store as _create_kvstore
from hybridnet.module.stores import fill_store as _initialize_kvstore
from hybridnet.module.stores import update_by_store as _update_params_on_kvstore
from hybridnet.module.stores import update_by_updater as _update_params
from hybridnet.saved_model import load_checkpoint as load_checkpoint
from hybridnet.saved_model import load_params as load_params
from hybridnet.saved_model import save_checkpoint as save_checkpoint

# What old training loops take from here under MXNet's names.
__all__ = [
    "BatchEndParam",
    "FeedForward",
    "_create_kvstore",
    "_initialize_kvstore",
    "_update_params",
    "_update_params_on_kvstore",
    "load_checkpoint",
    "load_params",
    "save_checkpoint",
]
