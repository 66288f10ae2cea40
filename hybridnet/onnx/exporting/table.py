"""The table of translations: operator -> the function that writes it into an ONNX graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from .place import ExportError, Place

#: Gets a node's place; returns the names of its visible outputs, one alone as a string.
Translation = Callable[[Place], str | list[str]]

#: Operator, by its first name -> its translation.
TRANSLATIONS: Final[dict[str, Translation]] = {}


def translates(*operators: str) -> Callable[[Translation], Translation]:
    """Enters a function as the translation of operators."""

    def enter(translation: Translation) -> Translation:
        for name in operators:
            if name in TRANSLATIONS:
                raise ValueError(f"operator {name} has a translation already")
            TRANSLATIONS[name] = translation
        return translation

    return enter


def translate(place: Place) -> list[str]:
    """Writes a node into the ONNX graph; returns the names of its outputs there.

    Raises:
        ExportError: ONNX has no form of the operator, or not with these parameters.
    """
    translation = TRANSLATIONS.get(place.call.name)
    if translation is None:
        raise ExportError(
            f"export_model: node {place.node.title}: ONNX has no form of the operator "
            f"{place.call.name}; write it with operators that onnx.get_operator_support() lists, "
            "or take another way out: hn.export (StableHLO)"
        )
    made = translation(place)
    return [made] if isinstance(made, str) else made
