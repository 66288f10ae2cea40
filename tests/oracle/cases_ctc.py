"""Cases of the CTC loss; see `case.py`."""

from __future__ import annotations

from case import Cases
from case import given as _v
from case import random as _x

CASES = Cases("ctc")


def _case(*inputs, **attrs):  # type: ignore[no-untyped-def]
    CASES.add("CTCLoss", *inputs, grads=[0], **attrs)


_case(_x(4, 5, 4, low=-3, high=3), _v([1, 2], [2, 2], [3, 0], [1, 3], [3, 1]))
_case(_x(5, 3, 4, low=-3, high=3), _v([1, 2, 3], [1, 1, 0], [2, 0, 0]))
_case(_x(6, 2, 3, low=-3, high=3), _v([1, 1, 1], [2, 1, 2]))
_case(_x(3, 2, 2), _v([1], [1]))
_case(_x(1, 1, 3), _v([2]))
_case(_x(5, 4, 4, low=-3, high=3), _v([0, 2], [2, 2], [1, -1], [0, 0]), blank_label="last")
_case(_x(5, 2, 4), _v([0, 1, -1], [2, -1, -1]), blank_label="last")
_two = _v([1, 2, 0], [3, 3, 1])
_case(_x(7, 2, 4), _two, _v(5, 7), use_data_lengths=True)
_case(_x(7, 2, 4), _two, _v(4, 6), _v(2, 3), use_data_lengths=True, use_label_lengths=True)
_case(_x(7, 2, 4), _v([0, 2, 1], [2, 2, 1]), _v(4, 6), _v(2, 3), use_data_lengths=True,
      use_label_lengths=True, blank_label="last")  # fmt: skip
_case(_x(9, 3, 2), _v([1, 1], [1, 0], [1, 1]))
_case(_x(8, 2, 6, low=-20, high=20), _v([1, 2, 3, 4], [5, 5, 1, 0]))
_case(_x(12, 2, 5, low=-2, high=2), _v([1, 2, 3, 4, 4, 4, 1], [3, 1, 2, 1, 0, 0, 0]))
