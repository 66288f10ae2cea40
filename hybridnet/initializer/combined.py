"""Choosing an initializer by name, and filling arrays from saved ones."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from hybridnet import nd
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.ndarray import NDArray

__all__ = ["Load", "Mixed"]

_logger: Final = logging.getLogger(__name__)

#: Fills an array, given its name.
Fill = Callable[[str, NDArray], None]


class Mixed:
    """Chooses an initializer by the array's name.

    Args:
        patterns: regular expressions; the first that the name begins with decides.
        initializers: the initializer for each.

    Raises:
        ParameterError: they are not equally many.
    """

    def __init__(self, patterns: Sequence[str], initializers: Sequence[Fill]) -> None:
        if len(patterns) != len(initializers):
            raise ParameterError(
                f"Mixed: requires an initializer for each pattern, got {len(patterns)} patterns "
                f"and {len(initializers)} initializers"
            )
        self.map = [
            (re.compile(pattern), chosen)
            for pattern, chosen in zip(patterns, initializers, strict=True)
        ]

    def __call__(self, name: str, arr: NDArray) -> None:
        """Fills an array.

        Raises:
            ParameterError: no pattern fits the name.
        """
        for pattern, chosen in self.map:
            if pattern.match(name):
                chosen(name, arr)
                return
        raise ParameterError(
            f"Mixed: a pattern must fit every name, got {str(name)!r}; "
            "add the pattern '.*' at the end"
        )


class Load:
    """Fills arrays from saved ones, and what was not saved by another initializer.

    Args:
        param: arrays by name, or the path of a file of them; the prefixes ``arg:`` and ``aux:`` of
            checkpoints are left out.
        default_init: for names that it does not hold.
        verbose: log how each array was filled.
    """

    def __init__(
        self,
        param: Mapping[str, NDArray] | str | os.PathLike[str],
        default_init: Fill | None = None,
        verbose: bool = False,
    ) -> None:
        found = param if isinstance(param, Mapping) else nd.load(param)
        if isinstance(found, list):
            raise ParameterError("Load: the file must hold arrays with names, got a list of them")
        self.param = {
            name.removeprefix("arg:").removeprefix("aux:"): value for name, value in found.items()
        }
        self.default_init = default_init
        self.verbose = verbose

    def __call__(self, name: str, arr: NDArray) -> None:
        """Fills an array.

        Raises:
            ShapeError: the saved array has another shape.
            ParameterError: it was not saved, and there is no `default_init`.
        """
        saved = self.param.get(name)
        if saved is not None:
            if saved.shape != arr.shape:
                raise ShapeError(
                    f"Load: {str(name)!r} must have the shape {arr.shape}, got {saved.shape} in "
                    "what was saved"
                )
            arr[:] = saved
        elif self.default_init is not None:
            self.default_init(name, arr)
        else:
            raise ParameterError(
                f"Load: every array must have been saved, got {str(name)!r} that was not; "
                "give a default_init for such arrays"
            )
        if self.verbose:
            how = "from what was saved" if saved is not None else "by default_init"
            _logger.info("initialized %s %s", name, how)
