"""Steps over tasks, a parameter server and workers: hybridnet's against TensorFlow's servers.

Both run the same program with TensorFlow 1.x's names, one process for each task, on one machine and
loopback: it says nothing of real networks. The two take turns, and the median of all rounds counts;
of two workers that train at the same time, the best turn. On a machine that others use, too, the
processor time of a step says more: that of the worker and the server together, of the best turn.

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
#: Steps of each of two workers that train digits side by side, and images in each.
REPLICA_STEPS, IMAGES = 400, 100


def names(framework: str) -> Any:
    if framework == "hybridnet":
        import hybridnet.compat.tf1 as tf
    else:
        os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
        import tensorflow.compat.v1 as tf

        tf.disable_eager_execution()
    return tf


def processor(server: int) -> float:
    """Returns the processor seconds of this process and the server."""
    with open(f"/proc/{server}/stat", encoding="utf-8") as file:
        user, system = file.read().rpartition(")")[2].split()[11:13]
    return time.process_time() + (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def work(
    tf: Any, spec: dict[str, list[str]], target: str, server: int
) -> dict[str, tuple[list[float], float]]:
    """Times all work; the numbers that come out are looked at, too.

    Returns:
        The seconds of each round, and the processor seconds of one.
    """
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
            times, spent = [], 0.0
            for turn in range(rounds + WARM):
                if turn == WARM:
                    spent = processor(server)
                begun = time.perf_counter()
                runs[name]()
                if turn >= WARM:
                    times.append(time.perf_counter() - begun)
            found[name] = times, (processor(server) - spent) / rounds
        assert sess.run(few).tolist() == [1.0] * 8 and sess.run(loss, feeds) < 2.0
    return found


def train(tf: Any, spec: dict[str, list[str]], target: str, number: int) -> float:
    """Trains digits beside other workers, each for itself; returns its steps in a second."""
    import numpy as np

    random = np.random.default_rng(number)
    rows = random.random((IMAGES, 784)).astype(np.float32)
    digits = random.integers(0, 10, IMAGES)
    worker = f"/job:worker/task:{number}"
    cluster = tf.train.ClusterSpec(spec)
    with tf.device(tf.train.replica_device_setter(worker_device=worker, cluster=cluster)):
        count = tf.train.get_or_create_global_step()
        there = tf.Variable(0, trainable=False)
        images = tf.placeholder(tf.float32, [None, 784])
        labels = tf.placeholder(tf.int32, [None])
        first = tf.Variable(tf.truncated_normal([784, 100], stddev=0.04))
        second = tf.Variable(tf.truncated_normal([100, 10], stddev=0.1))
        hidden = tf.nn.relu(tf.matmul(images, first) + tf.Variable(tf.zeros([100])))
        scores = tf.matmul(hidden, second) + tf.Variable(tf.zeros([10]))
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=scores)
        loss = tf.reduce_mean(losses)
        step = tf.train.GradientDescentOptimizer(0.05).minimize(loss, count)
        arrive = there.assign_add(1)
        begin, ready = tf.global_variables_initializer(), tf.report_uninitialized_variables()
    with tf.Session(target) as sess:
        if number == 0:
            sess.run(begin)
        while len(sess.run(ready)):
            time.sleep(0.2)
        feeds = {images: rows, labels: digits}
        for _ in range(WARM * 4):
            sess.run(step, feeds)
        sess.run(arrive)
        while sess.run(there) < len(spec["worker"]):
            time.sleep(0.01)
        begun = time.perf_counter()
        for _ in range(REPLICA_STEPS):
            sess.run(step, feeds)
        spent = time.perf_counter() - begun
        sess.run(arrive)
        while sess.run(there) < 2 * len(spec["worker"]):  # the others need this server
            time.sleep(0.01)
        assert sess.run(loss, feeds) < 2.3
    return REPLICA_STEPS / spent


def be_task(framework: str, job: str, spec: dict[str, list[str]], number: int, pid: int) -> None:
    tf = names(framework)
    server = tf.train.Server(tf.train.ClusterSpec(spec), job_name=job, task_index=number)
    if job == "ps":
        server.join()
    alone = len(spec["worker"]) == 1
    target = server.target
    found = work(tf, spec, target, pid) if alone else train(tf, spec, target, number)
    print(json.dumps(found), flush=True)
    os._exit(0)  # TensorFlow's servers do not end


def free() -> str:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return f"localhost:{one.getsockname()[1]}"


def turn(framework: str, python: str, workers: int = 1) -> list[Any]:
    """Returns what each worker has found."""
    spec = {"ps": [free()], "worker": [free() for _ in range(workers)]}
    command = [python, __file__, "--framework", framework, "--spec", json.dumps(spec), "--job"]
    server = subprocess.Popen([*command, "ps"], stderr=subprocess.DEVNULL)
    started = [
        subprocess.Popen(
            [*command, "worker", "--number", str(number), "--server", str(server.pid)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(workers)
    ]
    try:
        said = [one.communicate()[0] for one in started]
    finally:
        for one in (server, *started):
            one.kill()
            one.wait()
    return [json.loads(text.splitlines()[-1]) for text in said]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tensorflow-python", help="an interpreter that has TensorFlow")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--framework", default="", help=argparse.SUPPRESS)
    parser.add_argument("--job", default="", help=argparse.SUPPRESS)
    parser.add_argument("--spec", default="", help=argparse.SUPPRESS)
    parser.add_argument("--number", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--server", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--only-replicas", action="store_true", help="two workers, nothing else")
    args = parser.parse_args()
    if args.job:
        be_task(args.framework, args.job, json.loads(args.spec), args.number, args.server)
        return
    contestants = {"hybridnet": sys.executable}
    if args.tensorflow_python:
        contestants["tensorflow"] = args.tensorflow_python
    times: dict[str, dict[str, list[float]]] = {name: {} for name in contestants}
    spent: dict[str, dict[str, float]] = {name: {} for name in contestants}
    rates: dict[str, float] = dict.fromkeys(contestants, 0.0)
    for _ in range(args.turns):
        for name, python in contestants.items():
            if not args.only_replicas:
                for one, (found, used) in turn(name, python)[0].items():
                    times[name].setdefault(one, []).extend(found)
                    spent[name][one] = min(used, spent[name].get(one, used))
            rates[name] = max(rates[name], sum(turn(name, python, workers=2)))
    print_rates(rates)
    if not args.only_replicas:
        print_rows("ms (median)", times, statistics.median)
        print_rows("ms of processors", spent, float)


def print_rates(rates: dict[str, float]) -> None:
    found = list(rates.values())
    ratio = f"{found[0] / found[1]:10.2f} x" if len(found) > 1 else ""
    print(
        "digits, a server and two workers, steps/s" + "".join(f"{x:12.0f}" for x in found) + ratio
    )


def print_rows(title: str, of: dict[str, dict[str, Any]], number: Callable[[Any], float]) -> None:
    print(f"{title:21}" + "".join(f"{name:>12}" for name in of))
    for one in WORK:
        found = [1e3 * number(of[name][one]) for name in of]
        ratio = f"{found[0] / found[1]:10.2f} x" if len(found) > 1 else ""
        print(f"{one:21}" + "".join(f"{value:12.2f}" for value in found) + ratio)


if __name__ == "__main__":
    main()
