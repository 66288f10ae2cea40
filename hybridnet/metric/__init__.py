"""Metrics: how good predictions are, summed up over batches.

Updating a metric waits for nothing: the sums stay on the device until `EvalMetric.get` reads them
(`CustomMetric` alone, which calls Python on values, waits). Updates may be part of a traced
function.
"""

from .base import EvalMetric as EvalMetric
from .base import alias as alias
from .base import check_label_shapes as check_label_shapes
from .base import register as register
from .binary import F1 as F1
from .binary import MCC as MCC
from .classification import Accuracy as Accuracy
from .classification import CrossEntropy as CrossEntropy
from .classification import NegativeLogLikelihood as NegativeLogLikelihood
from .classification import Perplexity as Perplexity
from .classification import TopKAccuracy as TopKAccuracy
from .composite import CompositeEvalMetric as CompositeEvalMetric
from .composite import create as create
from .custom import CustomMetric as CustomMetric
from .custom import np as np
from .regression import MAE as MAE
from .regression import MSE as MSE
from .regression import RMSE as RMSE
from .regression import Loss as Loss
from .regression import PearsonCorrelation as PearsonCorrelation

__all__ = [
    "F1",
    "MAE",
    "MCC",
    "MSE",
    "RMSE",
    "Accuracy",
    "CompositeEvalMetric",
    "CrossEntropy",
    "CustomMetric",
    "EvalMetric",
    "Loss",
    "NegativeLogLikelihood",
    "PearsonCorrelation",
    "Perplexity",
    "TopKAccuracy",
    "alias",
    "check_label_shapes",
    "create",
    "np",
    "register",
]
