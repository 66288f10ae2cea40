"""What a program is, apart from the bug: where its lines stand, and what is around them.

`$CULPRIT` stands for the lines of a culprit, `$EXPR` for those that are one expression. `$before`
and `$after` are a drawn number of other operators on `$x` and on `$y`, which keep numbers between 0
and 1; `$layers_before` and `$layers_after` are layers added to `$net`.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

from culprits import Culprit
from program import Program, draw_values, write


@dataclass(frozen=True)
class Skeleton:
    """A program without its bug.

    Attributes:
        name: unique.
        front: by which of the library's ways it computes.
        text: the template.
        space: what stands before a culprit's operators: "nd", "sym", "F" or "np".
        trains: whether there is a backward pass through the culprit.
        peer: the skeleton of PyTorch and of JAX that it is compared with; "" for none.
        alone: it is run in a process of its own.
    """

    name: str
    front: str
    text: str
    space: str
    trains: bool = False
    peer: str = ""
    alone: bool = False

    @property
    def inline(self) -> bool:
        """Whether it has room for an expression only."""
        return "$EXPR" in self.text


_FILLERS = {
    "mx": (
        "F.sigmoid({})",
        "F.tanh({})",
        "F.softmax({}, axis=-1)",
        "{} * 0.5 + 0.25",
        "F.softsign(F.relu({}))",
    ),
    "np": (
        "np.tanh({})",
        "{} * 0.5 + 0.25",
        "1 / (1 + np.exp(-{}))",
        "np.minimum(np.abs({}) + 0.1, 0.9)",
    ),
    "torch": (
        "torch.sigmoid({})",
        "torch.tanh({})",
        "torch.softmax({}, dim=-1)",
        "{} * 0.5 + 0.25",
    ),
}
_LAYERS = {
    "mx": (
        'gluon.nn.Dense($C, activation="sigmoid")',
        'gluon.nn.Activation("sigmoid")',
        "gluon.nn.HybridLambda(lambda F, v: F.tanh(v) * 0.5 + 0.5)",
        'gluon.nn.Dense($C, activation="sigmoid", use_bias=False)',
    ),
    "torch": (
        "torch.nn.Linear($C, $C), torch.nn.Sigmoid()",
        "torch.nn.Sigmoid()",
        "torch.nn.Linear($C, $C, bias=False), torch.nn.Sigmoid()",
    ),
    "jax": ("dense", "jax.nn.sigmoid", "squeeze"),
}


def combine(
    skeleton: Skeleton, culprit: Culprit, kind: str, library: str, seed: str, planted: bool
) -> Program:
    """Writes a program: with the same seed the same, but for the bug.

    Raises:
        ValueError: the culprit cannot be written so.
    """
    rng = random.Random(seed)
    values = draw_values(rng)
    family = {"hybridnet": "np" if skeleton.space == "np" else "mx", "torch": "torch", "jax": "np"}
    words = family[library]
    lines = {"mx": culprit.mx, "np": culprit.np, "torch": culprit.torch}[words]
    if lines is None or (skeleton.inline and "\n" in lines.strip()):
        raise ValueError(f"{culprit.name}: not in the words of {skeleton.name}")
    # What is in the data may also be named where an operator first takes it.
    values["SEEN"] = " !" if kind == "nan" else " of two"
    depth = rng.randint(1, 5)
    position = rng.randrange(depth)
    for name, count, on in (("before", position, "$x"), ("after", depth - position - 1, "$y")):
        fillers = [rng.choice(_FILLERS[words]).format(on) for _ in range(count)]
        values[name] = "\n".join(f"{on} = {one}" for one in fillers)
        layers = _LAYERS[{"hybridnet": "mx"}.get(library, library)]
        add = {"torch": "layers += [{}]", "jax": "layers.append({})"}.get(library, "$net.add({})")
        values[f"layers_{name}"] = "\n".join(add.format(rng.choice(layers)) for _ in range(count))
    for name in ("FILL", "FILL2"):
        values[name] = rng.choice(_FILLERS[words])
    values["K"] = str(position)
    values["CULPRIT"] = lines
    values["EXPR"] = lines.strip().removeprefix("$y = ").removesuffix("  # !")
    text = skeleton.text
    if words == "mx":
        dot = f"{skeleton.space}."
        for name in ("before", "after", "CULPRIT", "EXPR", "FILL", "FILL2"):
            values[name] = values[name].replace("F.", dot)
    if library == "jax":
        for name in ("before", "after", "CULPRIT", "EXPR", "FILL", "FILL2"):
            values[name] = values[name].replace("np.", "jnp.")
    for name in ("FILL", "FILL2"):
        values[name] = values[name].format("v")
    name = "_".join((kind, skeleton.name, *re.findall(r"\w+", culprit.name.replace("'s", ""))))
    return Program(
        name=f"{name}_{library}" if library != "hybridnet" else name,
        kind=kind,
        front=skeleton.front,
        library=library,
        planted=planted,
        text=write(text, values, planted, rng),
        alone=skeleton.alone,
    )
