"""`Search`: finds by measurement the recipe with which one program is fastest.

A recipe is a set of compile options, and a lowering for each site (a call of an operator in the
program). Compile options are tried on the whole program. Lowerings are tried at one site at a
time, each compiled alone, because a whole program takes long to compile. The whole program is then
compiled with all that were faster, and measured. So a recipe is chosen only if the whole program
was faster with it and gave the same results within tolerance.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from time import perf_counter
from typing import Any, Final, final

import numpy as np

from hybridnet.base.array_types import DType, NumpyArray
from hybridnet.ops.core import PLAIN, Site, alternatives_of

from ..observe.events import name_of
from ..platform.jax_devices import platform_of
from ..programs.compile_options import candidates
from ..programs.compiling import compile_code, options_of, sites_of
from ..programs.executable import Executable
from ..programs.recipe import Options, Recipe
from ..programs.recipe_book import Entry, Trial, book
from .launches import CapturedLaunch, launch_at
from .timing import Comparison, compare

# Seconds for which a comparison goes on after the five rounds that it always has.
_COMPARE_SECONDS: Final = 1.0
# How far outputs of a whole program in float32 may differ, as a share of the greatest magnitude:
# rounding adds up from layer to layer. Other floating dtypes: in proportion to their epsilon.
_TOLERANCE: Final = 2e-3
_EPSILON: Final = float(np.finfo(np.float32).eps)
_OUT_OF_TIME: Final = "not tried: out of time"
_DISTURBED: Final = "not measured: something else ran"
# How often a comparison that was disturbed is made again.
_RETRIES: Final = 3


class Quiet:
    """Tells a search when it may measure. This class allows it always."""

    def wait(self) -> bool:
        """Waits until nothing else runs; returns False if the search is to end."""
        return True

    def held(self) -> bool:
        """Whether nothing else has run since the last `wait`."""
        return True


@final
class Search:
    """The search for one program.

    Args:
        launch: the program, and what to run it on.
        budget: seconds; what was begun is finished.
        quiet: when to measure; default always.

    Attributes:
        trials: what was tried.
        gave_up: whether it ended because it was not quiet.
    """

    def __init__(self, launch: CapturedLaunch, budget: float, quiet: Quiet | None = None) -> None:
        self._launch = launch
        self._code = launch.code
        self._platform = platform_of(launch.code.ctx)
        self._end = perf_counter() + budget
        self._quiet = quiet or Quiet()
        self._name = name_of(launch.code)
        # What an earlier search found is where this one begins.
        self._recipe = self._known = book.recipe(launch.code)
        self._compiled: Any = None
        self._wanted: list[NumpyArray] = []
        self.trials: list[Trial] = []
        self.gave_up = False

    def run(self) -> tuple[Entry, Any]:
        """Returns the entry for the recipe book, and the executable; None: none was faster."""
        self._compiled = compile_code(self._code, self._recipe)
        self._wanted = self._launch.outputs(self._compiled)
        self._try_options()
        self._try_lowerings()
        better = self._recipe is not self._known
        entry = Entry(self._name, self._recipe, tuple(self.trials))
        return entry, self._compiled if better else None

    def _try_options(self) -> None:
        known = options_of(self._code, self._known)
        for options in candidates(self._platform):
            if options != known:
                self._try_whole(Recipe(options, self._known.picks), _spelled(options))

    def _try_whole(self, recipe: Recipe, candidate: str) -> None:
        """Compiles the program by another recipe, and takes that if it is faster."""
        if not self._may_go_on():
            self._note(self._name, candidate, None, _OUT_OF_TIME)
            return
        try:
            compiled = compile_code(self._code, recipe)
            made = self._launch.outputs(compiled)
        except Exception as error:  # XLA may refuse the options or the lowering in many ways
            self._note(self._name, candidate, None, _first_line(error))
            return
        if not _agree(made, self._wanted, _TOLERANCE):
            self._note(self._name, candidate, None, "differs")
            return
        found = self._compare(self._launch, self._compiled, compiled, _COMPARE_SECONDS)
        self._note(self._name, candidate, found, _DISTURBED)
        if found is not None and found.is_win:
            self._recipe, self._compiled = recipe, compiled

    def _try_lowerings(self) -> None:
        options = self._recipe.options
        picks = dict(self._recipe.picks)
        for site, chosen in sites_of(self._code, self._recipe).items():
            key = site.key
            best = chosen if key is None else self._best_at(site, chosen, options)
            if key is not None and best != chosen:
                picks[key] = best
        if picks != self._recipe.picks:
            names = ", ".join(sorted(set(picks.values())))
            self._try_whole(Recipe(options, picks), f"{len(picks)} lowerings: {names}")

    def _best_at(self, site: Site, chosen: str, options: Options | None) -> str:
        """Returns the lowering that is fastest at a site, compiled with the program's options."""
        of = alternatives_of(site.call.name)
        launch = launch_at(site, self._code.ctx)
        key = site.key
        if of is None or launch is None or key is None:
            return chosen
        others = [other for other in of.applying(site) if other.name != chosen]
        tolerances = {other.name: other.tolerance for other in others}
        names = [*([PLAIN] if chosen != PLAIN else []), *tolerances]
        if not names:
            return chosen
        made = {name: _compiled_at(launch.code, key, name, options) for name in {chosen, *names}}
        current = made[chosen]
        if isinstance(current, str):
            return chosen
        plain = made[PLAIN] if PLAIN in made else _compiled_at(launch.code, key, PLAIN, options)
        wanted = None if isinstance(plain, str) else launch.outputs(plain)
        best, compiled = chosen, current
        for name in names:
            other = made[name]
            if isinstance(other, str):
                self._note(str(site), name, None, other)
            elif not self._may_go_on():
                self._note(str(site), name, None, _OUT_OF_TIME)
            elif wanted is not None and not _agree(
                launch.outputs(other), wanted, tolerances.get(name, _TOLERANCE)
            ):
                self._note(str(site), name, None, "differs")
            else:
                found = self._compare(launch, compiled, other, _COMPARE_SECONDS / 4)
                self._note(str(site), name, found, _DISTURBED)
                if found is not None and found.is_win:
                    best, compiled = name, other
        return best

    def _compare(
        self, launch: CapturedLaunch, present: Executable, other: Executable, seconds: float
    ) -> Comparison | None:
        """Compares two programs; None where something else ran at the same time, each time."""
        for _ in range(_RETRIES):
            if not self._quiet.wait():
                self.gave_up = True
                return None
            found = compare(launch.timer(present), launch.timer(other), seconds)
            if self._quiet.held():
                return found
        return None

    def _may_go_on(self) -> bool:
        return not self.gave_up and perf_counter() < self._end

    def _note(self, what: str, candidate: str, found: Comparison | None, verdict: str = "") -> None:
        if found is None:
            self.trials.append(Trial(what, candidate, None, None, None, verdict))
            return
        verdict = "faster" if found.is_win else "no faster"
        self.trials.append(Trial(what, candidate, found.before, found.after, found.spread, verdict))


@lru_cache(256)
def _site_program(code: Any, key: str, name: str, options: tuple[Any, ...] | None) -> Any:
    recipe = Recipe(None if options is None else dict(options), {key: name})
    try:
        return compile_code(code, recipe)
    except Exception as error:  # a lowering, or XLA, may have anything against it
        return _first_line(error)


def _compiled_at(code: object, key: str, name: str, options: Options | None) -> Any:
    """Returns the program of one site by one lowering; text says why there is none."""
    return _site_program(code, key, name, None if options is None else tuple(options.items()))


def _agree(made: Sequence[NumpyArray], wanted: Sequence[NumpyArray], tolerance: float) -> bool:
    """Whether outputs differ by no more than a share of the greatest magnitude in each."""
    for array, other in zip(made, wanted, strict=True):
        if array.dtype.kind not in "fV" or not other.size:
            if not np.array_equal(array, other):
                return False
            continue
        a, b = array.astype(np.float64), other.astype(np.float64)
        finite = np.isfinite(b)
        # What is not finite must be the same thing at the same place.
        if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
            return False
        share = tolerance * max(1.0, _epsilon(other.dtype) / _EPSILON)
        scale = float(np.max(np.abs(b[finite]), initial=0.0))
        if not np.all(np.abs(a[finite] - b[finite]) <= share * scale):
            return False
    return True


def _epsilon(dtype: DType) -> float:
    if dtype.kind == "f":
        return float(np.finfo(dtype).eps)
    return 2.0**-7  # bfloat16, which NumPy has from elsewhere


def _spelled(options: Options) -> str:
    return ", ".join(f"{name}={value}" for name, value in options.items()) or "XLA's own options"


def _first_line(error: Exception) -> str:
    text = str(error).splitlines()
    return f"fails: {text[0] if text else type(error).__name__}"
