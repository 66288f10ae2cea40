"""The same programs for PyTorch, as somebody who uses PyTorch would write them."""

from __future__ import annotations

from skeletons import Skeleton

_FUNCTION = """
import torch


def $g(v):
    return $FILL


def $f($x):
    $before
    $CULPRIT
    $after
    return $y


$data = (torch.arange(1, $N + 1) / ($N + 1)).reshape($R, $C)
for $turn in range($T):
    $data = $g($data)
    if $turn == $BAD:
        $data = $f($data)
results = [$data.tolist()]
"""
_NET = """
import torch


class $Net(torch.nn.Module):
    def forward(self, $x):
        $before
        $CULPRIT
        $after
        return $y


torch.manual_seed($SEED)
layers = [torch.nn.Linear($C, $C), torch.nn.Sigmoid()]
$layers_before
layers.append($Net())
$layers_after
layers.append(torch.nn.Linear($C, $C))
$net = torch.nn.Sequential(*layers)
$data = (torch.arange(1, $N + 1) / ($N + 1)).reshape($R, $C)
"""
_BRANCH = """
import torch


def $g($x):
    $CULPRIT
    return $y


def $f(v, limit):
    for $turn in range($T):
        if $turn < limit:
            v = $FILL
        else:
            v = torch.sigmoid($g(v))
    return v


$data = (torch.arange(1, $N + 1) / ($N + 1)).reshape($R, $C)
results = [$f($data, $BAD).tolist()]
"""
_OWN = """
import torch


class $Own(torch.autograd.Function):
    @staticmethod
    def forward(ctx, $x):
        FORWARD

    @staticmethod
    def backward(ctx, dy):
        BACKWARD


$w = (torch.arange(1, $N + 1) / ($N + 1)).reshape($R, $C).requires_grad_()
$loss = torch.mean($Own.apply($w * 0.9) ** 2)
$loss.backward()
results = [$loss.item(), $w.grad.tolist()]
"""

TORCH = {
    one.name: one
    for one in (
        Skeleton("loop", "nd", _FUNCTION, "torch"),
        Skeleton("function", "nd", _FUNCTION, "torch"),
        Skeleton("jitted", "function", _FUNCTION, "torch"),
        Skeleton(
            "lambdas",
            "nd",
            """
import torch

$data = (torch.arange(1, $N + 1) / ($N + 1)).reshape($R, $C)
ways = []
ways.append(lambda v: $FILL)
ways.append(lambda $x: $EXPR)  # !
ways.append(lambda v: torch.sigmoid(v))
for way in ways:
    $data = way($data)
results = [$data.tolist()]
""",
            "torch",
        ),
        Skeleton(
            "comprehension",
            "nd",
            """
import torch


def $g(v):
    return $FILL


rows = (torch.arange(1, $N + 1) / ($N + 1)).reshape($R, $C)
batches = [$g(rows), rows, $g($g(rows))]
parts = [$EXPR for $x in batches]  # !
results = [sum(parts).tolist()]
""",
            "torch",
        ),
        Skeleton(
            "by_hand",
            "nd",
            """
import torch


def $f($w, v):
    $x = $w * 0.5 + v * 0.1
    $before
    $CULPRIT
    $after
    return torch.mean($y * $y)


$w = (torch.arange(1, $N + 1) / ($N + 1)).reshape($R, $C).requires_grad_()
for $turn in range($T):
    $loss = $f($w, torch.ones($R, $C) * 0.5)
    $loss.backward()
    with torch.no_grad():
        $w -= 0.001 * $w.grad
        $w.grad = None
results = [$w.tolist(), $loss.item()]
""",
            "torch",
            trains=True,
        ),
        Skeleton("module", "gluon", _NET + "results = [$net($data).tolist()]\n", "torch"),
        Skeleton(
            "training",
            "gluon",
            _NET
            + """
trainer = torch.optim.SGD($net.parameters(), lr=0.01)
for $turn in range($T):
    trainer.zero_grad()
    $loss = torch.nn.functional.mse_loss($net($data), torch.zeros($R, $C))
    $loss.backward()
    trainer.step()
results = [$loss.item()]
""",
            "torch",
            trains=True,
        ),
        Skeleton("while_loop", "control flow", _BRANCH, "torch"),
        Skeleton("cond", "control flow", _BRANCH, "torch"),
        Skeleton("scan", "control flow", _FUNCTION, "torch"),
        Skeleton(
            "own_function",
            "operators in Python",
            _OWN.replace("FORWARD", "$before\n        $CULPRIT\n        return $y").replace(
                "BACKWARD", "return dy * 0.5"
            ),
            "torch",
        ),
        Skeleton(
            "own_backward",
            "operators in Python",
            _OWN.replace("FORWARD", "ctx.save_for_backward($x)\n        return $x * 2").replace(
                "BACKWARD", "($x,) = ctx.saved_tensors\n        $CULPRIT\n        return dy * $y"
            ),
            "torch",
        ),
        Skeleton(
            "dataset",
            "data",
            """
import torch


class $Net(torch.utils.data.Dataset):
    def __len__(self):
        return 2 * $T

    def __getitem__(self, index):
        $x = (torch.arange(1, $N + 1) / ($N + 1)).reshape($R, $C)
        if index == $BAD:
            $CULPRIT
            return torch.tanh($y)
        return torch.tanh($x)


total = torch.zeros($R, $C)
for batch in torch.utils.data.DataLoader($Net(), batch_size=2, num_workers=$WORKERS):
    total = total + batch.sum(dim=0)  #$SEEN
results = [total.tolist()]
""",
            "torch",
            alone=True,
        ),
    )
}
