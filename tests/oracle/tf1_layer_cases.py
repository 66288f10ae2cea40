"""Layers and recurrent networks of TensorFlow's 1.x API; see `tf1_case.py`."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
from oracle.tf1_case import case, error_of, feeding, numbers


def _found(tf: Any, made: Any, feeds: dict[Any, Any] | None = None, steps: int = 0) -> Any:
    """Returns values, gradients and names, with numbers of our own in the variables."""
    leaves = list(tf.nest.flatten(made))
    total = tf.add_n([tf.reduce_sum(tf.square(one)) for one in leaves])
    grads = tf.gradients(total, tf.trainable_variables())
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    held = [one for one in tf.global_variables() if not one.trainable]
    begun = []
    for one in tf.global_variables():
        shape = one.shape.as_list()
        seed = zlib.crc32(f"{one.op.name.rpartition('/')[2]} {shape}".encode())
        begun.append(one.assign(np.random.RandomState(seed).uniform(0.1, 0.9, shape) - 0.3))
    with tf.Session() as session:
        session.run(begun)
        for _ in range(steps):
            session.run(updates, feeds)
        values = session.run([leaves, grads, held], feeds)
    return {
        "values": values,
        "variables": [f"{one.name} {one.shape} {one.trainable}" for one in tf.global_variables()],
        "updates": [f"{one.name} {one.type}" for one in updates],
        "shapes": [one.shape.as_list()[1:] for one in leaves],
        "losses": [one.name for one in tf.losses.get_regularization_losses()],
    }


def _images(tf: Any) -> Any:
    return tf.constant(numbers(2, 7, 8, 3))


def _layer(
    name: str, make: Callable[[Any, Any], Any], data: tuple[int, ...] = (2, 7, 8, 3)
) -> None:
    def program(tf: Any) -> Any:
        return _found(tf, make(tf, tf.constant(numbers(*data))))

    program.__name__ = name
    program.__module__ = __name__
    case(program)


_layer("dense", lambda tf, x: tf.layers.dense(x, 4, tf.nn.relu), (3, 5))
_layer("dense_of_images", lambda tf, x: tf.layers.dense(x, 4, use_bias=False))
_layer("flat", lambda tf, x: tf.layers.flatten(x))
_layer("conv1d", lambda tf, x: tf.layers.conv1d(x, 4, 3, 2, "same"), (2, 7, 3))
_layer("conv2d", lambda tf, x: tf.layers.conv2d(x, 4, (3, 2), 2, "same", activation=tf.nn.tanh))
_layer("conv2d_dilated", lambda tf, x: tf.layers.conv2d(x, 4, 3, dilation_rate=2, name="c"))
_layer("conv3d", lambda tf, x: tf.layers.conv3d(x, 2, 2), (1, 4, 4, 4, 2))
_layer("transposed", lambda tf, x: tf.layers.conv2d_transpose(x, 2, 3, 2))
_layer("transposed_same", lambda tf, x: tf.layers.conv2d_transpose(x, 2, (5, 4), 2, "same"))
_layer("separable1d", lambda tf, x: tf.layers.separable_conv1d(x, 4, 3, 2, "same"), (2, 7, 3))
_layer("separable2d", lambda tf, x: tf.layers.separable_conv2d(x, 4, 3, depth_multiplier=2))
_layer("pool1d", lambda tf, x: [
    tf.layers.max_pooling1d(x, 2, 2), tf.layers.average_pooling1d(x, 3, 2, "same")
], (2, 7, 3))  # fmt: skip
_layer("pool2d", lambda tf, x: [
    tf.layers.max_pooling2d(x, 2, 2), tf.layers.average_pooling2d(x, (3, 2), 2, "same")
])  # fmt: skip
_layer("pool3d", lambda tf, x: [
    tf.layers.max_pooling3d(x, 2, 2), tf.layers.average_pooling3d(x, 2, 1)
], (1, 4, 4, 4, 2))  # fmt: skip
_layer("batch_norm_inference", lambda tf, x: tf.layers.batch_normalization(x))
_layer("batch_norm_of_vectors", lambda tf, x: tf.layers.batch_normalization(
    x, training=True, momentum=0.9, center=False
), (5, 3))  # fmt: skip
_layer("batch_norm_of_channels_first", lambda tf, x: tf.layers.batch_normalization(
    x, axis=1, fused=False, training=True, scale=False
))  # fmt: skip
_layer("dropout_of_nothing", lambda tf, x: tf.layers.dropout(x, 0.9) + 0.0)


@case
def batch_norm_moves_its_averages(tf: Any) -> Any:
    training = tf.placeholder(tf.bool, [])
    made = tf.layers.batch_normalization(_images(tf), training=training, momentum=0.8)
    found = _found(tf, made, {training: True}, steps=3)
    return [found, _found(tf, made, {training: False}, steps=3)]


@case
def layers_that_share_and_regularize(tf: Any) -> Any:
    x = tf.constant(numbers(3, 5))

    def weight(value: Any) -> Any:
        return tf.reduce_sum(tf.square(value))

    first = tf.layers.dense(x, 4, name="shared", kernel_regularizer=weight)
    again = tf.layers.dense(x * 2, 4, name="shared", reuse=True)
    with tf.variable_scope("scope", reuse=tf.AUTO_REUSE):
        pair = [tf.layers.dense(x, 2, name="own") for _ in range(2)]
    layer = tf.layers.Dense(3, bias_regularizer=weight)
    both = [layer(first), layer(again)]
    taken = error_of(lambda: tf.layers.dense(x, 4, name="shared"))
    missing = error_of(lambda: tf.layers.dense(x, 4, name="none", reuse=True))
    weights = [one.name for one in layer.weights]
    return [_found(tf, [first, again, *pair, *both]), taken, missing, weights]


@case
def a_layer_of_ones_own(tf: Any) -> Any:
    class Scaled(tf.layers.Layer):  # type: ignore[misc]
        def build(self, input_shape: Any) -> None:
            size = int(input_shape[-1])
            self.scale = self.add_weight("scale", [size], initializer=tf.ones_initializer())
            self.built = True

        def call(self, inputs: Any) -> Any:
            return inputs * self.scale

    layer = Scaled(name="mine")
    x = tf.constant(numbers(3, 5))
    return _found(tf, [layer(x), layer(x + 1)])


# Recurrent networks -------------------------------------------------------------------------------

_LENGTHS = np.array([5, 2, 3], "int32")
_CELLS: dict[str, Callable[[Any], Any]] = {
    "basic": lambda of: of.BasicRNNCell(4),
    "gru": lambda of: of.GRUCell(4),
    "basic_lstm": lambda of: of.BasicLSTMCell(4, forget_bias=0.5),
    "lstm": lambda of: of.LSTMCell(
        4, use_peepholes=True, num_proj=2, cell_clip=0.5, proj_clip=0.3, name="own"
    ),
    "joined_state": lambda of: of.LSTMCell(3, state_is_tuple=False),
    "several": lambda of: of.MultiRNNCell(
        [of.BasicLSTMCell(4), of.ResidualWrapper(of.GRUCell(4)), of.DropoutWrapper(of.GRUCell(2))]
    ),
}


def _recurrent(name: str, make: Callable[[Any], Any]) -> None:
    def dynamic(tf: Any) -> Any:
        x = tf.placeholder(tf.float32, [None, 5, 3])
        cell = make(tf.nn.rnn_cell)
        made = tf.nn.dynamic_rnn(cell, x, _LENGTHS, dtype=tf.float32)
        size = cell.zero_state(2, tf.float32)
        found = _found(tf, made, {x: numbers(3, 5, 3)})
        return [found, [one.shape.as_list() for one in tf.nest.flatten(size)]]

    def static(tf: Any) -> Any:
        x = tf.unstack(tf.constant(numbers(3, 5, 3)), axis=1)
        made = tf.nn.static_rnn(make(tf.nn.rnn_cell), x, dtype=tf.float32, sequence_length=_LENGTHS)
        return _found(tf, made)

    for program in (dynamic, static):
        program.__name__ = f"{name}_{program.__name__}"
        program.__module__ = __name__
        case(program)


for _name, _make in _CELLS.items():
    _recurrent(_name, _make)


@case
def from_both_ends(tf: Any) -> Any:
    x = tf.constant(numbers(3, 5, 3))
    found = []
    for lengths in (None, _LENGTHS):
        cells = [tf.nn.rnn_cell.BasicLSTMCell(4), tf.nn.rnn_cell.GRUCell(2)]
        with tf.variable_scope(f"dynamic{lengths is None}"):
            found.append(tf.nn.bidirectional_dynamic_rnn(*cells, x, lengths, dtype=tf.float32))
        cells = [tf.nn.rnn_cell.BasicLSTMCell(4), tf.nn.rnn_cell.GRUCell(2)]
        with tf.variable_scope(f"static{lengths is None}"):
            rows = tf.unstack(x, axis=1)
            found.append(
                tf.nn.static_bidirectional_rnn(
                    *cells, rows, dtype=tf.float32, sequence_length=lengths
                )
            )
    return _found(tf, found)


@case
def time_first_from_a_state(tf: Any) -> Any:
    cell = tf.nn.rnn_cell.GRUCell(4)
    x, state = tf.placeholder(tf.float32, [None, 3, 2]), tf.constant(numbers(3, 4))
    made = tf.nn.dynamic_rnn(cell, x, initial_state=state, time_major=True, swap_memory=True)
    return _found(tf, made, {x: numbers(5, 3, 2)})


@case
def a_cell_of_ones_own(tf: Any) -> Any:
    class Counting(tf.nn.rnn_cell.RNNCell):  # type: ignore[misc]
        @property
        def state_size(self) -> Any:
            return {"sum": 2, "last": tf.TensorShape([2])}

        @property
        def output_size(self) -> int:
            return 2

        def call(self, inputs: Any, state: Any) -> Any:
            weight = tf.get_variable("weight", [3, 2])
            new = tf.matmul(inputs, weight)
            return state["sum"] * new, {"sum": state["sum"] + new, "last": new}

    x = tf.constant(numbers(3, 5, 3))
    outputs, state = tf.nn.dynamic_rnn(Counting(), x, _LENGTHS, dtype=tf.float32)
    return _found(tf, [outputs, state["sum"], state["last"]])


@case
def reversed_sequences(tf: Any) -> Any:
    x = numbers(3, 5, 2)
    return feeding(
        [
            tf.reverse_sequence(x, _LENGTHS, seq_axis=1),
            tf.reverse_sequence(numbers(5, 2, 3), _LENGTHS, seq_dim=0, batch_dim=2),
        ],
        {},
    )


@case
def errors_of_recurrent_networks(tf: Any) -> Any:
    cell, x = tf.nn.rnn_cell.GRUCell(4), tf.constant(numbers(3, 5, 3))
    return [
        error_of(lambda: tf.nn.dynamic_rnn(cell, x)),
        error_of(lambda: tf.nn.dynamic_rnn("cell", x, dtype=tf.float32)),
        error_of(lambda: tf.nn.static_rnn(cell, x, dtype=tf.float32)),
        error_of(lambda: tf.nn.static_rnn(cell, [], dtype=tf.float32)),
        error_of(lambda: tf.nn.rnn_cell.MultiRNNCell([])),
        error_of(lambda: tf.nn.rnn_cell.DropoutWrapper(cell, 1.5)),
    ]


# Metrics ------------------------------------------------------------------------------------------


@case
def metrics_over_batches(tf: Any) -> Any:
    labels = tf.placeholder(tf.int64, [None])
    scores = tf.placeholder(tf.float32, [None])
    weights = tf.placeholder(tf.float32, [None])
    guesses = tf.cast(scores > 0.5, tf.int64)
    of = tf.metrics
    made = {
        "accuracy": of.accuracy(labels, guesses, name="acc"),
        "weighted": of.accuracy(labels, tf.cast(guesses, tf.int32), weights),
        "mean": of.mean(scores, weights),
        "squared": of.mean_squared_error(tf.cast(labels, tf.float32), scores),
        "root": of.root_mean_squared_error(tf.cast(labels, tf.float32), scores, weights),
        "absolute": of.mean_absolute_error(tf.cast(labels, tf.float32), scores),
        "below": of.percentage_below(scores, 0.3),
        "precision": of.precision(labels, guesses, updates_collections="mine"),
        "recall": of.recall(labels, guesses, weights),
        "true_positives": of.true_positives(labels, guesses),
        "false_negatives": of.false_negatives(labels, guesses, weights),
        "auc": of.auc(labels, scores),
        "curve": of.auc(labels, scores, weights, num_thresholds=20, curve="PR", name="pr"),
        "iou": of.mean_iou(labels, guesses, 3),
    }
    found = []
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        found.append(session.run({key: pair[0] for key, pair in made.items()}))
        for rows in (4, 7):
            random = np.random.RandomState(rows)
            feeds = {
                labels: random.randint(0, 2, rows), scores: random.uniform(0, 1, rows),
                weights: random.uniform(0, 2, rows),
            }  # fmt: skip
            found.append(session.run({key: pair[1] for key, pair in made.items()}, feeds))
            found.append(session.run({key: pair[0] for key, pair in made.items()}))
    names = [[one.name for one in pair] for key, pair in made.items() if key != "root"]
    return {
        "found": found,
        "names": [pair for pair in names if "positives" not in pair[0] + pair[1]][:8],
        "variables": [one.name for one in tf.local_variables()],
        "collection": len(tf.get_collection("mine")),
        "kept": len(tf.get_collection(tf.GraphKeys.METRIC_VARIABLES)),
    }


# Datasets -----------------------------------------------------------------------------------------


def _elements(tf: Any, iterator: Any, feeds: dict[Any, Any] | None = None) -> Any:
    """Returns the elements that are left, what ends them, and what is known of them."""
    element, found = iterator.get_next(), []
    leaves = tf.nest.flatten(element)
    with tf.Session() as session:
        if feeds is not None:
            session.run(iterator.initializer, feeds)
        try:
            while len(found) < 20:
                found.append(session.run(leaves))
        except tf.errors.OutOfRangeError as error:
            found.append(type(error).__name__)
    return [found, [repr(one) for one in leaves]]


@case
def datasets(tf: Any) -> Any:
    of = tf.data.Dataset
    pairs = of.from_tensor_slices((numbers(5, 2), {"a": [1, 2, 3, 4, 5]}))
    made = {
        "rows": of.from_tensor_slices(numbers(3, 2)),
        "whole": of.from_tensors([1.0, 2.0]),
        "pairs": pairs.batch(2),
        "dropped": pairs.batch(2, drop_remainder=True).repeat(2),
        "numbers": of.range(2, 9, 3).concatenate(of.range(2)).prefetch(1),
        "mapped": pairs.map(lambda x, d: (x * 2.0, tf.cast(d["a"], tf.float32) + x[0])).take(2),
        "kept": of.range(10).filter(lambda x: tf.equal(x % 3, 1)).skip(1),
        "zipped": of.zip((of.range(3), pairs)).shard(2, 1),
        "counted": of.range(3).map(lambda x: x * 10).enumerate(5),
        "once": of.range(5).shuffle(1).cache().repeat(2).batch(4),
        "yielded": of.from_generator(
            lambda: iter([(1, [2.0]), (3, [4.0, 5.0])]), (tf.int32, tf.float32), ((), [None])
        ).padded_batch(2, ((), [3]), (0, -1.0)),
    }
    types = [[str(one) for one in tf.nest.flatten(each.output_types)] for each in made.values()]
    shapes = [str(each.output_shapes) for key, each in made.items() if key != "pairs"]
    found = {key: _elements(tf, each.make_one_shot_iterator()) for key, each in made.items()}
    return [{key: one[0] for key, one in found.items()}, types, shapes[:4], found["rows"][1]]


@case
def datasets_of_datasets(tf: Any) -> Any:
    of = tf.data.Dataset
    numbered = of.range(1, 6)
    made = {
        "flat": numbered.flat_map(lambda n: of.range(n)),
        "tensors": of.from_tensor_slices((numbers(3, 2), [1, 2, 3])).flat_map(
            lambda x, n: of.from_tensors((x * 2.0, n)).repeat(2)
        ),
        "mapped": numbered.flat_map(lambda n: of.range(n).map(lambda m: m + 1).filter(
            lambda m: m < 4
        )),
        "none": numbered.flat_map(lambda n: of.range(0)),
        "zipped": numbered.flat_map(lambda n: of.zip((of.range(n), of.range(n, 9)))),
    }  # fmt: skip
    for cycle, block in ((1, 1), (2, 1), (2, 3), (3, 2), (9, 2)):
        made[f"{cycle} by {block}"] = numbered.interleave(
            lambda n: of.range(10 * n, 10 * n + n), cycle, block
        )
    found = {key: _elements(tf, one.make_one_shot_iterator()) for key, one in made.items()}
    types = [str(made["tensors"].output_types), str(made["tensors"].output_shapes)]
    return [found, types]


@case
def iterators_that_are_started(tf: Any) -> Any:
    rows = tf.placeholder(tf.float32, [None, 2])
    made = tf.data.Dataset.from_tensor_slices(rows).repeat(2).batch(2)
    iterator = made.make_initializable_iterator()
    element = iterator.get_next()
    either = tf.data.Iterator.from_structure(made.output_types, made.output_shapes)
    start = either.make_initializer(made)
    other = either.make_initializer(tf.data.Dataset.from_tensors(tf.ones([1, 2])))
    both, found = [either.get_next(), either.get_next()], []
    with tf.Session() as session:
        found.append(error_of(lambda: session.run(element)))
        session.run(iterator.initializer, {rows: numbers(1, 2)})
        found.append(session.run([element, element * 2.0, tf.reduce_sum(element)]))
        found.append(error_of(lambda: session.run(element)))
        session.run(start, {rows: numbers(2, 2)})
        found.append(sorted(float(one.sum()) for one in session.run(both)))
        session.run(other)
        found.append(session.run(both[0]))
    return [found, error_of(lambda: either.initializer)]


# What scripts do besides --------------------------------------------------------------------------


@case
def names_and_dtypes_that_are_made_to_fit(tf: Any) -> Any:
    logits = tf.constant(numbers(3, 4))
    labels = np.eye(4)[[1, 0, 3]]  # float64
    losses = [
        tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits),
        tf.nn.softmax_cross_entropy_with_logits(
            labels=tf.constant(labels, tf.float16), logits=logits
        ),
    ]
    with tf.device("//cpu:0"):
        placed = tf.constant(1.0)
    weight = tf.Variable(tf.ones([2]), name="w")
    shown = [tf.summary.histogram(weight.name, weight), tf.summary.scalar("a b(c)", placed)]
    x = tf.constant(numbers(3, 4))
    mean, variance = tf.nn.moments(x, [0])
    normal = [
        tf.nn.batch_norm_with_global_normalization(x, mean, variance, mean, x[0], 1e-3, scaled)
        for scaled in (True, False)
    ]
    return [losses, normal, placed.device, [one.name for one in shown]]
