"""Metrics: how good predictions are, summed up over batches.

Updating a metric waits for nothing: the sums stay on the device until `EvalMetric.get` reads them
(`CustomMetric`, which calls Python on values, and `PCC` wait). Updates may be part of a traced
function.
"""

from hybridnet import ndarray as ndarray  # which programs import from here, as from MXNet's module

from .base import EvalMetric, alias, check_label_shapes, register
from .binary import F1, MCC
from .classification import Accuracy, CrossEntropy, NegativeLogLikelihood, Perplexity, TopKAccuracy
from .composite import CompositeEvalMetric, CustomMetric, create, np
from .confusion import PCC
from .regression import MAE, MSE, RMSE, Caffe, Loss, PearsonCorrelation, Torch

__all__ = [
    "F1",
    "MAE",
    "MCC",
    "MSE",
    "PCC",
    "RMSE",
    "Accuracy",
    "Caffe",
    "CompositeEvalMetric",
    "CrossEntropy",
    "CustomMetric",
    "EvalMetric",
    "Loss",
    "NegativeLogLikelihood",
    "PearsonCorrelation",
    "Perplexity",
    "TopKAccuracy",
    "Torch",
    "alias",
    "check_label_shapes",
    "create",
    "np",
    "register",
]
