"""`Removable`: what a program has put somewhere, and may take away again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self


class Removable(ABC):
    """Something that stays until it is removed; ``with`` removes it at the end."""

    @abstractmethod
    def remove(self) -> None:
        """Removes it; again, it does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()
