"""Sessions whose graphs run on several tasks: in this process, and in processes of their own."""

import os
import signal
import sys
import threading

import numpy as np
import pytest
from cluster_tasks import on_tasks, served, started

import hybridnet.compat.tf1 as tf

pytest.importorskip("zmq")


def linear(spec):
    with tf.device(tf.train.replica_device_setter(cluster=spec)):
        w = tf.Variable(np.ones((3, 2), np.float32), name="w")
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        y = tf.matmul(x, w)
        train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(y))
    return w, x, y, train


@pytest.mark.slow
def test_variables_of_a_server_in_another_process_outlive_a_client_until_it_is_killed():
    spec = on_tasks()
    rows = np.arange(6, dtype=np.float32).reshape(2, 3)
    want = 1 - 0.1 * rows.sum(0)[:, None].repeat(2, 1)
    with tf.Graph().as_default(), served(spec, "worker") as server:
        w, x, y, train = linear(spec)
        with started(spec, "ps") as process:
            with tf.Session(server.target) as sess:
                with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized"):
                    sess.run(y, {x: rows})
                sess.run(tf.global_variables_initializer())
                np.testing.assert_allclose(sess.run(y, {x: rows}), rows @ np.ones((3, 2)))
                sess.run(train, {x: rows})
            sess = tf.Session(server.target)
            np.testing.assert_allclose(sess.run(w), want, rtol=1e-6)
            np.testing.assert_allclose(sess.value_of(w).asnumpy(), want, rtol=1e-6)
            process.kill()
            process.wait()
            with pytest.raises(tf.errors.UnavailableError, match=r"/job:ps/replica:0/task:0"):
                for _ in range(100):  # the first ones may still be on their way to it
                    sess.run(y, {x: rows})
        with started(spec, "ps"):
            anew = tf.Session(server.target)
            anew.run(tf.global_variables_initializer())
            np.testing.assert_allclose(anew.run(w), np.ones((3, 2)))
            with pytest.raises((tf.errors.AbortedError, tf.errors.UnavailableError)) as found:
                sess.run(y, {x: rows})
            if isinstance(found.value, tf.errors.AbortedError):
                assert "are gone: restore a checkpoint" in str(found.value)
            anew.close()
        sess.close()


@pytest.fixture
def switching():
    """Threads take turns so often that steps overtake each other anywhere."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("switching")
def test_no_update_of_two_clients_is_lost():
    spec = on_tasks(ps=1, workers=2)
    with tf.Graph().as_default(), served(spec, "ps"):
        with tf.device(tf.train.replica_device_setter(cluster=spec)):
            count = tf.Variable(0.0, name="count")
            moved = tf.sin(tf.ones([50, 50]))
            add = count.assign_add(tf.reduce_sum(moved) * 0 + 1)
        init = tf.global_variables_initializer()
        with served(spec, "worker", 0) as one, served(spec, "worker", 1) as two:
            with tf.Session(one.target) as sess:
                sess.run(init)
            graph = tf.get_default_graph()
            seen = []

            def work(target):
                with tf.Session(target, graph=graph) as sess:
                    seen.extend(float(sess.run(add)) for _ in range(20))

            threads = [threading.Thread(target=work, args=(s.target,)) for s in (one, two)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert sorted(seen) == [float(n + 1) for n in range(40)]


def test_a_loop_over_two_tasks():
    spec = on_tasks()
    with tf.Graph().as_default(), served(spec, "ps"), served(spec, "worker") as server:
        with tf.device("/job:worker/task:0"):
            x = tf.placeholder(tf.float32, [3])

            def body(i, h):
                with tf.device("/job:ps/task:0"):
                    h = tf.tanh(h)
                return i + 1, h * 1.5

            _, last = tf.while_loop(lambda i, h: i < 4, body, [tf.constant(0), x])
        host = np.array([0.1, -0.4, 0.8], np.float32)
        with tf.Session(server.target) as sess:
            made = sess.run(last, {x: host})
        with tf.Session() as alone:
            want = alone.run(last, {x: host})
        np.testing.assert_allclose(made, want, rtol=1e-6)


def test_a_loop_of_the_worker_is_trained_with_variables_of_a_server():
    spec = on_tasks()
    with tf.Graph().as_default(), served(spec, "ps"), served(spec, "worker") as server:
        with tf.device(tf.train.replica_device_setter(cluster=spec)):
            w = tf.Variable(0.5)
            x = tf.placeholder(tf.float32, [3])
            _, last = tf.while_loop(
                lambda i, h: i < 4, lambda i, h: (i + 1, tf.tanh(h * w)), [tf.constant(0), x]
            )
            (slope,) = tf.gradients(last, [w])
        host = np.array([0.1, -0.4, 0.8], np.float32)
        with tf.Session(server.target) as sess:
            sess.run(w.initializer)
            found = sess.run(slope, {x: host})
    a, b, step = np.float64(0.5), host.astype(np.float64), 1e-6

    def total(weight):
        h = b
        for _ in range(4):
            h = np.tanh(h * weight)
        return h.sum()

    np.testing.assert_allclose(found, (total(a + step) - total(a - step)) / 2 / step, rtol=1e-4)


def test_a_failure_on_one_task_names_the_node_and_the_next_step_runs():
    spec = on_tasks()
    with tf.Graph().as_default(), served(spec, "ps"), served(spec, "worker") as server:
        with tf.device("/job:ps/task:0"):
            w = tf.Variable(np.ones(2, np.float32))
        with tf.device("/job:nowhere/task:0"):
            lost = w + 1.0
        with tf.device("/job:worker/task:0"):
            fine = w * 2.0
        with tf.Session(server.target) as sess:
            sess.run(w.initializer)
            with pytest.raises(tf.errors.InvalidArgumentError, match="unknown device /job:nowhere"):
                sess.run(lost)
            np.testing.assert_allclose(sess.run(fine), [2, 2])
            names = [one.name for one in sess.list_devices()]
            assert any("/job:ps/" in one for one in names)


def test_a_large_tensor_goes_from_task_to_task():
    spec = on_tasks()
    host = np.random.default_rng(0).normal(size=(5 << 20)).astype(np.float32)  # 20 MB
    with tf.Graph().as_default(), served(spec, "ps"), served(spec, "worker") as server:
        with tf.device("/job:worker/task:0"):
            x = tf.placeholder(tf.float32, [5 << 20])
        with tf.device("/job:ps/task:0"):
            y = x + 1.0
        with tf.Session(server.target) as sess:
            np.testing.assert_allclose(sess.run(y, {x: host}), host + 1)


def test_a_server_of_its_own_draws_random_numbers_and_saves(tmp_path):
    server = tf.train.Server.create_local_server()
    try:
        with tf.Graph().as_default():
            v = tf.Variable(tf.random_normal([4]), name="v")
            saver = tf.train.Saver()
            with tf.Session(server.target) as sess:
                sess.run(tf.global_variables_initializer())
                first = sess.run(v)
                path = saver.save(sess, str(tmp_path / "model"))
                sess.run(v.initializer)
                assert not np.array_equal(sess.run(v), first)
                saver.restore(sess, path)
                np.testing.assert_array_equal(sess.run(v), first)
    finally:
        server._task.close()


def test_what_is_no_task_of_the_cluster_is_refused():
    with pytest.raises(tf.errors.InvalidArgumentError, match="Task 3 was not defined"):
        tf.train.Server({"worker": ["localhost:0"]}, "worker", 3)
    with pytest.raises(tf.errors.UnknownError, match="token"):
        tf.train.Server({"worker": ["somewhere.example:0"]})


@pytest.mark.slow
def test_a_client_that_is_no_task_runs_on_two_processes_and_waits_no_longer_than_it_is_told():
    spec = on_tasks(ps=1, workers=1)
    with tf.Graph().as_default(), started(spec, "ps") as ps, started(spec, "worker"):
        with tf.device("/job:ps/task:0"):
            w = tf.Variable([2.0, 3.0])
        with tf.device("/job:worker/task:0"):
            x = tf.placeholder(tf.float32, [2])
            y = tf.reduce_sum(w * x)
        config = tf.ConfigProto(operation_timeout_in_ms=60_000)
        with tf.Session("grpc://" + spec["worker"][0], config=config) as sess:
            sess.run(w.initializer)
            assert sess.run(y, {x: [10.0, 100.0]}) == 320
            assert sess.run(y + tf.py_func(lambda a: a * 2, [y], tf.float32), {x: [1, 1]}) == 15
            ps.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, ps.pid, os.WSTOPPED | os.WNOWAIT)
            sess._runner.timeout = 0.2
            with pytest.raises(tf.errors.DeadlineExceededError, match="did not end the step"):
                sess.run(y, {x: [10.0, 100.0]})
            sess._runner.timeout = None
            with pytest.raises(tf.errors.UnavailableError, match=r"/job:ps/replica:0/task:0"):
                sess.run(y, {x: [10.0, 100.0]})
            ps.send_signal(signal.SIGCONT)


def test_containers_part_variables_of_one_name_and_are_forgotten_each_by_itself():
    spec = on_tasks()
    with served(spec, "ps"), served(spec, "worker") as server:

        def variable(container, value):
            device = tf.device("/job:ps/task:0")
            with tf.Graph().as_default() as graph, tf.container(container), device:
                made = tf.Variable(value, name="v")
                queue = tf.FIFOQueue(3, tf.float32, shapes=[()], shared_name="q")
                put, size = queue.enqueue(value), queue.size()
            return tf.Session(server.target, graph=graph), made, put, size

        plain, first, second = variable("", 1.0), variable("one", 2.0), variable("two", 3.0)
        for session, made, put, _ in (plain, first, second):
            session.run(made.initializer)
            session.run(put)
        assert [each[0].run(each[1]) for each in (plain, first, second)] == [1.0, 2.0, 3.0]
        tf.Session.reset(server.target, ["one"])
        assert [each[0].run(each[3]) for each in (plain, first, second)] == [1, 0, 1]
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized"):
            first[0].run(first[1])
        assert [each[0].run(each[1]) for each in (plain, second)] == [1.0, 3.0]
        tf.Session.reset(server.target)
        for session, made, _, _ in (plain, second):
            with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized"):
                session.run(made)
            session.close()
        first[0].close()


def test_what_waits_for_a_queue_is_given_up_when_it_is_forgotten():
    spec = on_tasks()
    with served(spec, "ps"), served(spec, "worker") as server, tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            queue = tf.FIFOQueue(3, tf.float32, shapes=[()], shared_name="q")
            taken = queue.dequeue()
        found = []

        def take(session):
            try:
                session.run(taken)
            except tf.errors.CancelledError as error:
                found.append(error)

        with tf.Session(server.target) as session:
            waiting = threading.Thread(target=take, args=(session,))
            waiting.start()
            while waiting.is_alive():  # it may be about to ask
                tf.Session.reset(server.target)
                waiting.join(0.05)
        assert len(found) == 1
    with pytest.raises(tf.errors.NotFoundError, match="needs the target"):
        tf.Session.reset("")
