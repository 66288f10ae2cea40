"""Expressions that MXNet 1.9.1 and hybridnet must take alike, as source text.

`make_symbols.py` evaluates them with MXNet and keeps what it says of each symbol; the tests do so
with hybridnet. In them `S` is ``mx.sym``, `mx` the package, and `d` and `e` are variables.
"""

from __future__ import annotations

from typing import Any

#: What one names: name, lists of names, operator of the head, attributes.
STRUCTURE = (
    # Python's arithmetic, on two symbols and with numbers on either side.
    "d + e",
    "d - e",
    "d * e",
    "d / e",
    "d ** e",
    "d % e",
    "d == e",
    "d != e",
    "d > e",
    "d >= e",
    "d < e",
    "d <= e",
    "d + 1.5",
    "1.5 + d",
    "d - 1.5",
    "1.5 - d",
    "d * 1.5",
    "d / 1.5",
    "1.5 / d",
    "d ** 1.5",
    "1.5 ** d",
    "d % 1.5",
    "1.5 % d",
    "-d",
    "abs(d)",
    "d == 1.5",
    "d != 1.5",
    "d > 1.5",
    "1.5 > d",
    "d >= 1.5",
    "d < 1.5",
    "d <= 1.5",
    # Functions and methods, under each of their names.
    "S.maximum(d, e)",
    "S.maximum(d, 1.5)",
    "S.maximum(1.5, d)",
    "S.minimum(d, e)",
    "S.minimum(d, 1.5)",
    "S.hypot(d, e)",
    "S.hypot(1.5, d)",
    "S.pow(d, e)",
    "S.pow(1.5, d)",
    "S.power(d, 1.5)",
    "d.abs()",
    "d.flatten()",
    "S.Flatten(d)",
    "d.swapaxes(1, 2)",
    "S.SwapAxis(d, dim1=1, dim2=2)",
    "d.flip(axis=1)",
    "d.broadcast_axes(axis=0, size=2)",
    "d.astype('float16')",
    "S.cast(d, dtype='float16')",
    "S.Cast(d, dtype='float16')",
    "d.reshape((2, -1))",
    "d.reshape(shape=(2, -1))",
    "d.transpose()",
    "d.transpose((1, 0))",
    "d.expand_dims(axis=1)",
    "d.slice(begin=(0, None), end=(1, None))",
    "d.clip(0.5, 1.5)",
    "d.norm()",
    "d.sum(axis=(0, 1))",
    "d.argmax(axis=1)",
    "S.split(d, num_outputs=3)",
    "S.split(d, num_outputs=3)[1]",
    "S.SliceChannel(d, num_outputs=2, name='sp')",
    "d.split(num_outputs=2)[1]",
    "S.topk(d, k=2, ret_typ='both', name='tk')",
    "S.concat(d, e, dim=0)",
    "S.Concat(d, e, e)",
    "S.Concat(dim=2, num_args=3, name='c')",
    "S.stack(d, e)",
    "S.add_n(d, e)",
    "S.ElementWiseSum(d, e)",
    "S.identity(d)",
    "S.BlockGrad(d)",
    "S.stop_gradient(d)",
    "S.make_loss(d)",
    "S.MakeLoss(d)",
    "S.Softmax(d)",
    "S.sum_axis(d, axis=0)",
    "S.elemwise_add(d, e)",
    "S.elemwise_add(d, name='z')",
    "S.broadcast_plus(d, e)",
    "S.ones((3, 1), dtype='int32', name='one')",
    "S.random.uniform(0.5, 1.5, shape=(2,))",
    "S.random.normal(0.5, 1.5, shape=(2,))",
    "S.random.uniform(d, e, shape=(2,))",
    "S.random_uniform(shape=(2,))",
    "S.uniform(shape=(2,))",
    # Layers, whose parameters are made.
    "S.FullyConnected(d, num_hidden=3)",
    "S.FullyConnected(d, num_hidden=3, no_bias=True, name='fc')",
    "S.FullyConnected(num_hidden=3, name='q')",
    "S.FullyConnected(d, None, None, num_hidden=3, name='n')",
    "S.FullyConnected(data=d, weight=e, num_hidden=3, flatten=False)",
    "S.Convolution(d, kernel=(3, 3), num_filter=4, pad=(1, 1), name='conv')",
    "S.Deconvolution(d, kernel=(2, 2), num_filter=4, name='deconv')",
    "S.Deconvolution(d, kernel=(2, 2), num_filter=4, no_bias=False)",
    "S.BatchNorm(d, eps=0.01, fix_gamma=False, name='bn')",
    "S.BatchNorm(d, moving_var=S.var('mv'), name='bn')",
    "S.BatchNorm(d, output_mean_var=True, name='bn')",
    "S.LayerNorm(d, name='ln')",
    "S.LayerNorm(d, output_mean_var=True, name='ln')",
    "S.InstanceNorm(d, name='in')",
    "S.GroupNorm(d, num_groups=2, name='gn')",
    "S.Embedding(d, input_dim=5, output_dim=2, name='emb')",
    "S.LeakyReLU(d, act_type='prelu', name='prelu')",
    "S.LeakyReLU(d, slope=0.5)",
    "S.Activation(d, act_type='relu')",
    "S.Dropout(d, p=0.25)",
    "S.Pooling(d, kernel=(2, 2), pool_type='avg')",
    "S.softmax(d)",
    "S.softmax(d, use_length=True, name='s')",
    "S.SoftmaxOutput(d, name='softmax')",
    "S.LinearRegressionOutput(d, name='lro')",
    # Several heads, shared and nested; picking; composing.
    "S.Group([d, e])",
    "S.Group([d + e, S.Group([e, d])])",
    "S.Group([S.exp(d, name='b')] * 2)",
    "S.FullyConnected(S.relu(d, name='r'), num_hidden=2, name='f').get_internals()",
    "S.FullyConnected(S.relu(d, name='r'), num_hidden=2, name='f').get_internals()['r_output']",
    "S.FullyConnected(S.relu(d, name='r'), num_hidden=2, name='f').get_children()",
    "S.Group([S.exp(d), d]).get_children()",
    "S.Group([d, e, d + e])[0:2]",
    "S.FullyConnected(d, num_hidden=2, name='f')(d=S.exp(S.var('q'), name='ex'))",
    "S.FullyConnected(d, num_hidden=2, name='f')(d=S.var('q'), name='zz')",
    "S.FullyConnected(d, num_hidden=2, name='f')(f_weight=e * 2)",
    "S.Group([S.exp(d, name='x'), e])(d=S.var('u'), e=d)",
    "(lambda x: x + x)(S.var('x'))(x=S.var('y'))",
    "(lambda bn: S.Group([bn, S.BatchNorm(e, moving_mean=bn.get_internals()['bn_moving_mean'],"
    " name='bn2')]))(S.BatchNorm(d, name='bn'))",
    # Attributes.
    "S.var('a', lr_mult=2, wd_mult=0.5, dtype='float16', shape=(2, 3), attr={'mood': 'x'},"
    " __k__='v')",
    "S.var('a', shape=(0, 3), init=mx.init.Xavier(magnitude=2))",
    "S.FullyConnected(d, num_hidden=3, name='fc', lr_mult=3, attr={'__q__': '1',"
    " 'ctx_group': 'g'})",
    "scoped({'ctx_group': 'dev1', '__z__': 'y'}, lambda: d + S.FullyConnected(S.var('in'),"
    " num_hidden=3, attr={'ctx_group': 'dev2'}))",
    "prefixed('pre_', lambda: S.FullyConnected(S.exp(d), num_hidden=2, name='k') + S.var('v'))",
    "S.BatchNorm(S.FullyConnected(d, num_hidden=2), name='bn') * 2 + S.Dropout(e)",
)

_NET = (
    "S.SoftmaxOutput(S.FullyConnected(S.Activation(S.FullyConnected(d, num_hidden=3, name='fc1'),"
    " act_type='relu'), num_hidden=4, name='fc2'), name='softmax')"
)
_CONV = (
    "S.Pooling(S.BatchNorm(S.Convolution(d, kernel=(3, 3), num_filter=8, stride=(2, 2),"
    " name='c'), name='bn'), kernel=(2, 2), stride=(2, 2), pool_type='max')"
)
#: What is inferred: an expression, and the shapes known.
SHAPES: tuple[tuple[str, dict[str, tuple[int, ...]]], ...] = (
    (_NET, {"d": (2, 5)}),
    (_NET, {"d": (0, 5)}),
    (_NET, {}),
    (_NET, {"fc1_weight": (3, 5), "softmax_label": (2,)}),
    (_CONV, {"d": (2, 3, 31, 17)}),
    (_CONV, {"d": (0, 3, 31, 17)}),
    ("S.Convolution(d, kernel=(3, 3), num_filter=2)", {"d": (0, 3, 0, 0)}),
    ("d + e", {"d": (2, 3)}),
    ("d + e", {"d": (0, 3), "e": (2, 0)}),
    ("S.relu(d) + e", {"e": (2, 3)}),
    ("S.broadcast_add(d, e)", {"d": (2, 3)}),
    ("S.concat(d, e, dim=0)", {"d": (2, 3), "e": (0, 3)}),
    ("S.concat(d, e, dim=1)", {"d": (2, 3), "e": (2, 4)}),
    ("S.reshape(d, shape=(-1, 4))", {"d": (0, 8)}),
    ("S.reshape(d, shape=(-1, 4))", {"d": (6, 8)}),
    ("S.sum(d)", {"d": (0, 3, 4)}),
    ("S.sum(d, axis=1)", {"d": (0, 3, 4)}),
    ("S.zeros((2, 3)) + e", {}),
    ("S.var('q', shape=(2, 3)) + e", {}),
    ("S.FullyConnected(S.var('q', shape=(0, 3)), num_hidden=2)", {}),
    ("S.var('q', shape=(2, 3)) + 1", {"q": (4, 5)}),
    ("S.SoftmaxOutput(d, name='s')", {"d": (4, 5)}),
    ("S.SoftmaxOutput(d, multi_output=True, name='s')", {"d": (4, 5, 6)}),
    ("S.LinearRegressionOutput(d, name='s')", {"d": (4, 5)}),
    ("S.Embedding(d, input_dim=5, output_dim=2)", {"d": (3, 4)}),
    ("S.LayerNorm(d)", {"d": (3, 4)}),
    ("S.Deconvolution(d, kernel=(2, 2), num_filter=6)", {"d": (1, 4, 3, 3)}),
    ("S.LeakyReLU(d, act_type='prelu')", {"d": (2, 4, 3)}),
    ("S.FullyConnected(d, num_hidden=2, flatten=False)", {"d": (0, 3, 4)}),
    ("S.split(d, num_outputs=3, axis=1)", {"d": (0, 6)}),
    ("S.dot(d, e)", {"d": (2, 3), "e": (3, 4)}),
    ("S.transpose(d)", {"d": (0, 3, 4)}),
    ("S.stack(d, e, axis=1)", {"d": (2, 3)}),
    ("(d + e).get_internals()", {"d": (2, 3)}),
    # From outputs to inputs.
    ("S.FullyConnected(d, num_hidden=4) + e", {"d": (0, 10), "e": (5, 0)}),
    (
        "S.Convolution(d, kernel=(3, 3), pad=(1, 1), num_filter=2) + e",
        {"d": (0, 3, 0, 0), "e": (5, 2, 9, 8)},
    ),
    (
        "S.Convolution(d, kernel=(3, 3), stride=(2, 2), num_filter=2) + e",
        {"d": (0, 3, 0, 0), "e": (5, 2, 9, 8)},
    ),
    (
        "S.Convolution(d, kernel=(3, 2), dilate=(2, 1), no_bias=True, num_filter=2) + e",
        {"d": (0, 3, 0, 0), "e": (5, 2, 9, 8)},
    ),
    ("S.split(d, num_outputs=3, axis=1, squeeze_axis=True)[1] + e", {"d": (0, 3), "e": (4,)}),
    ("S.split(d, num_outputs=3, axis=1)[2] + e", {"d": (0, 6, 0), "e": (4, 0, 5)}),
    ("S.concat(d, S.var('q', shape=(0, 5)), dim=1) + e", {"d": (0, 3), "e": (2, 0)}),
    ("S.stack(d, S.var('q'), axis=1) + e", {"d": (0, 3), "e": (4, 0, 0)}),
    ("S.transpose(d, axes=(1, 0)) + e", {"d": (0, 0), "e": (3, 2)}),
    ("S.cast(d, dtype='float16') + e", {"e": (3, 0)}),
    ("S.broadcast_add(d, S.var('q')) + e", {"d": (0, 3), "q": (0, 3), "e": (2, 3)}),
    ("S.dot(d, S.var('q')) + e", {"d": (0, 3), "q": (3, 0), "e": (2, 4)}),
    ("S.expand_dims(d, axis=1) + e", {"d": (0, 3), "e": (4, 1, 3)}),
    ("S.reshape(d, shape=(-1, 6)) + e", {"d": (0, 3), "e": (4, 6)}),
    ("S.slice_axis(d, axis=0, begin=1, end=None) + e", {"d": (0, 3), "e": (4, 3)}),
    (
        "S._internal._identity_with_attr_like_rhs(S.broadcast_add(d, S.var('q', shape=(1,))), d)"
        " + e",
        {"e": (11, 7)},
    ),
    ("S.dot(d, e)", {"d": (0, 3, 4), "e": (4, 5)}),
    ("S.batch_dot(d, e)", {"d": (0, 3, 4), "e": (0, 4, 5)}),
    ("S.batch_dot(d, e)", {"d": (0, 3, 4), "e": (0, 0, 5)}),
    ("S.Embedding(d, e, input_dim=9, output_dim=2)", {"d": (0, 5)}),
    ("S.pick(d, e, axis=1)", {"d": (0, 3, 3), "e": (0, 3)}),
    ("S.where(S.var('q'), d, e)", {"q": (0, 2), "d": (0, 2), "e": (0, 2)}),
    ("S.where(S.var('q'), d, e)", {"q": (0,), "d": (2, 2), "e": (2, 2)}),
    ("S.relu(S.FullyConnected(d, num_hidden=4))", {}),
    (
        "S.Convolution(S.cast(d, dtype='float16'), S.cast(e, dtype='float16'), kernel=(7, 7), "
        "num_filter=6, no_bias=True)",
        {"d": (1, 0, 0, 0)},
    ),
)

#: Likewise where shapes are NumPy's: -1 stands for an unknown dimension, and 0 is a size.
NUMPY_SHAPES: tuple[tuple[str, dict[str, tuple[int, ...]]], ...] = (
    ("S.sin(d)", {}),
    ("S.sin(d)", {"d": ()}),
    ("S.FullyConnected(d, num_hidden=4) + e", {"d": (-1, 10), "e": (5, -1)}),
    ("S.FullyConnected(d, num_hidden=4) + e", {"d": (0, 10)}),
    ("S.transpose(d, axes=(0, 2, 1)) + e", {"d": (-1, 3, 4), "e": (0, -1, -1)}),
    ("S.concat(d, e, dim=1)", {"d": (-1, 0), "e": (2, 3)}),
    ("S.where(S.var('q'), d, e)", {"q": (-1, 2), "d": (-1, 2), "e": (-1, 2)}),
    ("S.batch_dot(d, e)", {"d": (-1, 3, 4), "e": (-1, -1, 5)}),
    ("S.relu(S.var('q', shape=(0, -1))) + e", {"e": (0, 4)}),
)

#: Likewise dtypes.
DTYPES: tuple[tuple[str, dict[str, str]], ...] = (
    (_NET, {"d": "float16"}),
    (_NET, {"fc1_weight": "float64"}),
    (_NET, {}),
    (_CONV, {"d": "float16"}),
    ("S.LayerNorm(d)", {"d": "float16"}),
    ("S.Embedding(d, input_dim=5, output_dim=2)", {"d": "int32"}),
    ("S.Embedding(d, input_dim=5, output_dim=2, dtype='float16')", {"d": "float32"}),
    ("S.take(d, e)", {"d": "float16", "e": "int32"}),
    ("S.take(d, e)", {"e": "int32"}),
    ("S.cast(d, dtype='float16')", {}),
    ("S.cast(d, dtype='float16')", {"d": "int32"}),
    ("S.one_hot(d, depth=3)", {"d": "int32"}),
    ("S.where(d, e, S.var('f'))", {"d": "int32", "e": "float16"}),
    ("d + e", {"d": "float16"}),
    ("S.relu(d + e)", {}),
    ("d + 1", {"d": "int32"}),
    ("S.var('q', dtype='float16') + e", {}),
    ("S.zeros((2,)) + e", {}),
    ("S.broadcast_add(d, e)", {"d": "float16"}),
    ("S.dot(d, e)", {"d": "float16"}),
    ("S.concat(d, e)", {"e": "float16"}),
    ("S.exp(S.cast(d, dtype='int32'))", {"d": "float32"}),
    ("S.topk(d, k=1, ret_typ='both')", {"d": "float16"}),
    ("S.random.uniform(shape=(2,))", {}),
    ("S.Dropout(d)", {"d": "float16"}),
    ("S.gather_nd(d, e)", {"d": "float16"}),
    ("S.batch_dot(d, e)", {"e": "float16"}),
    ("S.LeakyReLU(d, act_type='prelu')", {"d": "float16"}),
    ("S.Deconvolution(d, kernel=(2, 2), num_filter=2)", {"d": "float16"}),
    ("S.LinearRegressionOutput(d)", {"d": "float16"}),
    ("S.reshape(d, shape=(10, 7))", {"d": "float16"}),
    ("S.split(d, num_outputs=3, squeeze_axis=True)", {"d": "float64"}),
)

#: Described in words.
DEBUG = (_NET, "S.Group([S.split(d, num_outputs=2, name='sp'), S.BatchNorm(e, name='bn')])")


def evaluate(mx: Any, source: str) -> Any:
    """Makes the symbol that an expression stands for, with names counted from 0."""

    def scoped(attributes: dict[str, str], make: Any) -> Any:
        with mx.AttrScope(**attributes):
            return make()

    def prefixed(prefix: str, make: Any) -> Any:
        with mx.name.Prefix(prefix):
            return make()

    known = {
        "mx": mx,
        "S": mx.sym,
        "d": mx.sym.var("d"),
        "e": mx.sym.var("e"),
        "scoped": scoped,
        "prefixed": prefixed,
    }
    with mx.name.NameManager():
        return eval(source, known)


def facts(symbol: Any, graph: dict[str, Any]) -> dict[str, Any]:
    """Returns what a symbol says of itself; `graph` is its JSON, read."""
    nodes = [(node["op"], node["name"], node["inputs"]) for node in graph["nodes"]]
    return {
        "name": symbol.name,
        "repr": repr(symbol),
        "arguments": symbol.list_arguments(),
        "outputs": symbol.list_outputs(),
        "auxiliary": symbol.list_auxiliary_states(),
        "inputs": symbol.list_inputs(),
        "attributes": symbol.attr_dict(),
        "nodes": nodes,
        "heads": graph["heads"],
        "rows": graph["node_row_ptr"],
        "arg_nodes": graph["arg_nodes"],
    }
