"""`optimizer`: update rules for weights, and the `Updater` that keeps their states::

updater = optimizer.get_updater(optimizer.create("sgd", learning_rate=0.1, momentum=0.9))
updater(0, weight.grad, weight)
"""

from .adam import Adam as Adam
from .adam_variants import FTML as FTML
from .adam_variants import Adamax as Adamax
from .adam_variants import Nadam as Nadam
from .adaptive import AdaDelta as AdaDelta
from .adaptive import AdaGrad as AdaGrad
from .adaptive import Ftrl as Ftrl
from .adaptive import RMSProp as RMSProp
from .layerwise import LAMB as LAMB
from .layerwise import LARS as LARS
from .optimizer import Optimizer as Optimizer
from .optimizer import Step as Step
from .optimizer import create as create
from .optimizer import register as register
from .sgd import NAG as NAG
from .sgd import SGD as SGD
from .sgd import Signum as Signum
from .sgd import Test as Test
from .sgd_variants import DCASGD as DCASGD
from .sgd_variants import SGLD as SGLD
from .updater import Updater as Updater
from .updater import get_updater as get_updater

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
