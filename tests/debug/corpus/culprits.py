"""What a planted bug is, apart from where it stands: a few lines that make `$y` of `$x`.

`$x` has `$R` rows and `$C` columns of numbers between 0 and 1: whatever comes before the lines
keeps them there. `$y` has the same shape.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Culprit:
    """The lines with the bug, in each library's words.

    Attributes:
        name: in words.
        mx: with ``F`` for `nd`, `sym` or what a hybridized block is given; None where there is
            no such operator.
        np: with ``np`` for `hybridnet.np` or `jax.numpy`.
        torch: None where PyTorch has no such thing.
        backward: the bug shows in the backward pass only.
    """

    name: str
    mx: str | None
    np: str | None = None
    torch: str | None = None
    backward: bool = False
