"""Random programs over arrays that lie anyhow on meshes, against NumPy's arrays in one memory."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers import thorough

import hybridnet as hn
from hybridnet import autograd, nd
from hybridnet.parallel import Split, broadcast, split

# (XLA is wrong on meshes of three axes, see test_many_axes.)
MESHES = hn.Mesh({"data": 8}), hn.Mesh({"data": 4, "model": 2}), hn.Mesh({"a": 2, "b": 4})
SHAPES = ((8,), (16, 8), (8, 16), (4, 8, 8), (3, 8), (5,), (8, 1))
UNARY: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "tanh": (nd.tanh, np.tanh),
    "square": (nd.square, np.square),
    "negative": (nd.negative, np.negative),
    "flip": (lambda x: nd.flip(x, axis=0), lambda x: np.flip(x, 0)),
    "cumsum": (lambda x: nd.cumsum(x, axis=0), lambda x: np.cumsum(x, 0)),
    "sorted": (lambda x: nd.sort(x, axis=-1), lambda x: np.sort(x, -1)),
    "transpose": (lambda x: x.T, lambda x: x.T),
    "flat": (lambda x: x.reshape((-1,)), lambda x: x.reshape(-1)),
    "sum": (lambda x: x.sum(axis=0, keepdims=True), lambda x: x.sum(0, keepdims=True)),
    "max": (lambda x: x.max(axis=-1, keepdims=True), lambda x: x.max(-1, keepdims=True)),
    "part": (lambda x: x[1:], lambda x: x[1:]),
}


class Program:
    """Arrays on a mesh beside NumPy's, and steps that change both."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.mesh = self.chance.choice(MESHES)
        self.numbers = np.random.default_rng(seed)
        self.pairs: list[tuple[nd.NDArray, np.ndarray[Any, Any]]] = []
        self.said: list[str] = []

    def placement(self, shape: tuple[int, ...]) -> dict[str, Split]:
        """Returns a placement that an array of this shape can have."""
        left, found = list(shape), {}
        for name, size in self.mesh.axes.items():
            fits = [axis for axis, length in enumerate(left) if length and length % size == 0]
            if fits and self.chance.random() < 0.7:
                axis = self.chance.choice(fits)
                left[axis] //= size
                found[name] = split(axis)
            else:
                found[name] = broadcast
        return found

    def keep(self, said: str, ours: nd.NDArray, theirs: np.ndarray[Any, Any]) -> None:
        """Adds a result."""
        if theirs.size and np.isfinite(theirs).all() and np.abs(theirs).max() < 1e6:
            self.said.append(f"{said} -> {len(self.pairs)}")
            self.pairs.append((ours, theirs))

    def make(self) -> None:
        """A new array, lying anyhow."""
        shape = self.chance.choice(SHAPES)
        host = self.numbers.standard_normal(shape)
        lies = self.placement(shape)
        made = nd.array(host, ctx=self.mesh, dtype="float64", placement=lies)
        self.keep(f"make {shape} {lies}", made, host.copy())

    def step(self) -> None:
        """One step, of any kind."""
        which = self.chance.randrange(len(self.pairs))
        ours, theirs = self.pairs[which]
        other = self.chance.randrange(len(self.pairs))
        more, mores = self.pairs[other]
        kind = self.chance.choice(("unary", "unary", "binary", "dot", "place", "place", "change"))
        if kind == "unary":
            name = self.chance.choice(sorted(UNARY))
            mine, numpys = UNARY[name]
            self.keep(f"{name} {which}", mine(ours), numpys(theirs))
        elif kind == "binary" and theirs.shape == mores.shape:
            self.keep(f"{which} * {other} - 1", ours * more - 1, theirs * mores - 1)
        elif kind == "dot" and theirs.ndim == mores.ndim == 2 and theirs.shape[1] == mores.shape[0]:
            self.keep(f"{which} @ {other}", nd.dot(ours, more), theirs @ mores)
        elif kind == "place":
            lies = self.placement(theirs.shape)
            placed = ours.to_placement(lies)
            assert placed.placement == lies
            self.keep(f"place {which} {lies}", placed, theirs.copy())
        elif kind == "change":
            lies = ours.placement
            ours *= 0.5
            ours[0] = 1
            theirs = theirs * 0.5
            theirs[0] = 1
            assert ours.placement == lies
            self.said.append(f"change {which}")
            # Of views and their arrays NumPy's are copies here: the old pairs are worth nothing.
            self.pairs = [(nd.array(ours.asnumpy(), ctx=self.mesh, dtype="float64"), theirs)]


def check(seed: int) -> None:
    program = Program(seed)
    for _ in range(3):
        program.make()
    for _ in range(8):
        program.step()
        if program.chance.random() < 0.3:
            program.make()
    for ours, theirs in program.pairs:
        np.testing.assert_allclose(
            ours.asnumpy(), theirs, rtol=1e-9, atol=1e-9, err_msg="\n".join(program.said)
        )


@pytest.mark.slow
@pytest.mark.parametrize("block", range(2))
def test_they_give_what_numpy_gives(block):
    for seed in range(block, block + 2 * thorough(2500, 6), 2):
        check(seed)


def test_gradients_are_those_of_one_device():
    for seed in range(thorough(200, 4)):
        program = Program(seed)
        host = program.numbers.standard_normal((8, 8))
        found = []
        for place in (hn.cpu(), program.mesh):
            x = nd.array(host, ctx=place, dtype="float64")
            if place is program.mesh:
                x = x.to_placement(program.placement((8, 8)))
            x.attach_grad()
            with autograd.record():
                y = nd.tanh(nd.dot(x, x.T) * 0.1)
                if place is program.mesh:
                    y = y.to_placement(program.placement((8, 8)))
                loss = (nd.softmax(y).sum(axis=0) ** 2).sum()
            loss.backward()
            found.append(x.grad.asnumpy())
        np.testing.assert_allclose(found[1], found[0], rtol=1e-9, atol=1e-12)
