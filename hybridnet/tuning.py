"""`hybridnet.tune`: finds by measurement how the programs of a computation run fastest here.

    hn.tune(net, data)                     # a block, a traced function, any callable
    hn.tune(step, data, label, budget_s=300)
    print(hn.tune.report())

An operator may have several lowerings, and XLA has compile options. Which are fastest depends on
the shapes, the processor and XLA's version. By default, rules choose. Tuning measures the choices
on the real shapes, and keeps the faster ones on disk for later processes.
``HYBRIDNET_TUNE=background`` also tunes without a call, while the process is idle;
``HYBRIDNET_TUNE=off`` never tunes, and uses only the operators' own lowerings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from time import perf_counter
from typing import Any, Final, final

from hybridnet import engine
from hybridnet.runtime.tuner import Entry, Trial, book, cache

from .base import config
from .base.context import current_context
from .base.errors import MXNetError, ParameterError
from .executor import Executor
from .ndarray import NDArray, array, waitall
from .runtime.tuner import CapturedLaunch, Search, captured
from .symbol import Symbol

__all__ = ["Report", "tune"]

# Calls before the measurement, after which everything is compiled: a structure is compiled once it
# comes again, and the first calls of what changes arrays in place may differ in structure.
_WARM: Final = 4
# The least share of the budget that a program gets; the others get their share of the run time.
_MIN_SHARE: Final = 0.1


@final
class Report:
    """The trials and choices of tuning; prints as a table.

    Attributes:
        entries: one for each program: its name, its recipe, and the trials.
    """

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.entries = list(entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __str__(self) -> str:
        if not self.entries:
            return "nothing has been tuned"
        return "\n\n".join(_table(entry) for entry in self.entries)

    __repr__ = __str__


def _table(entry: Entry) -> str:
    recipe = entry.recipe
    chosen = []
    if recipe.options is not None:
        options = ", ".join(f"{name}={value!r}" for name, value in recipe.options.items())
        chosen.append(f"options {options or 'of XLA itself'}")
    if recipe.picks:
        chosen.append(
            f"{len(recipe.picks)} lowerings: {', '.join(sorted({*recipe.picks.values()}))}"
        )
    lines = [f"{entry.program}: {'; '.join(chosen) or 'as the rules say'}"]
    lines += [f"  {_row(trial, entry.program)}" for trial in entry.trials]
    return "\n".join(lines)


def _row(trial: Trial, program: str) -> str:
    where = "whole" if trial.what == program else trial.what
    text = f"{where}: {trial.candidate}: {trial.verdict}"
    if trial.before is None or trial.after is None or trial.spread is None:
        return text
    return (
        f"{text}, {1e3 * trial.before:.3g} -> {1e3 * trial.after:.3g} ms "
        f"(spread {100 * trial.spread:.1f} %)"
    )


@final
class _Tune:
    """Finds by measurement how the programs of a computation run fastest on this machine.

    ``tune(target, *inputs, budget_s=60.0, **named)`` calls the target on the inputs a few times
    (so a training step changes the weights), measures its programs, and replaces them by faster
    ones, in this process and in later ones. Results stay within the tolerances that the lowerings
    declare; those of a whole program, within 2e-3 of the greatest magnitude in each output
    (float32).

    Args:
        target: a callable: a block, a traced function, an eager function, an executor's forward; or
            a Symbol, whose inference is tuned: the inputs are its arguments by name, and those that
            are not given (the weights) are made up.
        *inputs: what to call it with: arrays of the shapes that the program will be used with.
        budget_s: seconds to spend; compilations that have begun are finished.
        **named: arguments by name.

    Returns:
        A `Report` of what was tried now.

    Raises:
        ParameterError: the target cannot be called, or the budget is not a positive number.
        MXNetError: HYBRIDNET_TUNE is 'off', or the target computes nothing.
    """

    def __call__(self, target: Any, *inputs: Any, budget_s: float = 60.0, **named: Any) -> Report:
        end = perf_counter() + _checked(budget_s)
        if config.tuning() == "off":
            raise MXNetError("tune: HYBRIDNET_TUNE is 'off'; unset it, or set it to 'builtin'")
        if isinstance(target, (Symbol, Executor)):
            call = _forward(target, inputs, named)
        elif callable(target):

            def call() -> Any:
                return target(*inputs, **named)

        else:
            raise ParameterError(
                f"tune: target must be a callable, a block or a Symbol, got {type(target).__name__}"
            )
        launches = _launches(call)
        entries = []
        for launch, share in launches:
            left = end - perf_counter()
            search = Search(launch, max(0.0, left * max(share, _MIN_SHARE)))
            entry, compiled = search.run()
            book.keep(launch.code, entry)
            if compiled is not None and launch.is_current:
                cache.save(launch.code, entry.recipe, compiled)
                cache.replace(launch.code, compiled)
            entries.append(entry)
        return Report(entries)

    def report(self) -> Report:
        """Returns what this process has tuned, and what it uses of what earlier ones have."""
        return Report(book.entries())

    def __repr__(self) -> str:
        return "<hybridnet.tune: tune(target, *inputs, budget_s=60.0), tune.report()>"


def _checked(budget_s: float) -> float:
    if isinstance(budget_s, bool) or not isinstance(budget_s, (int, float)) or not budget_s > 0:
        raise ParameterError(f"tune: budget_s must be a number of seconds > 0, got {budget_s!r}")
    return float(budget_s)


def _forward(
    target: Symbol | Executor, inputs: Sequence[Any], named: dict[str, Any]
) -> Callable[[], Any]:
    """Returns a function that runs a symbol, or an executor, on arguments by name."""
    if inputs:
        raise ParameterError(
            f"tune: a {type(target).__name__} takes its inputs by name, got {len(inputs)} without; "
            "write tune(symbol, data=array)"
        )
    given = {
        name: value if isinstance(value, NDArray) else array(value, ctx=current_context())
        for name, value in named.items()
    }
    if isinstance(target, Symbol):
        shapes: dict[str, Any] = {name: value.shape for name, value in given.items()}
        types = {name: value.dtype for name, value in given.items()}
        ctx = current_context()
        target = target.simple_bind(ctx, grad_req="null", type_dict=types, **shapes)
        for name, value in target.arg_dict.items():
            if name not in given:
                value[:] = 0.01
    executor = target
    return lambda: executor.forward(is_train=False, **given)


def _launches(call: Callable[[], Any]) -> list[tuple[CapturedLaunch, float]]:
    """Calls until all is compiled; returns what is launched then, and each one's share of time."""
    with cache.compiling_soon():
        for _ in range(_WARM):
            call()
            waitall()
            engine.wait_for_all()
    with captured() as found:
        call()
        waitall()
    times = {}
    for launch in found.values():
        program = cache.compiled(launch.code)
        if program is not None:
            times[launch] = launch.count * launch.timer(program.compiled)()
    if not times:
        raise MXNetError(
            "tune: the target launched no program: it must compute something with arrays of "
            "hybridnet each time it is called"
        )
    whole = sum(times.values())
    return sorted(
        ((label, time / whole) for label, time in times.items()), key=lambda pair: -pair[1]
    )


tune: Final = _Tune()
