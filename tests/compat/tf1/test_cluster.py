"""Clusters in words, and which task holds what: as TensorFlow's own documentation says."""

from __future__ import annotations

import pytest

import hybridnet.compat.tf1 as tf

WORDS = {"ps": ["ps0:2222", "ps1:2222"], "worker": ["worker0:2222", "worker1:2222", "worker2:2222"]}


@pytest.fixture(autouse=True)
def own_graph():
    with tf.Graph().as_default():
        yield


def test_a_cluster_says_what_it_was_given():
    cluster = tf.train.ClusterSpec(WORDS)
    assert cluster.jobs == ["ps", "worker"] and cluster.as_dict() == WORDS
    assert cluster.num_tasks("worker") == 3 and cluster.task_indices("ps") == [0, 1]
    assert cluster.task_address("worker", 2) == "worker2:2222"
    assert cluster.job_tasks("ps") == WORDS["ps"]
    assert cluster == tf.train.ClusterSpec(cluster) and cluster
    assert not tf.train.ClusterSpec({})


def test_tasks_may_be_left_out():
    cluster = tf.train.ClusterSpec({"worker": {3: "c:1", 1: "a:1"}})
    assert cluster.as_dict() == {"worker": {1: "a:1", 3: "c:1"}}
    assert cluster.job_tasks("worker") == [None, "a:1", None, "c:1"]
    assert cluster.num_tasks("worker") == 2


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda c: tf.train.ClusterSpec(["a:1"]), TypeError, "must be a dictionary"),
        (lambda c: tf.train.ClusterSpec({"ps": "a:1"}), TypeError, "tasks of job 'ps'"),
        (lambda c: tf.train.ClusterSpec({3: ["a:1"]}), TypeError, "name of a job"),
        (lambda c: tf.train.ClusterSpec({"ps": {-1: "a:1"}}), ValueError, ">= 0"),
        (lambda c: c.num_tasks("chief"), ValueError, "No such job in cluster: 'chief'"),
        (lambda c: c.task_address("ps", 2), ValueError, "No task with index 2 in job 'ps'"),
        (
            lambda c: tf.train.replica_device_setter(2, ps_strategy=3),
            TypeError,
            "ps_strategy must be callable",
        ),
    ],
)
def test_what_is_wrong_is_said(call, error, message):
    with pytest.raises(error, match=message):
        call(tf.train.ClusterSpec(WORDS))


def test_variables_go_to_the_servers_in_turn_and_the_rest_to_a_worker():
    with tf.device(tf.train.replica_device_setter(cluster=WORDS)):
        made = [tf.Variable(1.0) for _ in range(3)]
        total = made[0] + made[1]
    assert [one.device for one in made] == ["/job:ps/task:0", "/job:ps/task:1", "/job:ps/task:0"]
    assert total.device == "/job:worker"


def test_an_operations_own_device_counts_too():
    setter = tf.train.replica_device_setter(1, worker_device="/job:worker/task:7")
    with tf.device(setter), tf.device("/cpu:0"):
        v = tf.Variable(1.0)
        y = v * 2.0
    assert v.device == "/job:ps/task:0/device:CPU:0"
    assert y.device == "/job:worker/task:7/device:CPU:0"


def test_where_there_are_no_servers_nothing_is_moved():
    assert tf.train.replica_device_setter() is None
    assert tf.train.replica_device_setter(cluster={"worker": ["a:1"]}) is None


def test_who_chooses_the_task_may_be_a_users():
    setter = tf.train.replica_device_setter(9, ps_strategy=lambda op: len(op.name))
    with tf.device(setter):
        v = tf.Variable(1.0, name="four")
    assert v.device == "/job:ps/task:4"


def test_a_program_for_a_cluster_can_be_tried_in_one_process():
    with tf.device(tf.train.replica_device_setter(1)):
        v = tf.Variable(2.0)
        y = v * 3.0
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(y) == 6.0


def test_a_gradient_is_where_it_is_made_and_scaled_there():
    # TensorFlow 2.21 says so of the gradient; it scales it where the variable is, which changes no
    # number.
    with tf.device(tf.train.replica_device_setter(1, worker_device="/job:worker/task:1")):
        x = tf.placeholder(tf.float32, [None, 8])
        w = tf.Variable(tf.ones([8, 3]))
        loss = tf.reduce_mean(tf.matmul(x, w))
        (grad,) = tf.gradients(loss, [w])
        tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    graph = tf.get_default_graph()
    where = {op.type: op.device for op in graph.get_operations()}
    assert grad.device == where["Mul"] == "/job:worker/task:1"
    assert where["ApplyGradientDescent"] == w.device == "/job:ps/task:0"
