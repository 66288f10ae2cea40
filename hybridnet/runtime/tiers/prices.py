"""The prices of purchases, and of launches before anybody has measured them.

All numbers that decide who runs what stand here, each with its unit and where it was measured: two
processors of an Intel Xeon of 2.1 GHz. What can be learned is learned while the process runs.
"""

from __future__ import annotations

from bisect import insort
from typing import Final, final

#: As if programs of so many operators had been used again, before anything is known. (To initialize
#: a network takes some tens of small ones that run once.)
AGAIN: Final = 512
#: How many of a kind tell what the next will be like: runs of a program that took over from NumPy,
#: launches in a row that were read at once, or were of new structures.
SAMPLES: Final = 5


@final
class Prices:
    """The prices of one platform, in seconds.

    Attributes:
        jax: to load JAX, beside a loop (`benchmarks/first_step.py`).
        program: to compile any program (a single operator: 30 to 60 ms with it).
        kind: for each operator in it that differs from those before, has other shapes, or draws
            random numbers (LeNet's step of 33: 1.6 s; ResNet-18's of 146: 4.3 s; 50 draws: 2.4 s).
        repeated: for each other one (the 2,300 of 60 steps of an LSTM and their gradients: 8 s).
        file: the part of that which it takes to read a program from disk (a single operator's 5 ms,
            LeNet's step 20, ResNet-18's 80).
        onednn: to build what calls oneDNN, in a process of its own (once on a machine).
        handover: until a thread that waits has a result of XLA's (``a + b`` read: 80 us, by NumPy
            20).
        waiting: to hand XLA a program of some arrays, to have another thread wait for the one that
            runs it, and to ask for its results.
        constants: the part of a program's time that follows from weights that stay the same, about
            (MobileNet-v1, one image: 0.63 to 0.74; a small dense network: next to nothing).
        tuned: the part of a program's time on a GPU that XLA's autotuners save, about (a guess, as
            no card was there to measure it on; `benchmarks/gpu.py` does).
        page: for each byte of temporary memory that does not come in blocks, to have the kernel
            clear it (ResNet-18's step: 36,000 pages, 40 ms).
        usual: the least part that a program takes of what its steps do, by NumPy or XLA (LeNet's
            training step 0.32, an LSTM's 0.26, ResNet-18's 0.35, a transformer's 0.54).
        large: programs of more operators than this are compiled in a hurry (`compile_options`),
            and are no quicker than their steps (1,700 and 1,900 of LSTM cells: 0.99 and 1.5).
        bus: bytes a second between host memory and an accelerator's, of arrays that are not pinned
            (PCI Express, a guess; `benchmarks/gpu.py` measures it).
        stays: the most bytes of an array of an accelerator that is left in host memory until a
            program there reads it: what goes both ways in a tenth of the time of compiling an
            operator, and is not looked for room for (`programs.room`).
        passes: for each operator of a graph, how long it must have run until passes over it have
            paid for themselves: they take 20 us, and save a twentieth of its time. Just as long
            until its host form is made a straight line: 100 us, for a quarter of its time.
    """

    __slots__ = ("_ratios",)

    jax: Final = 0.5
    program: Final = 0.0175
    kind: Final = 0.0325
    repeated: Final = 3.5e-3
    file: Final = 0.03
    onednn: Final = 3.1
    handover: Final = 6e-5
    waiting: Final = 3e-4
    constants: Final = 0.3
    tuned: Final = 0.2
    page: Final = 2.7e-10
    usual: Final = 0.3
    large: Final = 1500
    passes: Final = 4e-4
    bus: Final = 5e9
    stays: Final = 8 << 20

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Forgets what was learned."""
        self._ratios = [1.0]

    def compiling(self, weight: int, kinds: int | None = None) -> float:
        """Returns how long XLA takes to compile a program.

        Args:
            weight: the number of its operators.
            kinds: how many of them differ; None if that is not known.
        """
        return self._pace * self._guess(weight, kinds)

    def building(self) -> float:
        """Returns how long it takes to build what calls oneDNN: the machine is as slow for that."""
        return self._pace * self.onednn

    def reading(self, weight: int, kinds: int | None = None) -> float:
        """Returns how long such a program takes to be read from disk."""
        return self.file * self._guess(weight, kinds)

    def note_compiled(self, weight: int, kinds: int | None, seconds: float) -> None:
        """Learns from a compilation: what it took of the first guess, in the middle of all."""
        insort(self._ratios, seconds / self._guess(weight, kinds))

    @property
    def _pace(self) -> float:
        """The slowness of compilers here: what compilations took of the guesses, in the middle."""
        return self._ratios[len(self._ratios) // 2]

    def _guess(self, weight: int, kinds: int | None) -> float:
        differ = weight if kinds is None else min(kinds, weight)
        return self.program + self.kind * differ + self.repeated * (weight - differ)


#: The prices of this process's CPU.
prices: Final = Prices()
