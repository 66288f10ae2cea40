"""`svrg_optimization`: training by gradients of reduced variance."""

from . import svrg_module as svrg_module
from .svrg_module import SVRGModule as SVRGModule

__all__ = ["SVRGModule", "svrg_module"]
