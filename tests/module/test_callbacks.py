"""Callbacks and the monitor: what they write, and when."""

from __future__ import annotations

import logging
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from contextlib import suppress
from fcntl import ioctl

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient

import hybridnet as mx
from hybridnet import callback, nd, sym
from hybridnet.base.errors import ParameterError
from hybridnet.io import DataBatch


def told(nbatch, metric=None, epoch=0):
    return mx.model.BatchEndParam(epoch, nbatch, metric, None)


def accuracy():
    metric = mx.metric.create("acc")
    metric.update([nd.array([0, 1])], [nd.array([[1, 0], [1, 0]])])
    return metric


@pytest.fixture
def lines(caplog):
    caplog.set_level(logging.INFO, "root")
    return lambda: [r.getMessage() for r in caplog.records if r.name == "root"]


def test_speed_is_logged_every_so_many_batches(lines):
    metric = accuracy()
    meter = mx.callback.Speedometer(10, frequent=2)
    for count in range(5):
        meter(told(count, metric))
    first, second = lines()
    assert re.fullmatch(
        r"Epoch\[0\] Batch \[0-2\]\tSpeed: [\d.]+ samples/sec\taccuracy=0.500000", first
    )
    assert "Batch [2-4]" in second and second.endswith("accuracy=nan")  # it began anew
    meter(told(0, metric, 1))  # another pass: the clock starts
    assert len(lines()) == 2
    whole = mx.callback.Speedometer(10, 1, auto_reset=False)
    for count in range(2):
        whole(told(count, accuracy()))
    assert "Batch [0-1]" in lines()[2]
    plain = mx.callback.Speedometer(10, 1)
    plain(told(0))
    plain(told(1))
    assert re.fullmatch(r"Iter\[0\] Batch \[1\]\tSpeed: [\d.]+ samples/sec", lines()[3])


def test_a_bar_shows_how_far_it_is(lines):
    mx.callback.ProgressBar(4, length=8)(told(1))
    assert lines() == ["[==------] 25%\r"]
    with pytest.raises(ParameterError, match="total must be at least 1"):
        mx.callback.ProgressBar(0)


BAR = """
import hybridnet as mx
from hybridnet.model import BatchEndParam
bar = mx.callback.ProgressBar(total=3, length=20)
for epoch in range(2):
    for number in range(3):
        bar(BatchEndParam(epoch, number, None, None))
mx.callback.ProgressBar(total=30)(BatchEndParam(7, 1, None, None))
assert (bar.total, bar.bar_len) == (3, 20)
print("done")
"""


def drawn(text):
    """The lines as they were left: each is written over again and again."""
    return [
        line.rstrip("\r").rpartition("\r")[2] for line in text.replace("\r\n", "\n").split("\n")
    ]


def test_a_terminal_shows_a_bar_for_each_pass():
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 20, 60, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    process = subprocess.Popen(
        [sys.executable, "-c", BAR], stdout=theirs, stderr=theirs, env=environment
    )
    os.close(theirs)
    shown = b""
    with suppress(OSError):  # the other side is closed
        while text := os.read(ours, 1000):
            shown += text
    assert process.wait(60) == 0
    os.close(ours)
    first, second, third, done = drawn(shown.decode())[:4]
    assert re.match(r"Epoch\[0\]: 100%\|█+\| 3/3 ", first), shown
    assert re.match(r"Epoch\[1\]: 100%\|█+\| 3/3 ", second)
    assert re.match(r"Epoch\[7\]:   3%\|[^|]*\| 1/30 ", third)
    assert max(map(len, (first, second, third))) < 60 and done == "done"


def test_a_file_shows_no_bar_and_a_log_has_lines():
    code = "import logging; logging.basicConfig(level=logging.INFO)" + BAR
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[:2] == [
        "INFO:root:[--------------------] 0%",
        "INFO:root:[=======-------------] 34%",
    ]
    assert "|" not in done.stderr


def test_a_notebook_shows_a_bar():
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(BAR)])
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    outputs = [one for one in notebook.cells[0].outputs if one.get("name") == "stderr"]
    shown = "\n".join(drawn("".join(one.text for one in outputs)))
    assert re.search(r"Epoch\[1\]: 100%\|█+\| 3/3 ", shown), notebook.cells[0].outputs


def test_without_the_library_lines_are_logged(lines, monkeypatch):
    monkeypatch.setattr(callback, "_is_watched", lambda: True)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    callback._bar_type.cache_clear()
    try:
        mx.callback.ProgressBar(4, length=8)(told(1))
    finally:
        callback._bar_type.cache_clear()
    assert lines() == ["[==------] 25%\r"]


def test_metrics_are_logged(lines):
    metric = accuracy()
    log = mx.callback.log_train_metric(2, auto_reset=True)
    for count in (1, 2):
        log(told(count, metric))
    mx.callback.LogValidationMetricsCallback()(told(3, accuracy(), 7))
    mx.callback.LogValidationMetricsCallback()(told(3))
    assert lines() == [
        "Iter[0] Batch[2] Train-accuracy=0.500000",
        "Epoch[7] Validation-accuracy=0.500000",
    ]
    assert np.isnan(metric.get()[1])


def test_checkpoints_are_written_every_so_many_passes(tmp_path):
    out = sym.FullyConnected(sym.var("data"), num_hidden=2, name="fc")
    save = mx.callback.do_checkpoint(str(tmp_path / "a"), 2)
    for epoch in range(4):
        save(epoch, out, {"fc_bias": nd.zeros((2,))}, {})
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "a-0002.params", "a-0004.params", "a-symbol.json",
    ]  # fmt: skip
    calls = []

    class Fake:
        def save_checkpoint(self, *given):
            calls.append(given)

    save = mx.callback.module_checkpoint(Fake(), "b", 2, save_optimizer_states=True)
    for epoch in range(4):
        save(epoch)
    assert calls == [("b", 2, True), ("b", 4, True)]


# -- the monitor -----------------------------------------------------------------------------


def network():
    h = sym.FullyConnected(sym.var("data"), num_hidden=2, name="fc")
    return sym.LinearRegressionOutput(sym.Activation(h, act_type="tanh", name="act"), name="out")


def trained(monitor, monitored=1):
    module = mx.mod.Module(network(), label_names=["out_label"])
    module.bind([("data", (1, 2))], [("out_label", (1, 2))])
    module.install_monitor(monitor)
    module.init_params(mx.init.One())
    seen = []
    for _ in range(monitored):
        monitor.tic()
        module.forward_backward(DataBatch([nd.ones((1, 2))], [nd.zeros((1, 2))]))
        seen.append(monitor.toc())
    return seen


def test_arrays_and_outputs_are_noted_for_some_batches():
    first, second, third = trained(mx.mon.Monitor(2, pattern="fc.*"), 3)
    assert second == []
    assert [name for _, name, _ in first if "backward" not in name] == [
        "fc_output", "fc_weight", "fc_bias",
    ]  # fmt: skip
    assert [step for step, _, _ in (*first, *third)] == [1] * len(first) + [3] * len(third)
    text = {name: value for _, name, value in first}
    assert text["fc_output"] == "2.0\t" and text["fc_bias"] == "0.0\t"


def test_gradients_inside_are_noted_after_backward():
    """The names are MXNet 1.9.1's."""
    bound = network().simple_bind(mx.cpu(), data=(3, 2), out_label=(3, 2))
    for number, array in enumerate(bound.arg_dict.values(), 1):
        array[:] = nd.random.normal(shape=array.shape) * number
    bound.forward(is_train=True)
    bound.backward()
    wanted = {name: grad.asnumpy() for name, grad in bound.grad_dict.items()}
    seen = {}
    bound.set_monitor_callback(lambda name, array: seen.update({name: array.asnumpy()}))
    bound.forward(is_train=True)
    assert list(seen) == ["fc_output", "act_output", "out_output"]
    bound.backward()
    assert list(seen)[3:] == [
        "out_backward_output0", "out_backward_output1", "act_backward_output",
        "fc_backward_output0", "fc_backward_output1", "fc_backward_output2",
    ]  # fmt: skip
    for number, name in enumerate(("data", "fc_weight", "fc_bias")):
        np.testing.assert_allclose(seen[f"fc_backward_output{number}"], wanted[name], rtol=1e-6)
    error = seen["out_output"] - bound.arg_dict["out_label"].asnumpy()
    np.testing.assert_allclose(seen["out_backward_output0"], error / 2, rtol=1e-5)
    inside = seen["out_backward_output0"] * (1 - seen["act_output"] ** 2)
    np.testing.assert_allclose(seen["act_backward_output"], inside, rtol=1e-4, atol=1e-6)
    assert not seen["out_backward_output1"].any()
    seen.clear()
    bound.set_monitor_callback(None)
    bound.forward(is_train=True)
    bound.backward()
    for name, grad in wanted.items():
        np.testing.assert_array_equal(bound.grad_dict[name].asnumpy(), grad)
    assert not seen and "fc" in bound.debug_str()


def test_notes_are_sorted_and_statistics_are_the_users(lines):
    monitor = mx.mon.Monitor(1, lambda x: [x.max(), x.reshape((-1,))], "fc_w.*|act_o.*", sort=True)
    (notes,) = trained(monitor)
    assert [name for _, name, _ in notes] == ["act_output", "fc_weight"]
    assert notes[1][2] == "1.0\t[1. 1. 1. 1.]\t"
    monitor.tic()
    monitor.toc_print()
    assert lines()[0].split() == ["Batch:", "2", "fc_weight", "1.0", "[1.", "1.", "1.", "1.]"]
    with pytest.raises(ParameterError, match="must return an NDArray or a list of them, got 3"):
        trained(mx.mon.Monitor(1, lambda x: 3))
