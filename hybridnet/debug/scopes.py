"""The scopes in which launches are asked whether they went wrong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hybridnet.base.origins import allowing_nans
from hybridnet.runtime.asking import INDICES, NANS, asking

__all__ = ["allow_nans", "indices", "nans"]


@contextmanager
def nans() -> Iterator[None]:
    """A scope in which the first NaN or infinity is an error that names who made it.

    It is the first operator whose output is not finite though its inputs are: forward or backward,
    eager, hybridized, symbolic or traced, in loops and in optimizers' updates. The error says the
    operator, the line of your code that called it (for a gradient, the line of the forward pass),
    how many elements are not finite, and the smallest and the largest elements of its inputs. It
    is raised where your thread next reads a value (asnumpy, float, print, wait_to_read), and at the
    latest where the scope ends.

    Only what an array shows counts: NaN that is masked before anybody can see it is no error. For
    what is meant to be seen there is `allow_nans`. The scope is for all threads; each raises the
    errors of what it has recorded, and the end of the scope those of all. HYBRIDNET_DEBUG=nans is
    the same for a whole program.

    Raises:
        NonFiniteError: an operator has made a NaN or an infinity, or has read a NaN that was in
            an array before.
    """
    with asking(NANS):
        yield


@contextmanager
def indices() -> Iterator[None]:
    """A scope in which every position that is outside of its array is an error.

    Some are errors always: those of ``take(mode='raise')``, ``gather_nd``, ``x[idx]``,
    ``scatter_nd`` and ``index_copy``. Others have a meaning in MXNet: ``take`` and ``pick`` clip
    them, as ``Embedding`` does, ``one_hot`` makes a row of zeros of them, a loss no gradient. They
    keep that meaning, and inside this scope the error tells of them, too, with the operator, your
    line, the position and what it may be; of lengths of sequences and labels of losses likewise.

    The error is raised at the line itself where the values are at hand, or else where your thread
    next reads a value, and at the latest where the scope ends. HYBRIDNET_DEBUG=indices is the same
    for a whole program.

    Raises:
        OutOfBoundsError: a position is outside.
    """
    with asking(INDICES):
        yield


@contextmanager
def allow_nans() -> Iterator[None]:
    """A block in which NaN and infinity are meant: what is written in it is never to blame.

        with hn.debug.allow_nans():
            scores = nd.log(mask)     # -inf, where nothing is to be looked at

    NaN that operators outside of the block make of its infinities is an error again. Operators of
    a network that is hybridized, or of a symbol, are in the block in which they were traced or
    composed.
    """
    with allowing_nans():
        yield
