"""`optimizer`: update rules for weights, and the `Updater` that keeps their states::

updater = optimizer.get_updater(optimizer.create("sgd", learning_rate=0.1, momentum=0.9))
updater(0, weight.grad, weight)
"""

from .adam import Adam
from .adam_variants import FTML, Adamax, Nadam
from .adaptive import AdaDelta, AdaGrad, Ftrl, RMSProp
from .layerwise import LAMB, LARS
from .optimizer import Optimizer, Step, create, register
from .sgd import NAG, SGD, Signum, Test
from .sgd_variants import DCASGD, SGLD
from .updater import Updater, get_updater

__all__ = [
    "DCASGD",
    "FTML",
    "LAMB",
    "LARS",
    "NAG",
    "SGD",
    "SGLD",
    "AdaDelta",
    "AdaGrad",
    "Adam",
    "Adamax",
    "Ftrl",
    "Nadam",
    "Optimizer",
    "RMSProp",
    "Signum",
    "Step",
    "Test",
    "Updater",
    "create",
    "get_updater",
    "register",
]
