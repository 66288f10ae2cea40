"""What purchases cost, and what launches take before anybody has measured it.

All first guesses stand here, each with its unit and where it was measured: two processors of an
Intel Xeon of 2.1 GHz. What can be learned is learned while the process runs.
"""

from __future__ import annotations

from collections import deque
from statistics import median
from typing import Final, final

from hybridnet.base.processor import num_threads

__all__ = ["Prices", "prices"]

# How many of the last compilations say what the next will take, against the first guess.
_REMEMBERED: Final = 9


@final
class Prices:
    """What one platform charges, in seconds.

    Attributes:
        jax: to load JAX, beside a loop (`benchmarks/first_step.py`).
        program: to compile any program (a single operator: 30 to 60 ms with it).
        kind: for each operator in it that differs from those before, or has other shapes (LeNet's
            step of 33: 1.6 s; ResNet-18's of 146: 4.3 s).
        draw: for each that draws random numbers and differs from those before, beside that (a
            uniform one: 0.25 s, a multinomial: 0.33 s).
        repeated: for each other one (the 2,300 of 60 steps of an LSTM and their gradients: 8 s).
        file: to read any program from disk.
        file_instruction: for each operator in it.
        onednn: to build what calls oneDNN, in a process of its own (once on a machine).
        dispatch: a launch of one program (a hybridized ``a + b``).
        handover: until a thread that waits has a result of XLA's (``a + b`` read: 80 us, by NumPy
            20).
        waiting: to hand XLA a program of some arrays, to have another thread wait for the one that
            runs it, and to ask for its results.
        inline: a program of fewer operations is run by XLA's CPU client in the thread that launches
            it, so that there is no handover.
        operations: floating-point operations a second, of each processor at its best.
        bandwidth: bytes a second that are read or written.
        usual: the least part that a program takes of what its steps do, by NumPy or XLA (LeNet's
            training step 0.32, an LSTM's 0.26, ResNet-18's 0.35, a transformer's 0.54).
        large: programs of more operators than this are compiled in a hurry (`compile_options`),
            and are no quicker than their steps (1,700 and 1,900 of LSTM cells: 0.99 and 1.5).
        numpy_operations: floating-point operations a second by NumPy's convolutions and products
            (64 filters over 64 channels of (32, 64, 32, 32): 0.1 s).
        passes: to run optimization passes over a graph, for each operator.
        passes_gain: the part of a graph's time that they save, about.
    """

    __slots__ = ("_ratios", "_scale")

    jax: Final = 0.5
    program: Final = 0.0175
    kind: Final = 0.0325
    draw: Final = 0.25
    repeated: Final = 3.5e-3
    file: Final = 5e-3
    file_instruction: Final = 5e-4
    onednn: Final = 4.3
    dispatch: Final = 1.2e-5
    handover: Final = 6e-5
    waiting: Final = 3e-4
    inline: Final = 1000
    operations: Final = 2.2e11
    bandwidth: Final = 1e10
    usual: Final = 0.3
    large: Final = 1500
    numpy_operations: Final = 5e10
    passes: Final = 2e-5
    passes_gain: Final = 0.05

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Forgets what was learned."""
        self._ratios: deque[float] = deque(maxlen=_REMEMBERED)
        self._scale = 1.0

    def compiling(self, weight: int, kinds: int | None = None, draws: int = 0) -> float:
        """Returns how long XLA takes to compile a program.

        Args:
            weight: the number of its operators.
            kinds: how many of them differ; None if that is not known.
            draws: how many of those draw random numbers.
        """
        return self._scale * self._guess(weight, kinds, draws)

    def reading(self, weight: int) -> float:
        """Returns how long a program of so many operators takes to be read from disk."""
        return self.file + self.file_instruction * weight

    def launch(self, operations: float, nbytes: float, read: float) -> float:
        """Returns how long a launch of one program takes of the loop.

        Args:
            operations: floating-point operations.
            nbytes: bytes that it reads or writes.
            read: of how many of its launches the results are waited for at once, from 0 to 1.
        """
        computing = max(operations / (self.operations * num_threads()), nbytes / self.bandwidth)
        waiting = read * self.handover if operations >= self.inline else 0.0
        return max(self.dispatch, computing) + waiting

    def by_numpy(self, operations: float, nbytes: float) -> float:
        """Returns how long NumPy takes for so many operations, or to move so many bytes."""
        return max(operations / self.numpy_operations, nbytes / self.bandwidth)

    def note_compiled(self, weight: int, kinds: int | None, draws: int, seconds: float) -> None:
        """Learns from a compilation."""
        self._ratios.append(seconds / self._guess(weight, kinds, draws))
        self._scale = median((1.0, *self._ratios))

    def _guess(self, weight: int, kinds: int | None, draws: int) -> float:
        differ = weight if kinds is None else min(kinds, weight)
        drawing = self.draw * draws
        return self.program + self.kind * differ + self.repeated * (weight - differ) + drawing


#: The prices of this process's CPU.
prices: Final = Prices()
