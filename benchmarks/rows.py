"""The tables that ``eager.py`` and ``nets.py`` fill: their rows, and what each must reach."""

from __future__ import annotations

from dataclasses import dataclass

#: Contestants that a worker with this process's interpreter runs, hybridnet and JAX in one.
JAX_PROCESS = ("hybridnet", "eager", "jit", "jax")
TITLES = {
    "hybridnet": "hybridnet",
    "eager": "its eager loop",
    "jit": "jax.jit",
    "jax": "JAX op by op",
    "torch": "PyTorch eager",
    "mxnet": "MXNet eager",
    "mxnet hybridized": "MXNet hybridized",
    "torch.compile": "torch.compile",
    "mxnet optimized": "MXNet optimize_for",
    "tensorflow": "TensorFlow",
    "hybridnet, plain": "hybridnet without oneDNN",
    "hybridnet, other JAX": "hybridnet, other JAX",
    "jit, other JAX": "jax.jit, other JAX",
}
#: The contestants of ``eager.py``, and the other frameworks of ``nets.py``.
EAGER = ("hybridnet", "eager", "jit", "jax", "torch", "mxnet", "mxnet hybridized")
PEERS = ("torch", "torch.compile", "mxnet hybridized", "mxnet optimized", "tensorflow")
#: The fastest of these in a row, in a `Target`.
BEST_PEER = "best peer"


@dataclass(frozen=True)
class Target:
    """A bound that hybridnet must reach.

    Attributes:
        most: the bound.
        against: a contestant, or `BEST_PEER`: the median ratio to it is held to the bound; None:
            the value itself.
        fact: what is held to it in place of the time.
    """

    most: float
    against: str | None = None
    fact: str | None = None

    def __str__(self) -> str:
        if self.against is None:
            return f"<= {self.most:g} {self.fact or ''}".rstrip()
        what = f"{self.fact}, " if self.fact else ""
        return f"{what}<= {self.most:.3g} x {TITLES.get(self.against, self.against)}"


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
        cold: every turn is new work: nothing warms up, answers are compared at the end, and the
            ratio is that of the totals.
        own_process: every contestant gets a process of its own, and facts are compared, not times.
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
    own_process: bool = False
    most_turns: int = 2000


_FASTER = 0.999  # "faster than", as a bound
_STEP = "a step"
_AS_EAGER = (Target(1.05, "eager"),)

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
    Row("mlp-hybridized", "MLP 64-128-128-10, hybridized", "ms", _STEP, _AS_EAGER),
    Row("lenet-hybridized", "LeNet, hybridized", "ms", _STEP, _AS_EAGER),
    Row(
        "resnet-hybridized",
        "ResNet-18, hybridized",
        "ms",
        _STEP,
        _AS_EAGER,
        tolerance=2e-3,
    ),
    Row("write", "x[3] = 1 on 100 MB", "us", "a write", (Target(100),)),
    Row(
        "memory",
        "ResNet-18, peak memory",
        "ms",
        _STEP,
        (Target(1.1, "jit", fact="planned MB"),),
        tolerance=2e-3,
        own_process=True,
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

_FASTEST = (Target(_FASTER, BEST_PEER),)
_CONVOLUTIONS = (Target(0.7, "jit"), Target(1.0, BEST_PEER))
_PRODUCTS = (Target(1.0, "jit"), Target(_FASTER, BEST_PEER))
_CALL = "a call"

NETS = (
    Row("vgg11-1", "VGG-11 inference, batch 1", "ms", _CALL, _FASTEST),
    Row("vgg11-4", "VGG-11 inference, batch 4", "ms", _CALL, _FASTEST),
    Row("resnet50-1", "ResNet-50 inference, batch 1", "ms", _CALL, _FASTEST),
    Row("resnet50-4", "ResNet-50 inference, batch 4", "ms", _CALL, _FASTEST),
    Row("mobilenet-1", "MobileNet-v1 inference, batch 1", "ms", _CALL, _FASTEST),
    Row("mobilenet-4", "MobileNet-v1 inference, batch 4", "ms", _CALL, _FASTEST),
    Row("lenet-step", "LeNet, batch 64", "ms", _STEP, _CONVOLUTIONS),
    Row("alexnet-step", "AlexNet, 224x224, batch 16", "ms", _STEP, _CONVOLUTIONS, tolerance=1e-3),
    Row("resnet18-step", "ResNet-18, 32x32, batch 32", "ms", _STEP, _CONVOLUTIONS, tolerance=2e-3),
    Row(
        "lstm-step",
        "LSTM 2x200, 35 steps, batch 20",
        "ms",
        _STEP,
        (Target(1.0, BEST_PEER),),
        tolerance=1e-2,  # Keras has one bias for another's two, which learn twice as fast
    ),
    Row("mlp-small-step", "MLP 64-128-128-10, batch 32", "ms", _STEP, _PRODUCTS),
    Row("mlp-large-step", "MLP 784-512-512-10, batch 128", "ms", _STEP, _PRODUCTS),
)

#: gluon's own models: five networks of its zoo, and its recurrent layers.
MODELS = (
    *(
        Row(f"zoo-{work}", f"{title} inference, batch 1", "ms", _CALL, _FASTEST, tolerance=1e-3)
        for work, title in (
            ("resnet50_v2", "ResNet-50 v2"),
            ("densenet121", "DenseNet-121"),
            ("inceptionv3", "Inception v3"),
            ("mobilenetv2", "MobileNet v2"),
            ("squeezenet", "SqueezeNet 1.1"),
        )
    ),
    *(
        Row(
            f"{work}-layer-step",
            f"gluon.rnn.{work.upper()}, 2 x 200 units, 35 steps, batch 20",
            "ms",
            _STEP,
            (Target(1.0, BEST_PEER),),
            tolerance=1e-3,
        )
        for work in ("lstm", "gru", "rnn")
    ),
)
