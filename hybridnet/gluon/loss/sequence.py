"""Losses of sequences."""

from __future__ import annotations

from typing import Unpack

from hybridnet.base.errors import ParameterError

from ..types import BlockNames, Data, Operators
from .base import Loss, apply_weighting

__all__ = ["CTCLoss"]


class CTCLoss(Loss):
    """Connectionist temporal classification (Graves et al. 2006).

    Minus the logarithm of the probability that the labels come in their order, whenever they do,
    with blanks between. The last class is the blank.

    Args:
        layout: of pred, 'NTC' or 'TNC': batch N, time T, classes C.
        label_layout: of label, 'NT' or 'TN'.
        weight: a factor, or None.

    Inputs pred, scores before the softmax; label, class numbers, padded with -1; and optionally
    pred_lengths and label_lengths, (batch,), how many count, and sample_weight, which is broadcast.
    Output (batch,).
    """

    def __init__(
        self,
        layout: str = "NTC",
        label_layout: str = "NT",
        weight: float | None = None,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        if layout not in ("NTC", "TNC") or label_layout not in ("NT", "TN"):
            raise ParameterError(
                "CTCLoss: layout must be 'NTC' or 'TNC' and label_layout 'NT' or 'TN', got "
                f"{layout!r} and {label_layout!r}"
            )
        super().__init__(weight, label_layout.find("N"), **kwargs)
        self._layout = layout
        self._label_layout = label_layout

    def hybrid_forward(
        self,
        F: Operators[Data],
        pred: Data,
        label: Data,
        pred_lengths: Data | None = None,
        label_lengths: Data | None = None,
        sample_weight: Data | None = None,
    ) -> Data:
        """Computes the loss."""
        if self._layout == "NTC":
            pred = pred.swapaxes(0, 1)
        if self._label_layout == "TN":
            label = label.swapaxes(0, 1)
        loss = F.CTCLoss(
            pred,
            label,
            pred_lengths,
            label_lengths,
            use_data_lengths=pred_lengths is not None,
            use_label_lengths=label_lengths is not None,
            blank_label="last",
        )
        return apply_weighting(F, loss, self._weight, sample_weight)
