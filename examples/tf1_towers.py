"""One network, several devices: a tower on each computes gradients, and their mean is applied.

    HYBRIDNET_NUM_CPU_DEVICES=2 python examples/tf1_towers.py
    python examples/tf1_towers.py --device=gpu --towers=4

The variables are on the first CPU, each device has its share of a batch, and the towers run side by
side, TensorFlow 1.x's way. With `import tensorflow.compat.v1 as tf` it is a script for TensorFlow.
"""

from __future__ import annotations

import numpy as np

import hybridnet.compat.tf1 as tf
from hybridnet.io.mnist import load_mnist

flags = tf.app.flags
flags.DEFINE_enum("device", "cpu", ["cpu", "gpu"], "where the towers are")
flags.DEFINE_integer("towers", 2, "how many there are")
flags.DEFINE_integer("batch_size", 64, "images of all towers in a step")
flags.DEFINE_integer("steps", 200, "how many to make")
flags.DEFINE_float("learning_rate", 0.1, "of gradient descent")
FLAGS = flags.FLAGS


def variable(name: str, shape: list[int], scale: float) -> tf.Variable:
    """Returns a variable on the first CPU, the same one in all towers."""
    with tf.device("/cpu:0"):
        start = tf.truncated_normal_initializer(stddev=scale)
        return tf.get_variable(name, shape, initializer=start)


def tower_loss(images: tf.Tensor, labels: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the loss of a share of the batch, and how much of it was told right."""
    hidden = tf.nn.relu(
        tf.matmul(images, variable("w1", [784, 64], 1 / 28)) + variable("b1", [64], 0.1)
    )
    scores = tf.matmul(hidden, variable("w2", [64, 10], 1 / 8)) + variable("b2", [10], 0.1)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=scores)
    right = tf.equal(tf.argmax(scores, 1, output_type=tf.int32), labels)
    return tf.reduce_mean(losses), tf.reduce_mean(tf.cast(right, tf.float32))


def average_gradients(tower_grads: list) -> list:
    """Returns pairs of mean gradient and variable from those of each tower."""
    averaged = []
    for pairs in zip(*tower_grads, strict=True):
        stacked = tf.stack([grad for grad, _ in pairs])
        averaged.append((tf.reduce_mean(stacked, 0), pairs[0][1]))
    return averaged


def main(_: list[str]) -> None:
    """Builds the towers, trains, and prints how it goes."""
    pictures, labels, test_pictures, test_labels = load_mnist()
    with tf.Graph().as_default(), tf.device("/cpu:0"):
        x = tf.placeholder(tf.float32, [None, 784])
        y = tf.placeholder(tf.int32, [None])
        optimizer = tf.train.GradientDescentOptimizer(FLAGS.learning_rate)
        step = tf.train.get_or_create_global_step()
        tower_grads, losses, rights = [], [], []
        shares = zip(tf.split(x, FLAGS.towers), tf.split(y, FLAGS.towers), strict=True)
        for number, (images, digits) in enumerate(shares):
            with (
                tf.device(f"/{FLAGS.device}:{number}"),
                tf.name_scope(f"tower_{number}"),
                tf.variable_scope("model", reuse=tf.AUTO_REUSE),
            ):
                loss, right = tower_loss(images, digits)
                tower_grads.append(optimizer.compute_gradients(loss))
                losses.append(loss)
                rights.append(right)
        train = optimizer.apply_gradients(average_gradients(tower_grads), global_step=step)
        loss, accuracy = tf.add_n(losses) / FLAGS.towers, tf.add_n(rights) / FLAGS.towers
        config = tf.ConfigProto(allow_soft_placement=True)
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            draw = np.random.default_rng(0)
            for number in range(FLAGS.steps):
                rows = draw.integers(len(pictures), size=FLAGS.batch_size)
                feeds = {x: pictures[rows].reshape(-1, 784) / 255, y: labels[rows]}
                _, value = session.run([train, loss], feeds)
                if number % 50 == 49:
                    print(f"step {number + 1}: loss {value:.3f}")
            count = len(test_labels) // FLAGS.towers * FLAGS.towers
            test = test_pictures[:count].reshape(-1, 784) / 255
            found = session.run(accuracy, {x: test, y: test_labels[:count]})
            print(f"accuracy {found:.3f}")


if __name__ == "__main__":
    tf.app.run()
