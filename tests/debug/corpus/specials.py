"""Programs that are themselves, whole, and not a culprit put into a skeleton."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field

from program import Program, draw_values, write


@dataclass(frozen=True)
class Special:
    """A program of one place only.

    Attributes:
        name: unique among those of its kind.
        kind: "nan", "index", "memory" or "shape".
        front: by which of the library's ways it computes.
        text: its template.
        peers: library -> the same program in its words.
        alone: it is run in a process of its own.
        servers: it is a worker's program, and a server imports it.
    """

    name: str
    kind: str
    front: str
    text: str
    peers: dict[str, str] = field(default_factory=dict)
    alone: bool = False
    servers: bool = False

    def program(self, seed: int, planted: bool, library: str = "hybridnet") -> Program:
        """Writes it."""
        rng = random.Random(f"{seed} {self.kind} {self.name}")
        text = self.peers.get(library, self.text)
        name = "_".join((self.kind, *re.findall(r"\w+", self.name.replace("'s", ""))))
        return Program(
            name=f"{name}_{library}" if library != "hybridnet" else name,
            kind=self.kind,
            front=self.front,
            library=library,
            planted=planted,
            servers=self.servers,
            text=write(text, draw_values(rng), planted, rng),
            alone=self.alone or self.front == "tf1",  # names of variables are a process's
        )

    def programs(self, seed: int) -> list[Program]:
        """It with its bug, in the words of each library."""
        return [self.program(seed, True, one) for one in ("hybridnet", *self.peers)]
