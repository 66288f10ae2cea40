# Written by `python -m hybridnet.stubs`, which overwrites what is changed here.

from typing import Any

def cond(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's cond on the host."""

def lstsq(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's lstsq on the host."""

def matrix_power(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's matrix_power on the host."""

def matrix_rank(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's matrix_rank on the host."""

def multi_dot(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's multi_dot on the host."""

def qr(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's qr on the host."""
