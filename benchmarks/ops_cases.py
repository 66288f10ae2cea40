"""Cases of `ops.py`: an operator in hybridnet, in plain JAX, and in PyTorch, on typical sizes."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

if importlib.util.find_spec("torch"):
    import torch
    import torch.nn.functional as F
else:
    torch = F = None

Make = Callable[[np.random.Generator], np.ndarray[Any, Any]]


@dataclass(frozen=True)
class Case:
    """An operator on typical sizes.

    Attributes:
        name: MXNet's name of the operator.
        inputs: make the arrays; those of float32 have gradients.
        hybridnet: of `nd` and the arrays.
        jax: of the arrays.
        torch: likewise; None where PyTorch has nothing like it or is not installed.
        gradient: whether there is one.
    """

    name: str
    inputs: tuple[Make, ...]
    hybridnet: Callable[..., Any]
    jax: Callable[..., Any]
    torch: Callable[..., Any] | None = None
    gradient: bool = True


def floats(*shape: int, low: float = -1.0, high: float = 1.0) -> Make:
    """Random numbers."""
    return lambda random: random.uniform(low, high, shape).astype(np.float32)


def whole(*shape: int, high: int) -> Make:
    """Random whole numbers below a bound."""
    return lambda random: random.integers(0, high, shape).astype(np.int64)


CASES: list[Case] = []


def add(name: str, *inputs: Make, gradient: bool = True, **functions: Any) -> None:
    """Adds a case; `mx`, `jx` and `pt` are the functions, `pt` only read where PyTorch is."""
    pt = functions.get("pt") if torch is not None else None
    CASES.append(Case(name, inputs, functions["mx"], functions["jx"], pt, gradient))


BIG, ROWS = (512, 1024), (256, 4096)
_POSITIVE = {"log", "sqrt", "rsqrt"}

for _name, _jax, _torch in [
    ("exp", jnp.exp, "exp"), ("log", jnp.log, "log"), ("sqrt", jnp.sqrt, "sqrt"),
    ("rsqrt", lax.rsqrt, "rsqrt"), ("square", jnp.square, "square"), ("abs", jnp.abs, "abs"),
    ("tanh", jnp.tanh, "tanh"), ("sigmoid", jax.nn.sigmoid, "sigmoid"),
    ("relu", jax.nn.relu, "relu"), ("sin", jnp.sin, "sin"), ("erf", jax.scipy.special.erf, "erf"),
    ("sign", jnp.sign, "sign"), ("negative", jnp.negative, "neg"),
]:  # fmt: skip
    add(
        _name,
        floats(*BIG, low=0.1 if _name in _POSITIVE else -2.0, high=2.0),
        mx=lambda nd, x, op=_name: getattr(nd, op)(x),
        jx=_jax,
        pt=lambda x, op=_torch: getattr(torch, op)(x),
        gradient=_name != "sign",
    )
add("clip", floats(*BIG), mx=lambda nd, x: nd.clip(x, -0.5, 0.5),
    jx=lambda x: jnp.clip(x, -0.5, 0.5), pt=lambda x: torch.clamp(x, -0.5, 0.5))  # fmt: skip
add("LeakyReLU", floats(*BIG), mx=lambda nd, x: nd.LeakyReLU(x, slope=0.1),
    jx=lambda x: jax.nn.leaky_relu(x, 0.1), pt=lambda x: F.leaky_relu(x, 0.1))  # fmt: skip
add("gelu", floats(*BIG), mx=lambda nd, x: nd.LeakyReLU(x, act_type="gelu"),
    jx=lambda x: jax.nn.gelu(x, approximate=False), pt=lambda x: F.gelu(x))  # fmt: skip
add("cast", floats(*BIG), mx=lambda nd, x: nd.cast(x, "float16"),
    jx=lambda x: x.astype(jnp.float16), pt=lambda x: x.half(), gradient=False)  # fmt: skip

for _name, _function in [
    ("broadcast_add", lambda a, b: a + b), ("broadcast_sub", lambda a, b: a - b),
    ("broadcast_mul", lambda a, b: a * b), ("broadcast_div", lambda a, b: a / b),
    ("broadcast_power", lambda a, b: a**b),
]:  # fmt: skip
    add(
        _name,
        floats(*BIG, low=0.5, high=2),
        floats(1, BIG[1], low=0.5, high=2),
        mx=lambda nd, a, b, op=_name: getattr(nd, op)(a, b),
        jx=_function,
        pt=_function,
    )
add("broadcast_maximum", floats(*BIG), floats(1, BIG[1]),
    mx=lambda nd, a, b: nd.broadcast_maximum(a, b), jx=jnp.maximum,
    pt=lambda a, b: torch.maximum(a, b))  # fmt: skip
add("elemwise_add", floats(*BIG), floats(*BIG), mx=lambda nd, a, b: nd.elemwise_add(a, b),
    jx=lambda a, b: a + b, pt=lambda a, b: a + b)  # fmt: skip
add("add_n", *[floats(*BIG)] * 4, mx=lambda nd, *a: nd.add_n(*a),
    jx=lambda a, b, c, d: a + b + c + d, pt=lambda a, b, c, d: a + b + c + d)  # fmt: skip
add("where", whole(*BIG, high=2), floats(*BIG), floats(*BIG),
    mx=lambda nd, c, a, b: nd.where(c, a, b), jx=lambda c, a, b: jnp.where(c != 0, a, b),
    pt=lambda c, a, b: torch.where(c != 0, a, b))  # fmt: skip
add("broadcast_greater", floats(*BIG), floats(1, BIG[1]),
    mx=lambda nd, a, b: nd.broadcast_greater(a, b), jx=lambda a, b: (a > b).astype(jnp.float32),
    pt=lambda a, b: (a > b).float(), gradient=False)  # fmt: skip

for _name in ("sum", "mean", "max", "min", "prod"):
    add(
        _name,
        floats(*ROWS, low=0.5, high=1.2),
        mx=lambda nd, x, op=_name: getattr(nd, op)(x, axis=1),
        jx=lambda x, op=_name: getattr(jnp, op)(x, axis=1),
        pt={
            "sum": lambda x: x.sum(1), "mean": lambda x: x.mean(1), "prod": lambda x: x.prod(1),
            "max": lambda x: x.amax(1), "min": lambda x: x.amin(1),
        }[_name],
    )  # fmt: skip
add("norm", floats(*ROWS), mx=lambda nd, x: nd.norm(x, axis=1),
    jx=lambda x: jnp.linalg.norm(x, axis=1), pt=lambda x: torch.linalg.norm(x, dim=1))  # fmt: skip
add("argmax", floats(*ROWS), mx=lambda nd, x: nd.argmax(x, axis=1),
    jx=lambda x: jnp.argmax(x, axis=1).astype(jnp.float32), pt=lambda x: x.argmax(1).float(),
    gradient=False)  # fmt: skip
add("cumsum", floats(*ROWS), mx=lambda nd, x: nd.cumsum(x, axis=1),
    jx=lambda x: jnp.cumsum(x, axis=1), pt=lambda x: x.cumsum(1))  # fmt: skip
add("softmax", floats(256, 1000, low=-4, high=4), mx=lambda nd, x: nd.softmax(x),
    jx=jax.nn.softmax, pt=lambda x: F.softmax(x, -1))  # fmt: skip
add("log_softmax", floats(256, 1000, low=-4, high=4), mx=lambda nd, x: nd.log_softmax(x),
    jx=jax.nn.log_softmax, pt=lambda x: F.log_softmax(x, -1))  # fmt: skip
add("sort", floats(64, 4096), mx=lambda nd, x: nd.sort(x), jx=lambda x: jnp.sort(x),
    pt=lambda x: x.sort()[0])  # fmt: skip
add("argsort", floats(64, 4096), mx=lambda nd, x: nd.argsort(x),
    jx=lambda x: jnp.argsort(x).astype(jnp.float32), pt=lambda x: x.argsort().float(),
    gradient=False)  # fmt: skip
add("topk", floats(64, 4096), mx=lambda nd, x: nd.topk(x, k=10, ret_typ="value"),
    jx=lambda x: lax.top_k(x, 10)[0], pt=lambda x: x.topk(10)[0])  # fmt: skip

add("dot", floats(512, 512), floats(512, 512), mx=lambda nd, a, b: nd.dot(a, b), jx=jnp.dot,
    pt=lambda a, b: a @ b)  # fmt: skip
add("batch_dot", floats(32, 128, 128), floats(32, 128, 128),
    mx=lambda nd, a, b: nd.batch_dot(a, b), jx=jnp.matmul, pt=lambda a, b: a @ b)  # fmt: skip
add("FullyConnected", floats(128, 784), floats(512, 784), floats(512),
    mx=lambda nd, x, w, b: nd.FullyConnected(x, w, b, num_hidden=512),
    jx=lambda x, w, b: x @ w.T + b, pt=lambda x, w, b: F.linear(x, w, b))  # fmt: skip


def _jax_convolution(x: Any, w: Any, b: Any) -> Any:
    out = lax.conv_general_dilated(x, w, (1, 1), [(1, 1), (1, 1)])
    return out + b[:, None, None]


def _jax_pool(x: Any, kind: str) -> Any:
    window = (1, 1, 2, 2)
    if kind == "max":
        return lax.reduce_window(x, -jnp.inf, lax.max, window, window, "VALID")
    return lax.reduce_window(x, 0.0, lax.add, window, window, "VALID") / 4


def _jax_normalized(x: Any, axes: tuple[int, ...]) -> Any:
    mean = x.mean(axes, keepdims=True)
    return (x - mean) * lax.rsqrt(((x - mean) ** 2).mean(axes, keepdims=True) + 1e-5)


add("Convolution", floats(16, 32, 28, 28), floats(64, 32, 3, 3), floats(64),
    mx=lambda nd, x, w, b: nd.Convolution(x, w, b, kernel=(3, 3), pad=(1, 1), num_filter=64),
    jx=_jax_convolution, pt=lambda x, w, b: F.conv2d(x, w, b, padding=1))  # fmt: skip
add("Deconvolution", floats(8, 32, 14, 14), floats(32, 16, 2, 2),
    mx=lambda nd, x, w: nd.Deconvolution(x, w, kernel=(2, 2), stride=(2, 2), num_filter=16),
    jx=lambda x, w: lax.conv_transpose(x, w, (2, 2), "VALID", transpose_kernel=True,
                                       dimension_numbers=("NCHW", "OIHW", "NCHW")),
    pt=lambda x, w: F.conv_transpose2d(x, w, stride=2))  # fmt: skip
add("Pooling max", floats(16, 32, 56, 56),
    mx=lambda nd, x: nd.Pooling(x, kernel=(2, 2), stride=(2, 2)),
    jx=lambda x: _jax_pool(x, "max"), pt=lambda x: F.max_pool2d(x, 2))  # fmt: skip
add("Pooling avg", floats(16, 32, 56, 56),
    mx=lambda nd, x: nd.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="avg"),
    jx=lambda x: _jax_pool(x, "avg"), pt=lambda x: F.avg_pool2d(x, 2))  # fmt: skip
add("LayerNorm", floats(512, 768), floats(768), floats(768),
    mx=lambda nd, x, g, b: nd.LayerNorm(x, g, b),
    jx=lambda x, g, b: _jax_normalized(x, (1,)) * g + b,
    pt=lambda x, g, b: F.layer_norm(x, (768,), g, b))  # fmt: skip
add("InstanceNorm", floats(16, 32, 28, 28), floats(32), floats(32),
    mx=lambda nd, x, g, b: nd.InstanceNorm(x, g, b),
    jx=lambda x, g, b: _jax_normalized(x, (2, 3)) * g[:, None, None] + b[:, None, None],
    pt=lambda x, g, b: F.instance_norm(x, weight=g, bias=b))  # fmt: skip
add("L2Normalization", floats(256, 1024), mx=lambda nd, x: nd.L2Normalization(x),
    jx=lambda x: x / jnp.sqrt((x * x).sum(1, keepdims=True) + 1e-10),
    pt=lambda x: F.normalize(x))  # fmt: skip
add("SoftmaxOutput", floats(256, 1000), whole(256, high=1000),
    mx=lambda nd, x, y: nd.SoftmaxOutput(x, y.astype("float32")), jx=lambda x, y: jax.nn.softmax(x),
    pt=lambda x, y: F.softmax(x, -1), gradient=False)  # fmt: skip

add("Embedding", whole(64, 100, high=10000), floats(10000, 128),
    mx=lambda nd, i, w: nd.Embedding(i, w, input_dim=10000, output_dim=128),
    jx=lambda i, w: jnp.take(w, i, axis=0, mode="clip"),
    pt=lambda i, w: F.embedding(i, w))  # fmt: skip
add("take", floats(10000, 64), whole(4096, high=10000), mx=lambda nd, x, i: nd.take(x, i),
    jx=lambda x, i: jnp.take(x, i, axis=0, mode="clip"), pt=lambda x, i: x[i])  # fmt: skip
add("pick", floats(4096, 100), whole(4096, high=100), mx=lambda nd, x, i: nd.pick(x, i),
    jx=lambda x, i: jnp.take_along_axis(x, i[:, None], 1)[:, 0],
    pt=lambda x, i: x.gather(1, i[:, None])[:, 0])  # fmt: skip
add("gather_nd", floats(512, 512), whole(2, 16384, high=512),
    mx=lambda nd, x, i: nd.gather_nd(x, i), jx=lambda x, i: x[i[0], i[1]],
    pt=lambda x, i: x[i[0], i[1]])  # fmt: skip
add("one_hot", whole(4096, high=256), mx=lambda nd, i: nd.one_hot(i, 256),
    jx=lambda i: jax.nn.one_hot(i, 256), pt=lambda i: F.one_hot(i, 256).float(),
    gradient=False)  # fmt: skip
add("concat", floats(*BIG), floats(*BIG), mx=lambda nd, a, b: nd.concat(a, b, dim=1),
    jx=lambda a, b: jnp.concatenate([a, b], 1), pt=lambda a, b: torch.cat([a, b], 1))  # fmt: skip
add("stack", floats(*BIG), floats(*BIG), mx=lambda nd, a, b: nd.stack(a, b, axis=1),
    jx=lambda a, b: jnp.stack([a, b], 1), pt=lambda a, b: torch.stack([a, b], 1))  # fmt: skip
add("transpose", floats(1024, 1024), mx=lambda nd, x: nd.transpose(x), jx=jnp.transpose,
    pt=lambda x: x.t().contiguous())  # fmt: skip
add("slice", floats(1024, 1024), mx=lambda nd, x: nd.slice(x, begin=(10, 20), end=(900, 1000)),
    jx=lambda x: x[10:900, 20:1000], pt=lambda x: x[10:900, 20:1000].contiguous())  # fmt: skip
add("tile", floats(256, 512), mx=lambda nd, x: nd.tile(x, (2, 2)), jx=lambda x: jnp.tile(x, (2, 2)),
    pt=lambda x: x.repeat(2, 2))  # fmt: skip
add("repeat", floats(256, 512), mx=lambda nd, x: nd.repeat(x, 2, axis=1),
    jx=lambda x: jnp.repeat(x, 2, axis=1), pt=lambda x: x.repeat_interleave(2, 1))  # fmt: skip
add("Pad", floats(16, 32, 28, 28),
    mx=lambda nd, x: nd.Pad(x, mode="constant", pad_width=(0, 0, 0, 0, 2, 2, 2, 2)),
    jx=lambda x: jnp.pad(x, ((0, 0), (0, 0), (2, 2), (2, 2))),
    pt=lambda x: F.pad(x, (2, 2, 2, 2)))  # fmt: skip
add("flip", floats(*BIG), mx=lambda nd, x: nd.flip(x, axis=1), jx=lambda x: jnp.flip(x, 1),
    pt=lambda x: x.flip(1))  # fmt: skip
