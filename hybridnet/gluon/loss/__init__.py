"""`gluon.loss`: losses, one number for each example."""

from .base import Loss
from .base import apply_weighting as _apply_weighting
from .base import reshape_like as _reshape_like
from .distance import HuberLoss, L1Loss, L2Loss
from .entropy import (
    KLDivLoss,
    LinearCrossEntropyLoss,
    LogisticLoss,
    PoissonNLLLoss,
    SigmoidBCELoss,
    SigmoidBinaryCrossEntropyLoss,
    SoftmaxCELoss,
    SoftmaxCrossEntropyLoss,
)
from .margin import CosineEmbeddingLoss, HingeLoss, SDMLLoss, SquaredHingeLoss, TripletLoss
from .sequence import CTCLoss

__all__ = [
    "CTCLoss",
    "CosineEmbeddingLoss",
    "HingeLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "L2Loss",
    "LinearCrossEntropyLoss",
    "LogisticLoss",
    "Loss",
    "PoissonNLLLoss",
    "SDMLLoss",
    "SigmoidBCELoss",
    "SigmoidBinaryCrossEntropyLoss",
    "SoftmaxCELoss",
    "SoftmaxCrossEntropyLoss",
    "SquaredHingeLoss",
    "TripletLoss",
    "_apply_weighting",
    "_reshape_like",
]
