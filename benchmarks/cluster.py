"""Steps over two tasks, a parameter server and a worker: hybridnet's against TensorFlow's servers.

Both run the same program with TensorFlow 1.x's names, one process for each task, on one machine and
loopback: it says nothing of real networks. The two take turns, and the median of all rounds counts.

    python benchmarks/cluster.py [--tensorflow-python PYTHON] [--turns 3]

PYTHON is an interpreter with TensorFlow 2; without it only hybridnet is timed.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

#: Work -> rounds.
WORK = {"a number of each": 500, "8 floats": 500, "100 MB": 9, "softmax, 100 images": 500}
WARM = 5


def names(framework: str) -> Any:
    if framework == "hybridnet":
        import hybridnet.compat.tf1 as tf
    else:
        os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
        import tensorflow.compat.v1 as tf

        tf.disable_eager_execution()
    return tf


def work(tf: Any, spec: dict[str, list[str]], target: str) -> dict[str, list[float]]:
    """Times all work; the numbers that come out are looked at, too."""
    import numpy as np

    rows = np.random.default_rng(0).random((100, 784)).astype(np.float32)
    labels = np.eye(10, dtype=np.float32)[np.arange(100) % 10]
    with tf.device("/job:ps/task:0"):
        small, large = (tf.Variable(tf.zeros([size])) for size in (8, 25_000_000))
        one = tf.Variable(1.0) + 1.0
    with tf.device("/job:worker/task:0"):
        two = tf.Variable(2.0) + 1.0
        few, many = small + 1.0, tf.reduce_max(large)
    with tf.device(tf.train.replica_device_setter(cluster=tf.train.ClusterSpec(spec))):
        images = tf.placeholder(tf.float32, [None, 784])
        wanted = tf.placeholder(tf.float32, [None, 10])
        weights, bias = tf.Variable(tf.zeros([784, 10])), tf.Variable(tf.zeros([10]))
        logits = tf.matmul(images, weights) + bias
        loss = tf.reduce_mean(
            tf.nn.softmax_cross_entropy_with_logits_v2(labels=wanted, logits=logits)
        )
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    with tf.Session(target) as sess:
        sess.run(tf.global_variables_initializer())
        feeds = {images: rows, wanted: labels}
        runs: dict[str, Callable[[], Any]] = {
            "a number of each": lambda: sess.run([one, two]),
            "8 floats": lambda: sess.run(few),
            "100 MB": lambda: sess.run(many),
            "softmax, 100 images": lambda: sess.run(train, feeds),
        }
        found = {}
        for name, rounds in WORK.items():
            times = []
            for turn in range(rounds + WARM):
                begun = time.perf_counter()
                runs[name]()
                if turn >= WARM:
                    times.append(time.perf_counter() - begun)
            found[name] = times
        assert sess.run(few).tolist() == [1.0] * 8 and sess.run(loss, feeds) < 2.0
    return found


def be_task(framework: str, job: str, spec: dict[str, list[str]]) -> None:
    tf = names(framework)
    server = tf.train.Server(tf.train.ClusterSpec(spec), job_name=job, task_index=0)
    if job == "ps":
        server.join()
    print(json.dumps(work(tf, spec, server.target)), flush=True)
    os._exit(0)  # TensorFlow's servers do not end


def free() -> str:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return f"localhost:{one.getsockname()[1]}"


def turn(framework: str, python: str) -> dict[str, list[float]]:
    spec = {"ps": [free()], "worker": [free()]}
    command = [python, __file__, "--framework", framework, "--spec", json.dumps(spec), "--job"]
    server = subprocess.Popen([*command, "ps"], stderr=subprocess.DEVNULL)
    try:
        worker = subprocess.run([*command, "worker"], stdout=subprocess.PIPE, text=True, check=True)
    finally:
        server.kill()
        server.wait()
    found: dict[str, list[float]] = json.loads(worker.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tensorflow-python", help="an interpreter that has TensorFlow")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--framework", default="", help=argparse.SUPPRESS)
    parser.add_argument("--job", default="", help=argparse.SUPPRESS)
    parser.add_argument("--spec", default="", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.job:
        be_task(args.framework, args.job, json.loads(args.spec))
        return
    contestants = {"hybridnet": sys.executable}
    if args.tensorflow_python:
        contestants["tensorflow"] = args.tensorflow_python
    times: dict[str, dict[str, list[float]]] = {name: {} for name in contestants}
    for _ in range(args.turns):
        for name, python in contestants.items():
            for one, found in turn(name, python).items():
                times[name].setdefault(one, []).extend(found)
    print("ms (median)          " + "".join(f"{name:>12}" for name in contestants))
    for one in WORK:
        medians = [1e3 * statistics.median(times[name][one]) for name in contestants]
        ratio = f"{medians[0] / medians[1]:10.2f} x" if len(medians) > 1 else ""
        print(f"{one:21}" + "".join(f"{value:12.2f}" for value in medians) + ratio)


if __name__ == "__main__":
    main()
