"""Where converted code finds its operators, by the names that the conversion gives them.

Code is converted when code that was converted calls it, so that the call is one of the operators
and needs them all. `operators` puts them here.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Final

__all__ = ["OPERATORS"]

OPERATORS: Final = SimpleNamespace()
