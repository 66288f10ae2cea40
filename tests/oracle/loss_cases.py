"""What the losses of several inputs are tried with: by MXNet in `make_losses.py`, and in tests."""

from __future__ import annotations

from typing import Any

import numpy as np
from oracle.gluon_cases import numbers

#: Losses, with what makes each input of a seed; the first is the one that has a gradient.
LOSSES: list[tuple[str, list[str]]] = [
    ("HuberLoss()", ["any(3, 4)", "any(3, 4)"]),
    ("HuberLoss(0.5, 2.0)", ["any(3, 4)", "any(12)", "any(3, 1)"]),
    ("HingeLoss()", ["any(3, 4)", "sign(3, 4)"]),
    ("HingeLoss(margin=0.3, weight=0.5)", ["any(3, 4)", "sign(3, 4)", "any(3, 1)"]),
    ("SquaredHingeLoss()", ["any(3, 4)", "sign(3, 4)"]),
    ("SquaredHingeLoss(0.7, batch_axis=1)", ["any(3, 4)", "sign(3, 4)", "any(3, 4)"]),
    ("LogisticLoss()", ["any(3, 4)", "sign(3, 4)"]),
    ("LogisticLoss(0.5, 0, 'binary')", ["any(3, 4)", "bit(3, 4)", "any(3, 1)"]),
    ("TripletLoss()", ["any(3, 4)", "any(3, 4)", "any(3, 4)"]),
    ("TripletLoss(0.2, 2.0)", ["any(3, 4)", "any(12)", "any(3, 4)"]),
    ("PoissonNLLLoss()", ["any(3, 4)", "count(3, 4)"]),
    ("PoissonNLLLoss(0.5, False)", ["share(3, 4)", "count(3, 4)", "any(3, 1)"]),
    ("PoissonNLLLoss(None, False, compute_full=True)", ["share(3, 4)", "count(3, 4)"]),
    ("CosineEmbeddingLoss()", ["any(3, 4)", "any(3, 4)", "sign(3)"]),
    ("CosineEmbeddingLoss(2.0, margin=0.2)", ["any(3, 4)", "any(3, 4)", "sign(3)", "any(3, 1)"]),
    ("KLDivLoss()", ["any(3, 4)", "share(3, 4)"]),
    ("KLDivLoss(False, 1, 0.5)", ["any(3, 4, 2)", "share(3, 4, 2)", "any(3, 1, 1)"]),
    ("SDMLLoss()", ["any(3, 4)", "any(3, 4)"]),
    ("SDMLLoss(0.1)", ["any(4, 2)", "any(4, 2)"]),
    ("CTCLoss()", ["any(2, 6, 4)", "label(2, 3)"]),
    ("CTCLoss('TNC', 'TN', 0.5)", ["any(6, 2, 4)", "label(3, 2)"]),
    ("CTCLoss()", ["any(2, 6, 4)", "label(2, 3)", "long(2)", "length(2)"]),
    ("CTCLoss()", ["any(2, 6, 4)", "label(2, 3)", "none()", "length(2)", "any(2)"]),
]


def _input(mx: Any, seed: int, text: str) -> Any:
    """Returns the input that a text means: what kind of numbers, and the shape."""
    kind, _, sizes = text.rstrip(")").partition("(")
    if kind == "none":
        return None
    drawn = numbers(seed, tuple(int(size) for size in sizes.split(",")))
    made = {
        "any": drawn,
        "sign": np.sign(drawn),
        "bit": (drawn > 0).astype(np.float32),
        "share": np.abs(drawn) / 2 + 0.1,
        "count": np.floor(np.abs(drawn) * 3) + 1,
        "label": np.floor(np.abs(drawn) * 2) % 3,
        "length": np.floor(np.abs(drawn)) + 2,
        "long": np.floor(np.abs(drawn)) + 5,
    }
    return mx.nd.array(made[kind])


def run(mx: Any, index: int, hybridize: bool = False) -> dict[str, np.ndarray[Any, Any]]:
    """Computes a loss and the gradient of its first input."""
    text, kinds = LOSSES[index]
    loss = eval(text, dict(vars(mx.gluon.loss)))
    if hybridize:
        loss.hybridize()
    inputs = [_input(mx, 10 * index + place, kind) for place, kind in enumerate(kinds)]
    if "compute_full" in text:  # MXNet adds in place, which it refuses while it records
        return {"loss": loss(*inputs).asnumpy()}
    inputs[0].attach_grad()
    with mx.autograd.record():
        out = loss(*inputs)
    out.backward()
    return {"loss": out.asnumpy(), "gradient": inputs[0].grad.asnumpy()}
