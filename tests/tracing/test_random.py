"""Random eager programs, run in pieces as traced functions, against NumPy.

The pieces read and change arrays from outside, return views of them, and train; the programs come
from `eager_maker`, the reference from `eager_runs`.
"""

from __future__ import annotations

import random

import pytest
from eager_maker import make_program
from eager_runs import Env, Outcome, apply_ours, compare, run_reference, run_steps
from helpers import thorough

import hybridnet as hn
from hybridnet import autograd

# What a traced function cannot do: read values, wait, and leave the device or the thread; and what
# is checked elsewhere.
UNTRACEABLE = {"read", "mark", "wait", "bad", "poison", "antidote", "elsewhere", "cycles"}


def traceable(steps):
    """The steps without what a traced function cannot do."""
    kept = []
    for step in steps:
        kind, *rest = step
        if kind in UNTRACEABLE:
            continue
        if kind == "travel":
            step = ("scalar", rest[0], "+", rest[1], 0)
        elif kind == "offload":
            tanh = f"tanh of {rest[0]}"
            kept.append(("unary", tanh, "tanh", rest[1]))
            kept.append(("binary", rest[0], "+", tanh, rest[1]))
            step = ("drop", tanh)
        elif kind == "train":
            leaf, body, *others, _ = rest
            step = ("train", leaf, traceable(body), *others, "plain")
        elif kind == "loop":
            step = ("loop", rest[0], traceable(rest[1]))
        elif kind == "sometimes" and rest[1][0] in UNTRACEABLE:
            continue
        kept.append(step)
    return kept


def made(inner, env):
    """What a piece has made."""
    return {name: one for name, one in inner.items() if env.get(name) is not one}


def run_piece(steps, env):
    @hn.function
    def piece():
        inner = env.fork(0)
        run_steps(steps, inner, [], apply_ours, None)
        return made(inner, env), [name for name in env if name not in inner]

    new, dropped = piece()
    for name in dropped:
        del env[name]
    env.update(new)


def train_inside(step, env):
    """Forward and backward are one function, called several times."""
    _, leaf, body, head, grad, req, times, _ = step
    env[leaf].attach_grad(req)

    @hn.function
    def round_():
        scratch = env.fork(0)
        with autograd.record():
            run_steps(body, scratch, [], apply_ours, None)
        scratch[head].backward()
        return {name: one.detach() for name, one in made(scratch, env).items()}

    for _ in range(times):
        new = round_()
    assert round_.cache_info().traces == 1
    env.update(new)
    env[grad] = env[leaf].grad.tanh()


def train_outside(step, env):
    """Forward is a function, differentiated by its caller."""
    _, leaf, body, head, grad, req, times, _ = step
    env[leaf].attach_grad(req)

    @hn.function
    def forward():
        scratch = env.fork(0)
        run_steps(body, scratch, [], apply_ours, None)
        return made(scratch, env)

    for _ in range(times):
        with autograd.record():
            new = forward()
        new[head].backward()
    assert forward.cache_info().traces == 1
    env.update({name: one.detach() for name, one in new.items()})
    env[grad] = env[leaf].grad.tanh()


def run_traced(program, seed):
    rng = random.Random(seed)
    env, piece = Env(), []
    for step in program.steps:
        if step[0] == "train" or len(piece) == 5:
            run_piece(piece, env)
            piece = []
        if step[0] == "train":
            rng.choice([train_inside, train_outside])(step, env)
        else:
            piece.append(step)
    run_piece(piece, env)
    return Outcome([env[name].asnumpy() for name in program.arrays], env)


def check(seed):
    program = make_program(seed, draws=False)
    program.steps = traceable(program.steps)
    program.repeats = True
    compare(run_traced(program, seed), run_reference(program, {}), program)


@pytest.mark.parametrize("seed", range(8))
def test_random_programs(seed):
    check(seed)


@pytest.mark.slow
def test_more_random_programs():
    for seed in range(100, 100 + thorough(1000, 8)):
        check(seed)
