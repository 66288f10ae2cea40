"""``tf.contrib``: of TensorFlow's additions, those that other names lack."""

from __future__ import annotations

from . import nccl as nccl
