"""The lines that random programs over the whole library are made of; see `wide_programs`.

In a line ``{}`` is an array, ``{n}`` the same for NumPy's names, ``{i}`` a small integer,
``{axis}`` one or more axes or None, ``{key}`` a key, ``{number}`` a number, ``{shape}`` a shape.
"""

from __future__ import annotations

import random
import re
from typing import Any, Final

__all__ = ["EXACT", "SMOOTH", "WRITES", "fill"]


def _lines(text: str) -> list[str]:
    """Returns the lines of a text; one with words in <> is a line for each of them."""
    return [made for line in text.strip().splitlines() for made in _each(line.strip())]


def _each(line: str) -> list[str]:
    head, _, rest = line.partition("<")
    words, _, tail = rest.rpartition(">")
    return [f"{head}{word}{tail}" for word in words.split()] or [line]


#: What is exact on multiples of a quarter.
EXACT: Final = _lines("""
    {} <+ - * == !=> {}
    {} <+ - * % ==> {number}
    {number} <+ - *> {}
    nd.lesser({}, {})
    {} >= {}
    {} < {number}
    nd.<abs negative sign rint ceil floor trunc fix relu square logical_not zeros_like>({})
    nd.<ones_like identity BlockGrad flatten shape_array size_array>({})
    nd.broadcast_<add sub mul maximum minimum mod equal not_equal greater lesser_equal>({}, {})
    nd.broadcast_<logical_and logical_or logical_xor>({}, {})
    nd.<max min sum nansum>({}, axis={axis}, keepdims={bool})
    nd.<argmax argmin>({}, axis={one}, keepdims={bool})
    np.<add subtract multiply maximum minimum equal less greater_equal>({n}, {n})
    np.<logical_and bitwise_xor mod bitwise_and bitwise_or copysign>({n}, {n})
    np.<abs negative sign rint ceil floor trunc fix square logical_not>({n})
    np.<isnan isinf isfinite invert ravel nonzero unique flatnonzero cumsum atleast_2d>({n})
    np.<max min sum any all>({n}, axis={axis}, keepdims={bool})
    np.<argmax argmin sort argsort cumsum flip>({n}, axis={one})
    {}.astype({dtype})
    {}.astype({dtype})
    {}.T
    {}[{key}]
    {}[{key}]
    {}[{key}]
    {}.reshape({shape})
    nd.reshape({}, shape={shape}, reverse={bool})
    nd.transpose({})
    nd.swapaxes({}, dim1=0, dim2=-1)
    nd.flip({}, axis=0)
    nd.expand_dims({}, axis={one})
    nd.squeeze({})
    nd.slice({}, begin=(None, {i}), end=(None, None), step=(-1, {step}))
    nd.slice_axis({}, axis={one}, begin={i}, end=None)
    nd.slice_like({}, {}, axes=(0,))
    nd.concat({}, {}, dim={one})
    nd.stack({}, {}, axis={one})
    nd.split({}, num_outputs={step}, axis={one}, squeeze_axis={bool})
    nd.tile({}, reps=({step}, 2))
    nd.repeat({}, repeats={step}, axis={axis})
    nd.broadcast_to({}, shape={shape})
    nd.broadcast_like({}, {})
    nd.take({}, {}, axis={one}, mode={mode})
    nd.pick({}, {}, axis={one}, mode={mode})
    nd.where({}, {}, {})
    nd.clip({}, -1, {number})
    nd.sort({}, axis={one}, is_ascend={bool})
    nd.argsort({}, axis={one}, is_ascend={bool})
    nd.topk({}, axis={one}, k={step}, ret_typ={ret}, is_ascend={bool})
    nd.one_hot({}, 4)
    nd.gather_nd({}, nd.array([[0, 1], [{i}, 0]]))
    nd.dot({}, {})
    nd.batch_dot({}, {})
    nd.diag({}, k={i})
    nd.add_n({}, {})
    nd.maximum({}, {number})
    nd.minimum({}, {})
    nd.cast({}, dtype={dtype})
    nd.amp_cast({}, dtype='float16')
    nd.space_to_depth({}, block_size=2)
    nd.arange_like({}, axis={one})
    nd.reverse({}, axis={one})
    nd.SequenceMask({}, use_sequence_length=False, axis=0)
    nd.contrib.isnan({})
    nd.contrib.boolean_mask({}, {})
    nd.contrib.index_copy({}, nd.array([0]), {})
    nd.contrib.allclose({}, {}, equal_nan=True)
    nd.random.randint(-3, 4, shape={shape})
    nd.random.uniform(0, 1, shape={shape}) < {number}
    nd.moveaxis({}, 0, -1)
    nd.ones({shape}, dtype={dtype})
    nd.full({shape}, {number}, dtype={dtype})
    nd.arange({i}, 5, {step}, dtype={dtype})
    {}.copy()
    {}.detach()
    {} // {}
    {n}[{n} > 0]
    np.where({n} > 0, {n}, {number})
    np.concatenate(({n}, {n}), axis={axis})
    np.stack(({n}, {n}), axis={one})
    np.transpose({n})
    np.reshape({n}, {shape})
    np.broadcast_to({n}, {shape})
    np.tile({n}, ({step}, 1))
    np.roll({n}, {i}, axis={axis})
    np.rot90({n})
    np.pad({n}, 1)
    np.take({n}, np.array([0, -1]), axis={one}, mode='clip')
    np.diff({n}, axis=-1)
    np.clip({n}, -1, {number})
    np.dot({n}, {n})
    np.matmul({n}, {n})
    np.outer({n}, {n})
    np.tril({n})
    np.floor_divide({n}, {n})
    np.nan_to_num({n}, nan=2, posinf=3, neginf=-3)
    np.array_split({n}, 2)
    np.expand_dims({n}, {one})
    np.insert({n}, 1, 2, axis=0)
    np.delete({n}, 0, axis=0)
    np.split({n}, 2)
    np.einsum('ij,kj->ik', {n}, {n})
    np.bincount({n})
    np.histogram({n}, bins=4, range=(-2, 2))
    np.full_like({n}, {number})
    {n}.sum(axis={axis}, dtype={dtype})
    {n} if {n}.size else {n} + 1
""")
#: What rounds.
SMOOTH: Final = _lines("""
    nd.<tanh sigmoid exp sin cos arctan erf softsign cbrt sqrt log log1p expm1 gammaln rsqrt>({})
    nd.<reciprocal arcsinh sinh degrees softmax log_softmax arctanh arcsin erfinv gamma>({})
    nd.<mean prod nanprod sum>({}, axis={axis}, keepdims={bool})
    nd.broadcast_<div hypot power add mul>({}, {})
    np.<mean std var prod median average>({n}, axis={axis})
    np.<true_divide power arctan2 hypot logaddexp multiply>({n}, {n})
    np.<exp log tanh sqrt cbrt log2 arccosh sinh deg2rad exp2>({n})
    {} / {}
    {} / {number}
    {number} / {}
    {} ** {number}
    {number} ** {}
    {} * {}
    {} + {}
    nd.norm({}, ord={step}, axis={one}, keepdims={bool})
    nd.softmax({}, axis={one}, temperature=2.0)
    nd.log_softmax({}, axis={one})
    nd.softmin({}, axis={one})
    nd.LeakyReLU({}, act_type='elu', slope=0.5)
    nd.LeakyReLU({}, act_type='gelu')
    nd.Activation({}, act_type='softrelu')
    nd.smooth_l1({}, scalar=2.0)
    nd.hard_sigmoid({})
    nd.L2Normalization({})
    nd.InstanceNorm({}, nd.ones((3,)), nd.zeros((3,)))
    nd.LayerNorm({}, nd.ones((3,)), nd.zeros((3,)))
    nd.FullyConnected({}, nd.ones((2, 3)), nd.zeros((2,)), num_hidden=2, flatten={bool})
    nd.batch_dot({}, {}, transpose_b=True)
    nd.dot({}, {}, transpose_a={bool})
    nd.linalg.gemm2({}, {})
    nd.linalg.syrk({}, alpha=0.5)
    nd.moments({}, axes=(0,))
    nd.Pooling({}, kernel=(2,), pool_type='avg')
    nd.random.normal(0, 2, shape={shape})
    nd.random.uniform(-1, 1, shape={shape}, dtype='float64')
    nd.random.gamma(2, 0.5, shape={shape})
    nd.random.exponential(2, shape={shape})
    nd.sample_uniform(nd.zeros((2,)), nd.ones((2,)), shape={i})
    nd.Dropout({}, p=0.5, mode='always')
    nd.contrib.foreach(lambda x, s: (x + s, s * 0.5), {}, nd.ones((1,)))[0]
    nd.contrib.cond({}.sum() > 0, lambda: nd.tanh({}), lambda: nd.ones((2,)))
    nd.contrib.while_loop(lambda i: i < 3, lambda i: (i * 2, i + 1), [nd.ones((1,))], 5)[1][0]
    nd.softmax_cross_entropy({}, {})
    nd.SequenceMask(nd.tanh({}), value=0.5)
    nd.where({} > 0, nd.exp({}), {})
    nd.contrib.quadratic({}, a=1, b=2, c=3)
    nd.contrib.div_sqrt_dim({})
    np.linalg.norm({n})
    np.cumsum(np.tanh({n}), axis={axis})
    np.tensordot({n}, {n}, axes=1)
    np.random.uniform(-1, 1, {shape})
    np.random.normal(0, 1, {shape})
    np.linspace(0, {number}, 5)
    np.interp({n}, np.array([-1.0, 2.0]), np.array([0.0, 5.0]))
    np.percentile({n}, 30)
    np.matmul({n}, {n})
    {n} @ {n}.T
""")
#: What changes the array ``{target}``.
WRITES: Final = _lines("""
    {target}[{key}] = {number}
    {target}[{key}] = {}
    {target}[{key}] += {}
    {target}[:] = {}
    {target} += {}
    {target} -= {number}
    {target} *= {}
    {target} += {target}
    {target}[{key}] *= 2
    view = {target}[{key}]; view += 1; del view
    view = {target}.reshape({shape}); view[:] = {number}; del view
    nd.relu({}, out={target})
    nd.broadcast_add({}, {}, out={target})
    {target}[{target} > 0] = {number}
    {target}[nd.array([0, -1])] = {number}
    {target}[[0, -1]] += 1
    {target} %= 3
    {}.copyto({target})
    {target}[{key}] = {target}[{key}]
    {target}[::-1] = {target}
    {target}[1:] = {target}[:-1]
""")

_KEYS: Final = _lines("""
    <0 -1 : ::2 ::-1 1: :-1 None 0:0 1 99 5:1:-1 [0,-1]>
    ..., <0 ::-2 None>
    :, <1 ::2>
    1:, ::-1
    0, 1
    -2:, 0
    0, ..., -1
    :, [0, 0]
    nd.array([1, 0])
    numpy.array([True, False])
""")
_WORDS: Final[dict[str, list[str]]] = {
    "i": ["0", "1", "-1", "2"],
    "step": ["1", "2", "3"],
    "one": ["0", "-1", "1", "0", "-1", "2"],
    "axis": ["0", "-1", "1", "None", "(0, 1)", "(0, -1)", "(0,)", "(-1, -2)", "()"],
    "bool": ["True", "False"],
    "key": _KEYS,
    "number": ["2", "-1", "0.5", "-1.5", "3", "0", "1.0", "True"],
    "shape": ["(2, 3)", "(3, 2)", "(-1,)", "(6,)", "(1,)", "(3, -1)", "(2, 1, 3)", "(2, 2)"],
    "dtype": [
        *["'float32'", "'float64'", "'float16'", "'bfloat16'"],
        *["'int32'", "'int8'", "'uint8'", "'bool'", "'int64'"],
    ],
    "mode": ["'clip'", "'wrap'"],
    "ret": ["'indices'", "'value'", "'both'", "'mask'"],
}  # fmt: skip
_HOLE: Final = re.compile(r"\{(\w*)\}")


def fill(rng: random.Random, line: str, maker: Any, exact: bool, target: str = "") -> str:
    """Puts arrays and parameters into a line.

    Args:
        rng: chooses them.
        line: one of those above.
        maker: knows the arrays.
        exact: whether arrays that are exact alone are wanted.
        target: the array that is changed.
    """

    def put(found: re.Match[str]) -> str:
        kind = found.group(1)
        if kind == "target":
            return target
        if kind in _WORDS:
            return rng.choice(_WORDS[kind])
        name = maker.pick(exact=exact)
        return f"{name}.as_np_ndarray()" if kind == "n" else name

    return _HOLE.sub(put, line)
