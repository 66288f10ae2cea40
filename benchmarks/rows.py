"""The table that ``eager.py`` fills: its rows, and what each must reach."""

from __future__ import annotations

from dataclasses import dataclass

#: Contestants that a worker with this process's interpreter runs, hybridnet and JAX in one.
JAX_PROCESS = ("hybridnet", "jit", "jax")
TITLES = {
    "hybridnet": "hybridnet",
    "jit": "jax.jit",
    "jax": "JAX op by op",
    "torch": "PyTorch eager",
    "mxnet": "MXNet eager",
    "mxnet hybridized": "MXNet hybridized",
}


@dataclass(frozen=True)
class Target:
    """What hybridnet must reach.

    Attributes:
        most: the bound.
        against: a contestant: its median ratio is held to the bound; None: the value itself.
        fact: what is held to it in place of the time.
    """

    most: float
    against: str | None = None
    fact: str | None = None

    def __str__(self) -> str:
        if self.against is None:
            return f"<= {self.most:g} {self.fact or ''}".rstrip()
        what = f"{self.fact}, " if self.fact else ""
        return f"{what}<= {self.most:.3g} x {TITLES[self.against]}"


@dataclass(frozen=True)
class Row:
    """One work in the table.

    Attributes:
        work: its name in `works.catalog`.
        title: what the table calls it.
        unit: of the time shown: 's', 'ms' or 'us'.
        per: by how much the time of a turn is divided.
        item: what the divided time is of, with its article.
        targets: what must be reached.
        tolerance: relative, to which the contestants' answers must agree.
        cold: every turn is new work: nothing settles, answers are compared at the end, and the
            ratio is that of the totals.
        apart: every contestant gets a process of its own, and facts are compared, not times.
        most_turns: in one round.
    """

    work: str
    title: str
    unit: str
    item: str
    targets: tuple[Target, ...] = ()
    per: int = 1
    tolerance: float = 1e-4
    cold: bool = False
    apart: bool = False
    most_turns: int = 2000


_FASTER = 0.999  # "faster than", as a bound
_STEP = "a step"

ROWS = (
    Row(
        "chain",
        "200 chained operators, 32x32, read at the end",
        "us",
        "an operator",
        (Target(1.5), Target(_FASTER, "torch")),
        per=200,
    ),
    Row("recording", "... recording alone", "us", "an operator", (Target(1.5),), per=200),
    Row("taped", "... under a tape, with backward", "us", "an operator", per=200),
    Row("taping", "... recording that alone", "us", "an operator", (Target(3.0),), per=200),
    Row(
        "chain-large",
        "200 chained operators, 1000x1000",
        "us",
        "an operator",
        (Target(1.3, "jit"), Target(0.25, "torch")),
        per=200,
    ),
    Row(
        "loop",
        "raw loop of 3 operators, 10,000 turns",
        "us",
        "an operator",
        (Target(2.0), Target(4, fact="compilations")),
        per=30_000,
        most_turns=1,
    ),
    Row(
        "mlp",
        "MLP 64-128-128-10, batch 32",
        "ms",
        _STEP,
        (Target(2.5, "jit"), Target(_FASTER, "torch"), Target(_FASTER, "mxnet hybridized")),
    ),
    Row("mlp-wide", "MLP 784-512-512-10, batch 128", "ms", _STEP, (Target(1.1, "jit"),)),
    Row("lenet", "LeNet, batch 64", "ms", _STEP, (Target(1.1, "jit"),)),
    Row(
        "resnet",
        "ResNet-18, 32x32, batch 32",
        "ms",
        _STEP,
        (Target(1.1, "jit"),),
        tolerance=2e-3,
    ),
    Row("lstm", "LSTM 2x200, 35 steps, batch 20", "ms", _STEP, (Target(1.1, "jit"),)),
    Row("write", "x[3] = 1 on 100 MB", "us", "a write", (Target(100),)),
    Row(
        "memory",
        "ResNet-18, peak memory",
        "ms",
        _STEP,
        (Target(1.1, "jit", fact="planned MB"),),
        tolerance=2e-3,
        apart=True,
    ),
    Row(
        "novel",
        "structures that never repeat",
        "ms",
        "a program",
        (Target(1.25, "jax"),),
        cold=True,
        most_turns=10,
    ),
)
