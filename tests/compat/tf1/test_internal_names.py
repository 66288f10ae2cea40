"""Modules of TensorFlow's own that scripts import hold the names of ``tf``; and ``tf.test``."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap

import pytest

import hybridnet.compat.tf1 as tf
from hybridnet.compat.tf1.python.client import timeline
from hybridnet.compat.tf1.python.framework import dtypes, ops, tensor_shape
from hybridnet.compat.tf1.python.ops import array_ops, control_flow_ops, nn_ops, tensor_array_ops
from hybridnet.compat.tf1.python.platform import gfile, tf_logging
from hybridnet.compat.tf1.python.util import compat, nest
from hybridnet.session.metadata import DeviceStepStats, NodeExecStats


def test_the_names_are_those_of_tf():
    assert array_ops.concat is tf.concat and control_flow_ops.while_loop is tf.while_loop
    assert tensor_array_ops.TensorArray is tf.TensorArray and nn_ops.softmax is tf.nn.softmax
    assert ops.get_default_graph is tf.get_default_graph and dtypes.float32 is tf.float32
    assert tensor_shape.TensorShape is tf.TensorShape and gfile.Exists is tf.gfile.Exists
    assert tf_logging.info is tf.logging.info and compat.as_str(b"a") == "a"
    assert nest.flatten is tf.nest.flatten


def test_a_timeline_has_a_bar_for_each_node_of_a_step():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2, 2])
        metadata = tf.RunMetadata()
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        session.run(tf.nn.relu(tf.matmul(x, x)), {x: [[1, 2], [3, 4]]}, options, metadata)
    (device,) = metadata.step_stats.dev_stats
    made = timeline.Timeline(metadata.step_stats).generate_chrome_trace_format(show_memory=True)
    events = json.loads(made)["traceEvents"]
    bars = [one for one in events if one["ph"] == "X"]
    assert [(one["name"], one["args"]["name"], one["ts"], one["dur"]) for one in bars] == [
        (one.timeline_label, one.node_name, one.all_start_micros, one.all_end_rel_micros)
        for one in device.node_stats
    ]
    names = {one["pid"]: one["args"]["name"] for one in events if one["name"] == "process_name"}
    assert list(names.values()) == [device.device] and {one["pid"] for one in bars} == set(names)


def test_what_overlaps_on_a_device_has_rows_beside_each_other():
    stats = tf.RunMetadata().step_stats
    spans = [("a", 5, 10), ("b", 10, 10), ("c", 20, 5)]
    nodes = [NodeExecStats(name, start, took) for name, start, took in spans]
    stats.dev_stats = [DeviceStepStats("one", nodes), DeviceStepStats("two", nodes[:1])]
    events = json.loads(timeline.Timeline(stats).generate_chrome_trace_format())["traceEvents"]
    places = [(one["name"], one["pid"], one["tid"]) for one in events if one["ph"] == "X"]
    (_, one, row), (_, _, beside), _, (_, two, _) = places
    assert one != two and row != beside
    assert places == [("a", one, row), ("b", one, beside), ("c", one, row), ("a", two, row)]


@pytest.mark.slow
def test_a_script_of_tests_is_run(tmp_path):
    script = tmp_path / "square_test.py"
    script.write_text(
        textwrap.dedent("""
            import hybridnet.compat.tf1 as tf

            class SquareTest(tf.test.TestCase):
                def testSquare(self):
                    with self.test_session():
                        self.assertAllEqual(tf.square([2, 3]).eval(), [4, 9])

                def testNames(self):
                    self.assertEqual(tf.constant(1).name, "Const:0")  # a graph of its own

                def testFails(self):
                    self.assertAllClose(tf.square(2.0), 5.0)

            if __name__ == "__main__":
                tf.test.main()
        """)
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "failures=1, skipped=1" in done.stderr, done.stderr  # as there, test_session is none
    assert "FAIL: testFails" in done.stderr
