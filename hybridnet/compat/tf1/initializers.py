"""``tf.initializers``: what makes the first values of variables, by their shorter names."""

from __future__ import annotations

from .init_ops import he_normal as he_normal
from .init_ops import he_uniform as he_uniform
from .init_ops import lecun_normal as lecun_normal
from .init_ops import lecun_uniform as lecun_uniform
