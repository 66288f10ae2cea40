"""`gluon.model_zoo`: networks that are known by name, with trained parameters to fetch."""

from . import model_store as model_store
from . import text as text
from . import vision as vision
from .vision import get_model as get_model

__all__ = ["get_model", "model_store", "text", "vision"]
