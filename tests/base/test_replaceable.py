"""Functions that a program puts its own in the place of."""

import inspect

import pytest

from hybridnet.base.errors import ParameterError
from hybridnet.base.replaceable import replaceable


@replaceable
def add(a: int, b: int = 1) -> int:
    """Adds."""
    return a + b


def test_another_takes_its_place_until_it_is_removed():
    assert add(1) == 2
    with add.replaced_by(lambda a, b=1: a - b):
        assert add(1) == 0
        inner = add.replaced_by(lambda a, b=1: a * b)
        assert add(3, b=4) == 12
        assert add.own(3, 4) == 7
    assert add(3, b=4) == 12  # the one that was put there last still stands
    inner.remove()
    inner.remove()
    assert add(3, b=4) == 7


def test_it_is_removed_after_an_error():
    with pytest.raises(KeyError), add.replaced_by(lambda a: {}[a]):
        add(1)
    assert add(1) == 2


def test_it_looks_like_itself():
    assert inspect.isfunction(add)
    assert add.__doc__ == "Adds."
    assert list(inspect.signature(add).parameters) == ["a", "b"]


def test_what_cannot_be_called_is_refused():
    with pytest.raises(ParameterError, match="add.replaced_by: needs a function, got 3"):
        add.replaced_by(3)
