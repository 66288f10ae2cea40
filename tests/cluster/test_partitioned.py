"""Tables that are cut over two servers in processes of their own: trained, saved, cut anew."""

import numpy as np
import pytest
from cluster_tasks import on_tasks, served, started

import hybridnet.compat.tf1 as tf

pytest.importorskip("zmq")

CLASSES, SIZE, TRUE = 11, 4, 2


def draw(*shape):
    return np.random.RandomState(sum(shape)).uniform(-1, 1, shape).astype(np.float32)


def by_numpy(table, weights, biases, ids, labels, drawn, strategy, rate):
    """One step of noise-contrastive training; changes the arrays, returns the mean loss."""
    true = labels.reshape(-1)
    row = (lambda i: i) if strategy == "div" else _rows_by_mod(len(table))
    at = row(ids)
    x = table[at]
    chosen = [
        np.concatenate([row(true[n * TRUE : (n + 1) * TRUE]), row(drawn)]) for n in range(len(ids))
    ]
    loss, moves = 0.0, []
    for example, (vector, classes) in enumerate(zip(x, chosen, strict=True)):
        scores = weights[classes] @ vector + biases[classes] - np.log(0.5)
        wanted = np.r_[np.full(TRUE, 1 / TRUE), np.zeros(len(drawn))]
        loss += np.sum(np.logaddexp(0, scores) - wanted * scores)
        error = (1 / (1 + np.exp(-scores)) - wanted) / len(ids)
        moves.append((at[example], classes, error, vector.copy()))
    change = [np.zeros_like(one) for one in (table, weights, biases)]
    for place, classes, error, vector in moves:
        change[0][place] += error @ weights[classes]
        np.add.at(change[1], classes, error[:, None] * vector)
        np.add.at(change[2], classes, error)
    for one, by in zip((table, weights, biases), change, strict=True):
        one -= rate * by
    return loss / len(ids)


def _rows_by_mod(count):
    """Where in a table of two parts one after the other the rows are that 'mod' finds."""
    return lambda ids: ids // 2 + ids % 2 * ((count + 1) // 2)


def words(spec, strategy):
    """A graph: tables in parts on the servers, the rest on the worker."""
    cut = tf.fixed_size_partitioner(2)
    with tf.device(tf.train.replica_device_setter(cluster=spec)):
        made = [
            tf.get_variable(name, shape, initializer=draw(*shape), partitioner=cut)
            for name, shape in [("w", [CLASSES, SIZE]), ("nce", [CLASSES, SIZE]), ("b", [CLASSES])]
        ]
        ids = tf.placeholder(tf.int64, [5])
        labels, drawn = tf.placeholder(tf.int64, [5, TRUE]), tf.placeholder(tf.int64, [3])
        x = tf.nn.embedding_lookup(made[0], ids, strategy)
        counts = tf.fill([5, TRUE], 0.5), tf.fill([3], 0.5)
        loss = tf.reduce_mean(
            tf.nn.nce_loss(
                made[1], made[2], labels, x, 3, CLASSES, TRUE, (drawn, *counts),
                partition_strategy=strategy,
            )
        )  # fmt: skip
        train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    return made, (ids, labels, drawn), loss, train


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["div", "mod"])
def test_embeddings_over_two_servers_learn_as_numpy_does(tmp_path, strategy):
    spec = on_tasks(ps=2)
    random = np.random.RandomState(0)
    want = [draw(CLASSES, SIZE), draw(CLASSES, SIZE), draw(CLASSES)]
    with tf.Graph().as_default(), started(spec, "ps", 0), started(spec, "ps", 1):
        made, fed, loss, train = words(spec, strategy)
        devices = [one.device for whole in made for one in whole]
        assert devices == ["/job:ps/task:0", "/job:ps/task:1"] * 3
        with served(spec, "worker") as server, tf.Session(server.target) as sess:
            sess.run(tf.global_variables_initializer())
            for _ in range(6):
                values = [random.randint(0, CLASSES, one.shape.as_list()) for one in fed]
                found, _ = sess.run([loss, train], dict(zip(fed, values, strict=True)))
                wanted = by_numpy(*want, *values, strategy, 0.5)
                np.testing.assert_allclose(found, wanted, rtol=1e-4)
            options, metadata = tf.RunOptions(tf.RunOptions.FULL_TRACE), tf.RunMetadata()
            parts = sess.run([list(one) for one in made])
            sess.run(loss, dict(zip(fed, values, strict=True)), options, metadata)
            sent = [
                node.timeline_label
                for one in metadata.step_stats.dev_stats
                for node in one.node_stats
                if node.node_name == "RecvTensor" and "/job:worker" in one.device
            ]
            assert sent and all("GatherV2" in one for one in sent), sent  # rows, and no table
            path = tf.train.Saver().save(sess, str(tmp_path / "model"))
    for got, wanted in zip(parts, want, strict=True):
        assert len(got[0]) == (CLASSES + 1) // 2
        np.testing.assert_allclose(np.concatenate(got), wanted, rtol=1e-4, atol=1e-6)
    shapes = {"b": [CLASSES], "nce": [CLASSES, SIZE], "w": [CLASSES, SIZE]}
    assert dict(tf.train.list_variables(path)) == shapes
    with tf.Graph().as_default(), tf.Session() as sess:
        three = tf.get_variable("w", [CLASSES, SIZE], partitioner=tf.fixed_size_partitioner(3))
        whole = tf.get_variable("nce", [CLASSES, SIZE])
        tf.train.Saver().restore(sess, path)
        np.testing.assert_array_equal(sess.run(three.as_tensor()), np.concatenate(parts[0]))
        np.testing.assert_array_equal(sess.run(whole), np.concatenate(parts[1]))
