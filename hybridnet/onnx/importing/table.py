"""The table of translations: ONNX's operator -> the function that makes symbols of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from hybridnet.symbol import Symbol

from .arrival import Arrival, ImportModelError

#: Gets a node; returns its outputs: a symbol of one or of several, or a list.
Translation = Callable[[Arrival], Symbol | Sequence[Symbol]]

#: Operator of ONNX -> its translation.
ARRIVALS: Final[dict[str, Translation]] = {}


def arrives(*operators: str) -> Callable[[Translation], Translation]:
    """Enters a function as the translation of operators of ONNX."""

    def enter(translation: Translation) -> Translation:
        for name in operators:
            if name in ARRIVALS:
                raise ValueError(f"ONNX's operator {name} has a translation already")
            ARRIVALS[name] = translation
        return translation

    return enter


def translate(arrival: Arrival) -> list[Symbol]:
    """Returns the outputs of a node as symbols of one output each.

    Raises:
        ImportModelError: the operator has no translation, or not with these attributes.
    """
    translation = ARRIVALS.get(arrival.op)
    if translation is None:
        raise ImportModelError(
            f"import_model: node {arrival.name!r}: ONNX's operator {arrival.op} has no form here; "
            "export the model with other operators (an older opset, or onnxsim)"
        )
    made = translation(arrival)
    return [
        one[i] for one in ([made] if isinstance(made, Symbol) else made) for i in range(len(one))
    ]
