"""Launches to measure: structures with arrays to run them on.

A program is measured on what it was really given: indices in their range, masks as sparse as they
are. A site is measured alone, on random numbers of its shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Any, Final, final

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.context import Context
from hybridnet.base.dtype import is_float
from hybridnet.base.host_array import DeviceArray
from hybridnet.base.lazy import jax, jnp
from hybridnet.base.tensor_type import tensor_type
from hybridnet.ops.core import Call, Site, vjp_call
from hybridnet.passes import PIPELINE

from ..observe import events
from ..platform.jax_devices import sharding_of
from ..programs.cache import cache
from ..programs.dispatch import dispatch
from ..programs.executable import Executable, innermost
from ..programs.program import Program
from ..segments.code import Code

# A sample is as many runs as take this long, in seconds: the clock and the call cost some µs.
_SAMPLE_SECONDS: Final = 2e-3
_MOST_RUNS: Final = 50


def note_launch(program: Program, inputs: Sequence[DeviceArray], scalars: Sequence[float]) -> None:
    """Times a launch of a program that came from disk, unless it is known how long one takes.

    Args:
        program: a program that is about to run.
        inputs, scalars: what it runs on; they are left as they are.
    """
    account = program.account
    if not (account.by_steps.runs or account.by_program.runs):
        launch = CapturedLaunch.of(program.code, inputs, scalars)
        account.by_program.note(launch.timer(innermost(program.compiled))())


@final
class CapturedLaunch:
    """A structure and what to run it on.

    Args:
        code: the structure.
        inputs: JAX arrays; they are left as they are.
        scalars: numbers.

    Attributes:
        count: how often it was launched while it was watched.
    """

    def __init__(self, code: Code, inputs: Sequence[DeviceArray], scalars: Sequence[float]) -> None:
        self.code = code
        self.count = 0
        self._revision = PIPELINE.revision
        self._inputs = list(inputs)
        self._scalars = list(scalars)

    @classmethod
    def of(cls, code: Code, inputs: Sequence[Any], scalars: Sequence[float]) -> CapturedLaunch:
        """Returns a launch that is about to be made: of what it will consume, copies are kept."""
        kept = list(inputs)
        for slot in code.donated:
            kept[slot] = jnp.copy(kept[slot])
        return cls(code, kept, scalars)

    @property
    def is_current(self) -> bool:
        """Whether programs made for it were made by the passes that there are now."""
        return self._revision == PIPELINE.revision

    def outputs(self, compiled: Executable) -> list[NumpyArray]:
        """Returns what a program makes of the inputs."""
        made = dispatch(self.code.ctx, compiled, self._fresh(), self._scalars)
        return [np.asarray(array) for array in made]

    def timer(self, compiled: Executable) -> Callable[[], float]:
        """Returns what runs a program and tells the seconds of one run."""
        runs = 0

        def run() -> float:
            nonlocal runs
            if not runs:
                runs = min(
                    _MOST_RUNS, max(1, int(_SAMPLE_SECONDS / max(self._seconds(compiled, 1), 1e-9)))
                )
            return self._seconds(compiled, runs)

        return run

    def _seconds(self, compiled: Executable, runs: int) -> float:
        inputs = [self._fresh() for _ in range(runs)]
        started = perf_counter()
        for arrays in inputs:
            made = dispatch(self.code.ctx, compiled, arrays, self._scalars)
        jax.block_until_ready(made)
        return (perf_counter() - started) / runs

    def _fresh(self) -> list[DeviceArray]:
        """Returns the inputs, those that a program consumes as copies."""
        inputs: list[Any] = list(self._inputs)
        for slot in self.code.donated:
            inputs[slot] = jnp.copy(inputs[slot])
        jax.block_until_ready(inputs)
        return inputs


@contextmanager
def captured(
    wanted: Callable[[Code], bool] = lambda code: True,
) -> Iterator[dict[Code, CapturedLaunch]]:
    """Keeps what is launched within of the structures `wanted`, with what each was given first."""
    found: dict[Code, CapturedLaunch] = {}

    def take(code: Code, inputs: Sequence[DeviceArray], scalars: Sequence[float]) -> None:
        launch = found.get(code)
        if launch is None:
            if not wanted(code):
                return
            launch = found[code] = CapturedLaunch.of(code, inputs, scalars)
        launch.count += 1

    def listen(kind: str, what: Code | str, start: int, end: int) -> None:
        """Nothing: it is there so that every launch comes by the cache."""

    cache.watchers.append(take)
    events.listen(listen)
    try:
        yield found
    finally:
        events.unlisten(listen)
        cache.watchers.remove(take)


def launch_at(site: Site, ctx: Context) -> CapturedLaunch | None:
    """Returns a launch of what is lowered at a site, alone; None where that cannot be made up."""
    types = tuple(tensor_type(operand.shape, np.dtype(operand.dtype)) for operand in site.operands)
    call: Any = site.call
    if not isinstance(call, Call) or call.takes_state:
        return None
    if site.wanted is not None:
        outputs = call.infer(types)[: call.num_visible]
        wanted = tuple(i for i in site.wanted if is_float(types[i].dtype))
        given = tuple(i for i, kind in enumerate(outputs) if is_float(kind.dtype))
        if not wanted or not given:
            return None
        types += tuple(outputs[i] for i in given)
        call = vjp_call(call, wanted, given)
    operands = tuple(range(-1, ~len(types), -1))
    code = Code(ctx, ((call, operands),), types, tuple(range(call.num_outputs)), ())
    rng = np.random.default_rng(0)
    # Whole numbers are positions as a rule: in the shortest axis that they can be meant for.
    bound = min((kind.shape[0] for kind in types if is_float(kind.dtype) and kind.shape), default=2)
    inputs = []
    for kind in types:
        made = (
            rng.standard_normal(kind.shape)
            if is_float(kind.dtype)
            else rng.integers(0, max(1, min(bound, 100)), kind.shape)
        )
        with jax.enable_x64(True):
            inputs.append(jax.device_put(np.asarray(made).astype(kind.dtype), sharding_of(ctx)))
    return CapturedLaunch(code, inputs, [0.5] * call.num_scalars)
