"""Works of code that runs once (``once.py``), in PyTorch: the same work, line by line.

Each takes the library, and the time before its import, and returns the seconds of what it measured.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from works.once import SENTENCES, Seconds

__all__ = ["WORKS"]


def first_operator(torch: Any, started: float) -> Seconds:
    """From before the import until the first result is printed."""
    print((torch.ones((2, 3)) * 2 + 1).numpy(), file=sys.stderr)
    return {"import and first operator": time.perf_counter() - started}


def operators(torch: Any, _: float) -> Seconds:
    """Ten ordinary operators, on shapes that never come again."""
    draw = np.random.RandomState(0)
    times = []
    for number in range(200):
        rows, columns = 3 + number % 97, 4 + number % 89 + number // 97
        data = draw.rand(rows, columns).astype("float32")
        started = time.perf_counter()
        x = torch.tensor(data)
        y = torch.tanh(x @ x.T)
        z = torch.softmax(y, -1)
        z.sum(dim=1)
        both = torch.cat([y, z], dim=1).T
        both[:2, :2].mean().item()
        times.append(time.perf_counter() - started)
    return {"ten operators, new shapes": statistics.median(times[5:])}


def gradients(torch: Any, _: float) -> Seconds:
    """The same with a gradient, also on shapes that never come again."""
    draw = np.random.RandomState(0)
    times = []
    for number in range(100):
        rows, columns = 3 + number % 97, 4 + number % 89
        data = draw.rand(rows, columns).astype("float32")
        started = time.perf_counter()
        x = torch.tensor(data, requires_grad=True)
        y = torch.softmax(torch.relu(x - 0.5) @ x.T, -1).amax(dim=1).sum()
        y.backward()
        x.grad.numpy()
        times.append(time.perf_counter() - started)
    return {"six operators and gradients": statistics.median(times[5:])}


def sentences(torch: Any, _: float) -> Seconds:
    """An LSTM cell in a loop over the words of sentences of 5 to 60, trained."""
    nn, hidden, draw = torch.nn, 64, np.random.RandomState(0)

    class Cell(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(100, 32)
            self.inner = nn.Linear(32, 4 * hidden)
            self.outer = nn.Linear(hidden, 4 * hidden)
            self.last = nn.Linear(hidden, 100)

        def forward(self, sentence: Any) -> Any:
            h = c = torch.zeros((sentence.shape[0], hidden))
            words = self.words(sentence)
            for t in range(sentence.shape[1]):
                gates = self.inner(words[:, t]) + self.outer(h)
                i, f, g, o = torch.chunk(gates, 4, dim=1)
                c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
                h = torch.sigmoid(o) * torch.tanh(c)
            return self.last(h)

    net = Cell()
    trainer = torch.optim.SGD(net.parameters(), lr=0.1)
    loss = nn.CrossEntropyLoss()
    started = time.perf_counter()
    for _number in range(SENTENCES):
        length = draw.randint(5, 61)
        x = torch.tensor(draw.randint(0, 100, (16, length)))
        y = torch.tensor(draw.randint(0, 100, 16))
        trainer.zero_grad()
        cost = loss(net(x), y)
        cost.backward()
        trainer.step()
        cost.item()
    return {"LSTM cells, a sentence": (time.perf_counter() - started) / SENTENCES}


def trees(torch: Any, _: float) -> Seconds:
    """A recursion over trees, each another one, with gradients."""
    draw = np.random.RandomState(0)
    weight = torch.tensor(draw.rand(64, 32).astype("float32") - 0.5, requires_grad=True)

    def value(depth: int) -> Any:
        if depth == 0 or (depth < 5 and draw.rand() < 0.2):
            return torch.tensor(draw.rand(1, 32).astype("float32"))
        return torch.tanh(torch.cat([value(depth - 1), value(depth - 1)], dim=1) @ weight)

    started = time.perf_counter()
    for _number in range(50):
        weight.grad = None
        value(5).sum().backward()
        weight.grad.numpy()
    return {"trees, each": (time.perf_counter() - started) / 50}


def notebook(torch: Any, _: float) -> Seconds:
    """A session: sixty operators, each once and on a shape of its own, half with gradients."""
    draw, nnf = np.random.RandomState(0), torch.nn.functional

    def some(*shape: int) -> Any:
        return torch.tensor(draw.uniform(0.2, 0.9, shape).astype("float32"))

    def of(*functions: Any) -> list[Callable[[int], tuple[Any, Any]]]:
        return [lambda n, function=function: (function, [some(n, n + 1)]) for function in functions]

    # Each takes a number, by which its shapes are new, and gives a function and its inputs.
    smooth = [
        *of(torch.exp, torch.log, torch.sqrt, torch.tanh, torch.sigmoid, torch.square, torch.relu),
        *of(lambda x: torch.softmax(x, -1), lambda x: torch.log_softmax(x, -1)),
        *of(torch.sum, torch.mean, torch.max, torch.norm, torch.arctan),
        *of(lambda x: x ** (1 / 3), torch.erf, nnf.softsign),
        lambda n: (torch.mm, [some(n, 7), some(7, n)]),
        lambda n: (torch.bmm, [some(3, n, 4), some(3, 4, n)]),
        lambda n: (torch.add, [some(n, 1), some(1, n)]),
        lambda n: (torch.mul, [some(n, 5), some(1, 5)]),
        lambda n: (torch.sub, [some(n, 3), some(n, 3)]),
        lambda n: (lambda *x: torch.cat(x, dim=1), [some(n, 2), some(n, 3)]),
        lambda n: (lambda *x: torch.stack(x, dim=1), [some(n, 2), some(n, 2)]),
        lambda n: (lambda x: x.permute(1, 0, 2), [some(n, 2, 3)]),
        lambda n: (lambda x: x.reshape((-1, 2)), [some(n, 4)]),
        lambda n: (lambda x: x[1:, ::2], [some(n, 6)]),
        lambda n: (lambda x: torch.index_select(x, 0, torch.tensor([0, 2, 1])), [some(n, 4)]),
        lambda n: (nnf.linear, [some(n, 8), some(5, 8), some(5)]),
        lambda n: (nnf.conv2d, [some(2, 3, n, n), some(4, 3, 3, 3), some(4)]),
        lambda n: (lambda x: nnf.max_pool2d(x, 2, 2), [some(2, 3, n, n)]),
        lambda n: (lambda x, g, b: nnf.layer_norm(x, (n,), g, b), [some(4, n), some(n), some(n)]),
    ]  # fmt: skip
    plain = [
        *of(torch.sign, torch.floor, torch.ceil, torch.round),
        *of(lambda x: torch.argmax(x, -1), lambda x: torch.argmin(x, -1), torch.argsort),
        *of(lambda x: torch.sort(x)[0], torch.rad2deg, torch.zeros_like, torch.ones_like),
        *of(lambda x: torch.tensor(x.shape), torch.prod, torch.min, torch.log1p, torch.expm1),
        *of(torch.rsqrt),
        lambda n: (lambda x: torch.topk(x, 2)[1], [some(n, 5)]),
        lambda n: (lambda x: nnf.one_hot(x.long(), 6), [some(n)]),
        lambda n: (lambda x: torch.clip(x, 0.3, 0.6), [some(n, 3)]),
        lambda n: (lambda x: torch.tile(x, (2, 3)), [some(n, 2)]),
        lambda n: (lambda x: torch.repeat_interleave(x, 3, dim=1), [some(n, 2)]),
        lambda n: (lambda x: torch.flip(x, (1,)), [some(n, 3)]),
        lambda n: (lambda x: torch.unsqueeze(x, 1), [some(n, 3)]),
        lambda n: (lambda x: nnf.pad(x, (2, 2, 1, 1)), [some(1, 2, n, 3)]),
        lambda n: (lambda x, y: torch.where(x > y, x, y), [some(n, 3), some(n, 3)]),
        lambda n: (torch.diag, [some(n, n)]),
        lambda n: (lambda x: torch.linalg.cholesky(x @ x.T + torch.eye(n)), [some(n, n)]),
    ]  # fmt: skip
    started = time.perf_counter()
    for number, make in enumerate(smooth):
        function, inputs = make(8 + number)
        for x in inputs:
            x.requires_grad_()
        # MXNet sums over a result that is no number by itself.
        function(*inputs).sum().backward()
        inputs[0].grad.numpy()
    for number, make in enumerate(plain):
        function, inputs = make(11 + number)
        function(*inputs).numpy()
    assert len(smooth) + len(plain) >= 60
    return {"a notebook of 60 operators": time.perf_counter() - started}


def _steps(torch: Any, net: Any, batches: Any, name: str) -> Seconds:
    """Trains on batches in turn, with the loss read; the first step, and twenty of them."""
    started = time.perf_counter()
    for weight in net.parameters():
        if weight.dim() > 1:
            torch.nn.init.xavier_uniform_(weight)
    trainer = torch.optim.SGD(net.parameters(), lr=0.05)
    loss = torch.nn.CrossEntropyLoss()
    first = 0.0
    for number in range(20):
        x, y = batches[number % len(batches)]
        trainer.zero_grad()
        scores = net(x)
        cost = loss(scores.flatten(0, -2), y.flatten())
        cost.backward()
        trainer.step()
        cost.item()
        first = first or time.perf_counter() - started
    return {f"{name}, first step": first, f"{name}, 20 steps": time.perf_counter() - started}


def resnet(torch: Any, _: float) -> Seconds:
    """ResNet-18 on 32x32 images, batches in turn, the loss read."""
    nn, draw = torch.nn, np.random.RandomState(0)

    class Residual(nn.Module):  # type: ignore[misc]
        def __init__(self, channels: int, stride: int, before: int) -> None:
            super().__init__()
            self.body = nn.Sequential(
                nn.Conv2d(before, channels, 3, stride, 1, bias=False),
                nn.BatchNorm2d(channels),
                nn.ReLU(),
                nn.Conv2d(channels, channels, 3, 1, 1, bias=False),
                nn.BatchNorm2d(channels),
            )
            self.down = nn.Identity()
            if stride != 1 or before != channels:
                self.down = nn.Sequential(
                    nn.Conv2d(before, channels, 1, stride, bias=False), nn.BatchNorm2d(channels)
                )

        def forward(self, x: Any) -> Any:
            return torch.relu(self.body(x) + self.down(x))

    layers, before = [nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU()], 64
    for channels, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        layers += [Residual(channels, stride, before), Residual(channels, 1, channels)]
        before = channels
    net = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))
    batches = [
        (
            torch.tensor(draw.rand(32, 3, 32, 32).astype("float32")),
            torch.tensor(draw.randint(0, 10, 32)),
        )
        for _ in range(4)
    ]
    return _steps(torch, net, batches, "ResNet-18")


def transformer(torch: Any, _: float) -> Seconds:
    """An encoder of four layers (Vaswani et al., 2017) that predicts a word at each place."""
    nn, draw = torch.nn, np.random.RandomState(0)
    units, heads, words = 128, 4, 1000

    class Layer(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.query, self.key, self.value, self.out = (nn.Linear(units, units) for _ in range(4))
            self.wide, self.narrow = nn.Linear(units, 4 * units), nn.Linear(4 * units, units)
            self.first, self.second = nn.LayerNorm(units), nn.LayerNorm(units)

        def forward(self, x: Any) -> Any:
            batch, length, _units = x.shape

            def of_heads(y: Any) -> Any:
                split = y.reshape(batch, length, heads, -1).permute(0, 2, 1, 3)
                return split.reshape(batch * heads, length, -1)

            query, key, value = map(of_heads, (self.query(x), self.key(x), self.value(x)))
            scores = torch.bmm(query, key.transpose(1, 2)) / (units // heads) ** 0.5
            seen = torch.bmm(torch.softmax(scores, -1), value).reshape(batch, heads, length, -1)
            seen = seen.permute(0, 2, 1, 3).reshape(batch, length, units)
            x = self.first(x + self.out(seen))
            return self.second(x + self.narrow(torch.relu(self.wide(x))))

    net = nn.Sequential(
        nn.Embedding(words, units), *(Layer() for _ in range(4)), nn.Linear(units, words)
    )
    batches = [
        tuple(torch.tensor(draw.randint(0, words, (16, 32))) for _ in range(2)) for _ in range(4)
    ]
    return _steps(torch, net, batches, "transformer")


def language_model(torch: Any, _: float) -> Seconds:
    """Two LSTM layers over 35 words at a time (Zaremba et al., 2014, small)."""
    nn, draw = torch.nn, np.random.RandomState(0)
    units, words, length, batch = 200, 2000, 35, 20

    class Model(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(words, units)
            self.layers = nn.LSTM(units, units, num_layers=2)
            self.last = nn.Linear(units, words)

        def forward(self, sentences: Any) -> Any:
            h, _ = self.layers(self.words(sentences).transpose(0, 1))
            return self.last(h).transpose(0, 1)

    batches = [
        tuple(torch.tensor(draw.randint(0, words, (batch, length))) for _ in range(2))
        for _ in range(4)
    ]
    return _steps(torch, Model(), batches, "language model")


#: PyTorch by itself has no suppression of boxes: it is torchvision's, which has no row here.
WORKS: dict[str, Callable[[Any, float], Seconds]] = {
    "import": first_operator,
    "operators": operators,
    "gradients": gradients,
    "sentences": sentences,
    "trees": trees,
    "notebook": notebook,
    "resnet": resnet,
    "transformer": transformer,
    "language-model": language_model,
}
