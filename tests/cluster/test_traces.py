"""What a session tells of a step over tasks: which part ran where, when, and what was sent."""

import json

import numpy as np
import pytest
from cluster_tasks import on_tasks, served, started

import hybridnet as hn
import hybridnet.compat.tf1 as tf
from hybridnet.compat.tf1.python.client import timeline

pytest.importorskip("zmq")

PS = "/job:ps/replica:0/task:0/device:cpu:0"
WORKER = "/job:worker/replica:0/task:0/device:cpu:0"


@pytest.fixture
def linear():
    """A session of a worker whose weight is another process's; the rows, and what trains it."""
    spec = on_tasks()
    with tf.Graph().as_default(), served(spec, "worker") as server, started(spec, "ps"):
        with tf.device(tf.train.replica_device_setter(cluster=spec)):
            w = tf.Variable(np.ones((3, 2), np.float32), name="w")
            x = tf.placeholder(tf.float32, [None, 3], name="x")
            total = tf.reduce_sum(tf.matmul(x, w))
            train = tf.train.GradientDescentOptimizer(0.1).minimize(total)
        with tf.Session(server.target) as session:
            session.run(tf.global_variables_initializer())
            yield session, x, total, train


def test_a_traced_step_tells_the_parts_of_all_tasks_and_the_sizes_of_what_they_sent(linear):
    session, x, _, train = linear
    options = tf.RunOptions(tf.RunOptions.FULL_TRACE, output_partition_graphs=True)
    metadata = tf.RunMetadata()
    session.run(train, {x: np.ones((2, 3))}, options, metadata)
    stats = {one.device: one.node_stats for one in metadata.step_stats.dev_stats}
    assert set(stats) == {PS, WORKER}
    sent = {
        device: [one.timeline_label for one in nodes if one.node_name == "RecvTensor"]
        for device, nodes in stats.items()
    }
    assert sent[WORKER] == [f"[24 B] w:0 from {PS} to {WORKER}"]
    (gradient,) = sent[PS]
    assert gradient.startswith("[24 B] ") and gradient.endswith(f" from {WORKER} to {PS}")
    assert any("dot" in one.timeline_label for one in stats[WORKER])
    begun = [one.all_start_micros for one in stats[WORKER]]
    assert begun == sorted(begun) and all(one.all_end_rel_micros >= 0 for one in stats[PS])
    text = timeline.Timeline(metadata.step_stats).generate_chrome_trace_format()
    events = json.loads(text)["traceEvents"]
    named = {one["args"]["name"]: one["pid"] for one in events if one["name"] == "process_name"}
    assert {
        name: sum(one["pid"] == pid for one in events if one["ph"] == "X")
        for name, pid in named.items()
    } == {name: len(one) for name, one in stats.items()}
    graphs = {one.device: [node.op for node in one.node] for one in metadata.partition_graphs}
    assert set(graphs) == {PS, WORKER}
    assert "dot" in graphs[WORKER] and "_Send" in graphs[PS] and "dot" not in graphs[PS]


def test_a_traced_step_that_fails_leaves_nothing_behind(linear):
    session, x, total, _ = linear
    options, metadata = tf.RunOptions(tf.RunOptions.FULL_TRACE), tf.RunMetadata()
    with pytest.raises(tf.errors.OpError):
        session.run(tf.py_func(lambda: 1 // 0, [], tf.int64) + 1, {}, options, metadata)
    assert hn.runtime.observe.events.observer is None
    assert session.run(total, {x: np.ones((1, 3))}) == 6


def test_the_profiler_of_a_task_shows_what_came_from_others(linear):
    session, x, total, _ = linear
    hn.profiler.set_state("run")
    try:
        session.run(total, {x: np.ones((1, 3))})
    finally:
        hn.profiler.set_state("stop")
    names = [one.name for one in hn.profiler.events() if one.kind == "transfer"]
    assert names == [f"[24 B] w:0 from {PS} to {WORKER}"]
