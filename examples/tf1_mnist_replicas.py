"""Digits, TensorFlow 1.x's way: a parameter server and workers, each its own process.

    python examples/tf1_mnist_replicas.py --job_name=ps --task_index=0 &
    python examples/tf1_mnist_replicas.py --job_name=worker --task_index=0 &
    python examples/tf1_mnist_replicas.py --job_name=worker --task_index=1

With --sync the workers average their gradients; else each changes the variables for itself. Each
builds the graph; the variables are those of the server, which runs until it is killed. Kill any of
the three and start it again with the same line: training goes on. With `import
tensorflow.compat.v1 as tf` it is a script for TensorFlow.
"""

from __future__ import annotations

import numpy as np

import hybridnet.compat.tf1 as tf
from hybridnet.io.mnist import load_mnist

flags = tf.app.flags
flags.DEFINE_string("ps_hosts", "localhost:2222", "the servers, with commas between")
flags.DEFINE_string("worker_hosts", "localhost:2223,localhost:2224", "the workers, likewise")
flags.DEFINE_string("job_name", "", "ps or worker: what this process is")
flags.DEFINE_integer("task_index", 0, "its number")
flags.DEFINE_string("logdir", "logs", "where the chief keeps checkpoints")
flags.DEFINE_integer("train_steps", 300, "steps of all workers together")
flags.DEFINE_integer("batch_size", 50, "images in a step")
flags.DEFINE_integer("hidden_units", 64, "of the layer between")
flags.DEFINE_float("learning_rate", 0.1, "of gradient descent")
flags.DEFINE_boolean("sync", False, "whether all workers make each step together")
FLAGS = flags.FLAGS


def network(images: tf.Tensor) -> tf.Tensor:
    """Returns (n, 10) the digits' scores."""
    units = FLAGS.hidden_units
    w1 = tf.Variable(tf.truncated_normal([784, units], stddev=1 / 28, seed=1), name="hid_w")
    b1 = tf.Variable(tf.zeros([units]), name="hid_b")
    w2 = tf.Variable(tf.truncated_normal([units, 10], stddev=units**-0.5, seed=2), name="sm_w")
    b2 = tf.Variable(tf.zeros([10]), name="sm_b")
    return tf.nn.xw_plus_b(tf.nn.relu(tf.nn.xw_plus_b(images, w1, b1)), w2, b2)


def main(_: list[str]) -> None:
    """Serves, or trains."""
    cluster = tf.train.ClusterSpec(
        {"ps": FLAGS.ps_hosts.split(","), "worker": FLAGS.worker_hosts.split(",")}
    )
    server = tf.train.Server(cluster, job_name=FLAGS.job_name, task_index=FLAGS.task_index)
    if FLAGS.job_name == "ps":
        server.join()
        return

    pictures, labels, test_pictures, test_labels = load_mnist()
    worker = f"/job:worker/task:{FLAGS.task_index}"
    with tf.device(tf.train.replica_device_setter(worker_device=worker, cluster=cluster)):
        x = tf.placeholder(tf.float32, [None, 784])
        y = tf.placeholder(tf.int32, [None])
        scores = network(x)
        loss = tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=scores)
        )
        right = tf.equal(tf.argmax(scores, 1, output_type=tf.int32), y)
        accuracy = tf.reduce_mean(tf.cast(right, tf.float32))
        step = tf.train.get_or_create_global_step()
        optimizer = tf.train.GradientDescentOptimizer(FLAGS.learning_rate)
        if FLAGS.sync:
            optimizer = tf.train.SyncReplicasOptimizer(optimizer, cluster.num_tasks("worker"))
        train = optimizer.minimize(loss, global_step=step)

    def pixels(rows: np.ndarray) -> np.ndarray:
        return rows.reshape(-1, 784).astype(np.float32) / 255

    hooks = [tf.train.StopAtStepHook(last_step=FLAGS.train_steps)]
    if FLAGS.sync:
        hooks.append(optimizer.make_session_run_hook(FLAGS.task_index == 0))
    draw = np.random.default_rng(FLAGS.task_index)
    with tf.train.MonitoredTrainingSession(
        master=server.target,
        is_chief=FLAGS.task_index == 0,
        checkpoint_dir=FLAGS.logdir,
        hooks=hooks,
        save_checkpoint_secs=2,
    ) as session:
        while not session.should_stop():
            rows = draw.integers(len(pictures), size=FLAGS.batch_size)
            feeds = {x: pixels(pictures[rows]), y: labels[rows]}
            _, value, count = session.run([train, loss, step], feeds)
            if count % 50 == 0:
                print(f"worker {FLAGS.task_index}, step {count}: loss {value:.3f}", flush=True)
            if count >= FLAGS.train_steps - 20 and not session.should_stop():
                found = session.run(accuracy, {x: pixels(test_pictures), y: test_labels})
                print(f"worker {FLAGS.task_index}: accuracy {found:.3f}", flush=True)


if __name__ == "__main__":
    tf.app.run()
