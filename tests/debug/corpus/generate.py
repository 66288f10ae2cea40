"""Writes the corpus: 200 programs with a planted bug, and 200 sound ones.

    python tests/debug/corpus/generate.py FOLDER

The same programs each time. The last of the lines that a bug may be named at ends in
``# the bug``. Those of them that PyTorch or JAX can do stand beside in their words.
"""

from __future__ import annotations

import argparse
import random
from dataclasses import replace
from pathlib import Path

from culprits import Culprit
from culprits_index import INDEX
from culprits_memory import MEMORY
from culprits_nan import BACKWARD, FORWARD
from culprits_shape import SHAPE
from peers_jax import JAX
from peers_torch import TORCH
from program import Program
from skeletons import Skeleton, combine
from skeletons_eager import EAGER
from skeletons_flow import FLOW
from skeletons_gluon import GLUON
from skeletons_python import PYTHON
from skeletons_sym import FUNCTIONS, SYMBOLS
from skeletons_updates import UPDATES
from specials_index import INDEX as INDEX_PLACES
from specials_index_more import INDEX_MORE
from specials_memory import MEMORY as MEMORY_PLACES
from specials_memory_more import MEMORY_MORE
from specials_nan import NAN
from specials_nan_more import NAN_MORE
from specials_shape import SHAPE as SHAPE_PLACES
from specials_shape_more import SHAPE_MORE
from specials_sound import UNSEEN
from specials_sound_index import BORDERS
from specials_sound_more import AT_EDGES

__all__ = ["KINDS", "planted", "sound"]

KINDS = ("nan", "index", "memory", "shape")
#: Programs of a kind.
EACH = 50
ALL = EACH * len(KINDS)
#: MiB that a program of the kind "memory" may take beside what it has after its imports.
_LIMIT = 700
_SPECIALS = [
    *NAN,
    *NAN_MORE,
    *INDEX_PLACES,
    *INDEX_MORE,
    *MEMORY_PLACES,
    *MEMORY_MORE,
    *SHAPE_PLACES,
    *SHAPE_MORE,
]
#: Sound programs in which NaN is meant or not seen, or positions are at the borders.
MEANT = [*UNSEEN, *AT_EDGES, *BORDERS]
_SKELETONS = [*EAGER, *GLUON, *SYMBOLS, *FUNCTIONS, *FLOW, *PYTHON, *UPDATES]
_CULPRITS = {"nan": FORWARD + BACKWARD, "index": INDEX, "memory": MEMORY, "shape": SHAPE}


def planted(seed: int = 0) -> list[Program]:
    """Returns the programs with a bug, the peers' behind hybridnet's own of the same name."""
    return [one for pair in _pairs(seed) for one in pair[0]]


def sound(seed: int = 0) -> list[Program]:
    """Returns as many without one: some that were mended, and those of `MEANT`."""
    mended = [pair[1] for pair in _pairs(seed)]
    wanted = {"nan": EACH, "index": EACH, "memory": EACH // 2}
    wanted["shape"] = ALL - sum(wanted.values()) - len(MEANT)
    kept = [one for kind in KINDS for one in _of(mended, kind)[: wanted[kind]]]
    return kept + [one.program(seed, planted=False) for one in MEANT]


def _of(programs: list[Program], kind: str) -> list[Program]:
    return [one for one in programs if one.kind == kind]


def _pairs(seed: int) -> list[tuple[list[Program], Program]]:
    pairs = []
    for kind in KINDS:
        specials = [one for one in _SPECIALS if one.kind == kind]
        for special in specials:
            pairs.append((special.programs(seed), special.program(seed, planted=False)))
        rng = random.Random(f"{seed} {kind}")
        for skeleton, culprit in _matched(kind, rng, EACH - len(specials)):
            key = f"{seed} {kind} {skeleton.name} {culprit.name}"
            own = combine(skeleton, culprit, kind, "hybridnet", key, True)
            mended = combine(skeleton, culprit, kind, "hybridnet", key, False)
            pairs.append(([own, *_peers(skeleton, culprit, kind, key, own)], mended))
    return [([_fit(x) for x in programs], _fit(sound)) for programs, sound in pairs]


def _fit(program: Program) -> Program:
    """Programs of the kind "memory" have a limit."""
    return replace(program, limit=_LIMIT, alone=True) if program.kind == "memory" else program


def _matched(kind: str, rng: random.Random, count: int) -> list[tuple[Skeleton, Culprit]]:
    """Chooses pairs: every skeleton in turn, with the culprit that fits it and was used least."""
    used = {culprit.name: 0 for culprit in _CULPRITS[kind]}
    found: list[tuple[Skeleton, Culprit]] = []
    while len(found) < count:
        order = [*_SKELETONS]
        rng.shuffle(order)
        for skeleton in order:
            fitting = [
                one
                for one in _CULPRITS[kind]
                if _fits(skeleton, one) and (skeleton, one) not in found
            ]
            if fitting and len(found) < count:
                least = min(used[one.name] for one in fitting)
                culprit = rng.choice([one for one in fitting if used[one.name] == least])
                used[culprit.name] += 1
                found.append((skeleton, culprit))
    return found


def _fits(skeleton: Skeleton, culprit: Culprit) -> bool:
    lines = culprit.np if skeleton.space == "np" else culprit.mx
    return (
        lines is not None
        and (not skeleton.inline or "\n" not in lines.strip())
        and (skeleton.trains or not culprit.backward)
    )


def _peers(
    skeleton: Skeleton, culprit: Culprit, kind: str, key: str, own: Program
) -> list[Program]:
    """The same bug in the words of PyTorch and JAX, as far as they have some."""
    found = []
    for library, skeletons in (("torch", TORCH), ("jax", JAX)):
        peer = skeletons.get(skeleton.peer)
        if peer is None:
            continue
        try:
            made = combine(peer, culprit, kind, library, key, True)
        except ValueError:
            continue
        found.append(replace(made, name=f"{own.name}_{library}", front=own.front))
    return found


def main() -> None:
    """Writes them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    for name, programs in (("planted", planted(given.seed)), ("sound", sound(given.seed))):
        folder = given.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        for one in programs:
            (folder / f"{one.name}.py").write_text(one.text)
        print(f"{len(programs)} programs in {folder}")


if __name__ == "__main__":
    main()
