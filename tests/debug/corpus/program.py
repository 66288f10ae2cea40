"""What a program of the corpus is, and how its text is made from a template.

A template is Python with a few words of our own:

- ``$name``: a name or number that is drawn; on a line of its own, lines of code;
- ``{{a || b}}``: `a` in the program with the bug, `b` in the sound one;
- ``# !`` at the end of a line: an error is to name this line. There may be several, of which any
  will do: a NaN in the data may be named where it is made and where an operator first takes it.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass

from dressing import dress

#: What ends the planted lines of a program.
MARK = "# the bug"

_CHOICE = re.compile(r"\{\{(.*?)\|\|(.*?)\}\}")
_PLACE = re.compile(r"\$(\w+)")
_BLOCK = re.compile(r"^( *)\$(\w+)$")

#: Words that a name is drawn from.
_WORDS = {
    "x": "x data inputs features h hidden batch_in signal values tokens",
    "y": "y out scaled result mixed picked answer found made code_of",
    "z": "z part aside extra weightings side second other_half",
    "f": "normalize attend project rescale encode mix_in combine squash gate blend",
    "g": "prepare smooth warm_up first_stage bounded tame soften",
    "Net": "Encoder Scorer Tower Gate Mixer Head Trunk Cell Adapter Probe",
    "Own": "Clamp Straight Quantize Penalty Gauge Meter Loss1 Rounding",
    "net": "net model network tower branch student",
    "w": "w weight table kernel_ factors theta",
    "data": "data0 source samples rows_in observed corpus_ start",
    "loss": "loss cost objective penalty energy",
    "turn": "turn epoch i t iteration trip",
    "s": "s state memory_ carry history_",
    "name": "enc dec tower score gate mix stem head",
}


@dataclass(frozen=True)
class Program:
    """A program of the corpus.

    Attributes:
        name: unique, and the name of its file without ``.py``.
        kind: "nan", "index", "memory" or "shape".
        front: by which of the library's ways it computes: "nd", "np", "hybridized", ...
        library: "hybridnet", "torch" or "jax".
        planted: whether it has the bug; the others are sound.
        text: its Python.
        alone: it is run in a process of its own.
        servers: its worker is started with a server that imports the program, too.
        limit: MiB of address space that it may take beside what it has after the imports; 0 for
            any. With a limit it is run alone, too.
    """

    name: str
    kind: str
    front: str
    library: str
    planted: bool
    text: str
    alone: bool = False
    servers: bool = False
    limit: int = 0


def draw_values(rng: random.Random) -> dict[str, str]:
    """Draws the names and numbers of one program; no two names are the same."""
    values: dict[str, str] = {}
    for key, words in _WORDS.items():
        values[key] = rng.choice([word for word in words.split() if word not in values.values()])
    rows, columns = rng.choice((3, 4, 5, 6)), rng.choice((4, 6, 7, 8))
    turns = rng.randint(2, 5)
    values |= {
        "R": str(rows),
        "C": str(columns),
        "N": str(rows * columns),
        "T": str(turns),
        "BAD": str(rng.randrange(turns)),
        "SEED": str(rng.randrange(100)),
        "name1": values["name"] + rng.choice(("", "_a", "0")),
        "name2": values["name"] + rng.choice(("_out", "_b", "1")),
        "WORKERS": str(rng.choice((0, 1, 2))),
        "THREADS": str(rng.random() < 0.5),
        "SEEN": " ",
    }
    return values


def fill(template: str, values: Mapping[str, str], planted: bool) -> str:
    """Puts values into a template, and chooses between the bug and its repair."""
    lines: list[str] = []
    for line in template.strip("\n").split("\n"):
        block = _BLOCK.match(line)
        if block is None:
            lines.append(line)
        else:
            inner = values[block[2]].strip("\n")
            lines += [block[1] + one if one else one for one in inner.split("\n") if inner]
    text = "\n".join(lines)
    while _PLACE.search(text):
        text = _PLACE.sub(lambda found: values[found[1]], text)
    text = _CHOICE.sub(lambda found: found[1 if planted else 2].strip(), text)
    text = re.sub(r" *# !$", f"  {MARK}" if planted else "", text, flags=re.M)
    return text + "\n"


def write(template: str, values: Mapping[str, str], planted: bool, rng: random.Random) -> str:
    """Returns the text of a program, with comments, blank lines and breaks of its own."""
    return dress(fill(template, values, planted), rng, MARK)
