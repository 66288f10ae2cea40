"""Monitored sessions of a cluster: one initializes, others wait; what is lost is restored."""

import threading

import numpy as np
import pytest
from cluster_tasks import on_tasks, served, started

import hybridnet.compat.tf1 as tf

pytest.importorskip("zmq")


def counting(spec):
    with tf.device(tf.train.replica_device_setter(cluster=spec)):
        step = tf.train.get_or_create_global_step()
        w = tf.Variable(np.ones(2, np.float32), name="w")
        loss = tf.reduce_sum(w * w)
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step)
    return step, w, train


@pytest.mark.slow
def test_training_goes_on_from_the_last_checkpoint_when_the_server_is_killed(tmp_path):
    spec = on_tasks()
    with tf.Graph().as_default(), served(spec, "worker") as server:
        step, w, train = counting(spec)
        with started(spec, "ps") as first:
            sess = tf.train.MonitoredTrainingSession(
                server.target, checkpoint_dir=str(tmp_path), save_checkpoint_steps=1
            )
            for _ in range(3):
                sess.run(train)
            assert sess.run(step) == 3
            first.kill()
            first.wait()
        with started(spec, "ps"):
            sess.run(train)
            assert sess.run(step) == 4
            np.testing.assert_allclose(sess.run(w), [0.8**4] * 2, rtol=1e-6)
            sess.close()


def test_a_worker_waits_for_the_chief():
    spec = on_tasks(workers=2)
    with served(spec, "ps"), served(spec, "worker", 0) as chief, served(spec, "worker", 1) as other:
        seen = []

        def work():
            with tf.Graph().as_default():
                step, _, train = counting(spec)
                with tf.train.MonitoredTrainingSession(other.target, is_chief=False) as sess:
                    sess.run(train)
                    seen.append(int(sess.run(step)))

        thread = threading.Thread(target=work)
        thread.start()
        with tf.Graph().as_default():
            step, _, _ = counting(spec)
            with tf.train.MonitoredTrainingSession(chief.target) as sess:
                thread.join()
                assert sess.run(step) == 1
    assert seen == [1]


def test_a_worker_whose_chief_does_not_come_says_which_variables_it_waits_for():
    spec = on_tasks()
    with tf.Graph().as_default(), served(spec, "ps"), served(spec, "worker") as server:
        counting(spec)
        creator = tf.train.WorkerSessionCreator(master=server.target, max_wait_secs=0)
        with pytest.raises(tf.errors.DeadlineExceededError, match="no value after 0 s: .*w"):
            tf.train.MonitoredSession(creator)


def test_a_session_that_is_lost_again_each_time_is_given_up():
    class Loses(tf.train.SessionRunHook):
        made = 0

        def after_create_session(self, session, coord):
            self.made += 1

        def before_run(self, run_context):
            raise tf.errors.UnavailableError(None, None, "task /job:ps/task:0 is not available")

    hook = Loses()
    with tf.Graph().as_default():
        w = tf.Variable(1.0)
        sess = tf.train.MonitoredSession(hooks=[hook])
        with pytest.raises(
            tf.errors.UnavailableError, match="made anew 10 times, and no run has ended since: task"
        ):
            sess.run(w)
    assert hook.made == 11


def test_an_error_of_a_thread_beside_the_loop_ends_the_loop():
    with tf.Graph().as_default():
        queue = tf.FIFOQueue(2, tf.float32, shapes=[()])
        wrong = tf.py_func(lambda: 1 / 0, [], tf.float32)
        tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(wrong)]))
        take = queue.dequeue()
        error = pytest.raises(tf.errors.UnknownError, match="ZeroDivisionError")
        with error, tf.train.MonitoredSession() as sess:
            sess.run(take)
