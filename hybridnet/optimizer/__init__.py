"""`optimizer`: update rules for weights, and the `Updater` that keeps their states::

updater = optimizer.get_updater(optimizer.create("sgd", learning_rate=0.1, momentum=0.9))
updater(0, weight.grad, weight)
"""

from . import contrib as contrib
from .adam import FTML, Adam, Adamax, Nadam
from .adaptive import AdaDelta, AdaGrad, Ftrl, RMSProp
from .decoupled import AdamW, Lion
from .json_form import optimizer_from_json, optimizer_to_json
from .large_batch import LBSGD
from .layerwise import LAMB, LARS
from .optimizer import Optimizer, Step, create, register
from .sgd import DCASGD, NAG, SGD, SGLD, Signum, Test, ccSGD
from .updater import Updater, get_updater

__all__ = [
    "DCASGD",
    "FTML",
    "LAMB",
    "LARS",
    "LBSGD",
    "NAG",
    "SGD",
    "SGLD",
    "AdaDelta",
    "AdaGrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Ftrl",
    "Lion",
    "Nadam",
    "Optimizer",
    "RMSProp",
    "Signum",
    "Step",
    "Test",
    "Updater",
    "ccSGD",
    "contrib",
    "create",
    "get_updater",
    "optimizer_from_json",
    "optimizer_to_json",
    "register",
]
