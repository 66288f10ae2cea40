"""Learning rates, against those MXNet 1.9.1 gave (`oracle/make_optimizer.py`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from places import ORACLE

from hybridnet import autograd, gluon, lr_scheduler, optimizer
from hybridnet.base.errors import ParameterError

ANSWERS = json.loads((ORACLE / "optimizer.json").read_text())


@pytest.mark.parametrize("case", ANSWERS["schedulers"], ids=lambda c: c["kind"])
def test_rates_are_mxnets(case: dict[str, Any]) -> None:
    scheduler = getattr(lr_scheduler, case["kind"])(**case["arguments"])
    assert [scheduler(n) for n in range(13)] == pytest.approx(case["rates"], rel=1e-12, abs=1e-15)


def test_a_factor_scheduler_catches_up_after_skipped_updates() -> None:
    scheduler = lr_scheduler.FactorScheduler(3, 0.5, base_lr=0.8)
    assert scheduler(10) == 0.1  # after 3, 6 and 9
    assert scheduler(1) == 0.1  # forward only, as in MXNet


@pytest.mark.parametrize("kind", ["PolyScheduler", "CosineScheduler"])
def test_a_decay_that_is_asked_only_after_its_end_is_at_its_end(kind: str) -> None:
    scheduler = getattr(lr_scheduler, kind)(10, base_lr=0.1, final_lr=0.01)
    assert scheduler(1000) == 0.01


@pytest.mark.parametrize("kind", ["PolyScheduler", "CosineScheduler"])
def test_a_warmup_as_long_as_the_schedule_divides_by_nothing(kind: str) -> None:
    scheduler = getattr(lr_scheduler, kind)(4, base_lr=0.1, final_lr=0.02, warmup_steps=4)
    assert [scheduler(n) for n in (0, 2, 4)] == pytest.approx([0.0, 0.05, 0.02])


def test_a_subclass_defines_the_rate_and_has_the_warmup() -> None:
    class Step(lr_scheduler.LRScheduler):
        def __call__(self, num_update: int) -> float:
            return self.get_warmup_lr(num_update) if num_update < self.warmup_steps else 7.0

    scheduler = Step(base_lr=1.0, warmup_steps=2)
    assert [scheduler(n) for n in range(3)] == [0.0, 0.5, 7.0]
    with pytest.raises(ParameterError, match="num_update must be below warmup_steps"):
        scheduler.get_warmup_lr(2)
    with pytest.raises(NotImplementedError, match="must define __call__"):
        lr_scheduler.LRScheduler()(1)


@pytest.mark.parametrize(
    ("kind", "arguments", "message"),
    [
        ("LRScheduler", {"warmup_steps": -1}, "warmup_steps must be an integer >= 0, got -1"),
        ("LRScheduler", {"warmup_steps": 1.5}, "warmup_steps must be an integer"),
        ("LRScheduler", {"warmup_begin_lr": 3.0}, r"at most base_lr \(0.01\), got 3.0"),
        ("LRScheduler", {"warmup_mode": "slow"}, "'linear' or 'constant', got 'slow'"),
        ("FactorScheduler", {"step": 0}, "step must be an integer >= 1, got 0"),
        ("FactorScheduler", {"step": 2, "factor": 2.0}, "factor must be at most 1"),
        ("MultiFactorScheduler", {"step": [3, 2]}, "increasing integers"),
        ("MultiFactorScheduler", {"step": [0, 2]}, "increasing integers"),
        ("MultiFactorScheduler", {"step": []}, "increasing integers"),
        ("MultiFactorScheduler", {"step": 3}, "increasing integers"),
        ("MultiFactorScheduler", {"step": [1], "factor": 2.0}, "factor must be at most 1"),
        ("PolyScheduler", {"max_update": 0}, "max_update must be an integer >= 1, got 0"),
        ("CosineScheduler", {"max_update": 2.5}, "max_update must be an integer"),
    ],
)
def test_wrong_arguments_are_named(kind: str, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message) as caught:
        getattr(lr_scheduler, kind)(**arguments)
    assert str(caught.value).startswith(f"{kind}: ")


class SquareRoot:
    """The first scheduler of the lr-scheduler chapter of "Dive into Deep Learning"."""

    def __init__(self, lr: float) -> None:
        self.lr = lr

    def __call__(self, num_update: int) -> float:
        return self.lr * float((num_update + 1.0) ** -0.5)


@pytest.mark.parametrize("scheduler", [SquareRoot(0.5), lambda n: 0.5 * (n + 1.0) ** -0.5])
def test_whatever_can_be_called_is_a_scheduler(scheduler: Any, tmp_path: Path) -> None:
    param = gluon.Parameter("w_weight", shape=(2,))
    param.initialize("ones")
    trainer = gluon.Trainer([param], "sgd", {"lr_scheduler": scheduler})
    assert trainer.learning_rate == 0.5
    for _ in range(3):
        with autograd.record():
            loss = param.data().sum()
        loss.backward()
        trainer.step(1)
    wanted = 1 - sum(0.5 * (n + 1.0) ** -0.5 for n in (1, 2, 3))
    np.testing.assert_allclose(param.data().asnumpy(), wanted, rtol=1e-6)
    trainer.save_states(tmp_path / "states")
    again = gluon.Trainer([param], "sgd", {"lr_scheduler": scheduler})
    again.load_states(tmp_path / "states")
    assert again.learning_rate == trainer.learning_rate == 0.25


def test_a_scheduler_may_wait_for_the_learning_rate_of_its_optimizer(recwarn: Any) -> None:
    """By a base_lr of None, as Sockeye's schedulers do."""
    scheduler = SquareRoot(0.5)
    scheduler.base_lr = None  # type: ignore[attr-defined]
    made = optimizer.create("sgd", learning_rate=0.1, lr_scheduler=scheduler)
    assert (made.lr, scheduler.base_lr) == (0.1, 0.1)  # type: ignore[attr-defined]
    assert not recwarn


def test_a_learning_rate_needs_a_base_lr_to_overwrite() -> None:
    with pytest.raises(ParameterError, match="requires a base_lr.*leave learning_rate out"):
        optimizer.create("sgd", learning_rate=0.1, lr_scheduler=SquareRoot(0.5))
