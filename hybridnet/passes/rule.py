"""`Rule`: what is replaced by what. Rules are data: the passes, the report and the docs read them.

    Rule("negative_twice", "negative(negative(x))", "x")
    Rule("scale_twice", "_mul_scalar(_mul_scalar(x, a), b)", "_mul_scalar(x, a * b)", exact=False)

`hybridnet.passes.pattern` says how the expressions are read.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True, slots=True)
class Rule:
    """A replacement that leaves the results as they are.

    Attributes:
        name: for reports; no two rules have the same.
        before: an operator expression.
        after: what takes its place.
        exact: whether the results are the same bits, at zero, infinity and NaN too (one NaN is as
            good as another). Every operator is taken to compute what it computes by itself: that
            XLA fuses other operators afterwards is not the rule's.
        tolerance: by how much results change, relatively, where it is not exact; infinite where
            that has no bound, or values differ at zero, infinity or NaN. Such a rule is unsafe:
            applied where it is asked for only.
        where: a condition on what the expression's variables stand for.
        written: whether `before` and `after` are for readers only, since a function does it: rules
            on any number of terms are no expressions.
    """

    name: str
    before: str
    after: str
    exact: bool = True
    tolerance: float = math.inf
    where: str = ""
    written: bool = False

    @property
    def unsafe(self) -> bool:
        """Whether it is applied only where that is asked for."""
        return not self.exact and math.isinf(self.tolerance)
