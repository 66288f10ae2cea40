"""Gradients of several workers averaged at a server, and what several graphs share by name."""

import threading

import numpy as np
import pytest
from cluster_tasks import on_tasks, served

import hybridnet.compat.tf1 as tf

pytest.importorskip("zmq")


def test_two_workers_make_each_step_together():
    spec = on_tasks(workers=2)
    seen, errors = {}, []

    def work(server, number):
        with tf.Graph().as_default():
            place = tf.train.replica_device_setter(
                worker_device=f"/job:worker/task:{number}", cluster=spec
            )
            with tf.device(place):
                step = tf.train.get_or_create_global_step()
                w = tf.Variable(np.float32([1, 1]), name="w")
                x = tf.placeholder(tf.float32, [2])
                adam = tf.train.GradientDescentOptimizer(0.5)
                opt = tf.train.SyncReplicasOptimizer(
                    adam, replicas_to_aggregate=2, replica_id=number
                )
                train = opt.minimize(tf.reduce_sum(w * x), global_step=step)
            hooks = [opt.make_session_run_hook(number == 0), tf.train.StopAtStepHook(last_step=6)]
            with tf.train.MonitoredTrainingSession(
                server.target, is_chief=number == 0, hooks=hooks
            ) as sess:
                count = 0
                while not sess.should_stop():
                    sess.run(train, {x: [0.25, 0.5]})
                    count += 1
                seen[number] = count
                assert w.device == "/job:ps/task:0"

    def guarded(*args):
        try:
            work(*args)
        except Exception as error:
            errors.append(error)

    with served(spec, "ps"), served(spec, "worker", 0) as one, served(spec, "worker", 1) as two:
        threads = [threading.Thread(target=guarded, args=(s, n)) for n, s in enumerate((one, two))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert not errors, errors
        with tf.Graph().as_default():
            with tf.device("/job:ps/task:0"):
                step = tf.train.create_global_step()
                w = tf.Variable(np.float32([1, 1]), name="w")
            with tf.Session(one.target) as sess:
                done, last = sess.run([step, w])
    assert done >= 6 and min(seen.values()) >= 1
    np.testing.assert_allclose(last, 1 - 0.5 * done * np.float32([0.25, 0.5]), rtol=1e-6)


def test_clients_share_a_queue_by_its_name_and_one_that_leaves_takes_nothing():
    spec = on_tasks(workers=2)

    def shared():
        with tf.device("/job:ps/task:0"):
            return tf.FIFOQueue(10, tf.int32, shapes=[()], shared_name="common")

    with served(spec, "ps"), served(spec, "worker", 0) as one, served(spec, "worker", 1) as two:
        with tf.Graph().as_default():
            queue, x = shared(), tf.placeholder(tf.int32, [])
            put, size = queue.enqueue(x), queue.size()
            with tf.container("elsewhere"), tf.device("/job:ps/task:0"):
                apart = tf.FIFOQueue(10, tf.int32, shapes=[()], shared_name="common").size()
            mine = tf.Session(one.target)
        with tf.Graph().as_default():
            many = shared().dequeue_many(tf.constant(2))
            take = tf.reduce_sum(shared().dequeue_many(2)) * 10
            other, leaving = tf.Session(two.target), tf.Session(two.target)
        failed = []

        def wait():
            try:
                leaving.run(many)
            except tf.errors.CancelledError as error:
                failed.append(error)

        thread = threading.Thread(target=wait)
        thread.start()
        mine.run(put, {x: 3})
        while mine.run(size):  # the one that will leave has it
            pass
        leaving.stop_waiting()
        thread.join(60)
        assert failed and mine.run([size, apart]) == [1, 0]
        mine.run(put, {x: 4})
        assert other.run(take) == 70
        for sess in (mine, other, leaving):
            sess.close()


def test_a_question_that_nobody_answers_ends_in_time():
    spec = on_tasks()
    with tf.Graph().as_default(), served(spec, "ps"), served(spec, "worker") as server:
        with tf.device("/job:ps/task:0"):
            total = tf.ConditionalAccumulator(tf.float32, [2], shared_name="total")
            add, mean = total.apply_grad([1.0, 3.0]), total.take_grad(2)
        config = tf.ConfigProto(operation_timeout_in_ms=60_000)
        with tf.Session(server.target, config=config) as sess:
            sess.run(add)
            sess._runner.timeout = 0.2
            with pytest.raises(tf.errors.DeadlineExceededError, match="no answer in 0.2 s"):
                sess.run(mean)
            sess._runner.timeout = 60
            sess.run(add)
            np.testing.assert_allclose(sess.run(mean), [1, 3])
