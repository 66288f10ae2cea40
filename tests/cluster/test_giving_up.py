"""What is left when a session, or a step of it, is given up."""

import gc
import threading
from contextlib import contextmanager

import numpy as np
import pytest
from cluster_tasks import address, on_tasks, served, started

import hybridnet.compat.tf1 as tf

pytest.importorskip("zmq")


def channels():
    return [one for one in threading.enumerate() if one.name == "hybridnet-cluster"]


def test_a_session_may_be_closed_twice_and_one_that_is_forgotten_leaves_no_thread():
    spec = on_tasks()
    with tf.Graph().as_default(), started(spec, "ps"):
        x = tf.constant(1.0) + 1
        before = len(channels())
        with tf.Session("grpc://" + spec["ps"][0]) as session:
            assert session.run(x) == 2
        session.close()
        assert len(channels()) == before
        session = tf.Session("grpc://" + spec["ps"][0])
        assert session.run(x) == 2
        assert len(channels()) == before + 1
        del session
        gc.collect()
        assert len(channels()) == before


def test_a_target_that_does_not_answer_is_waited_for_no_longer_than_is_said_and_leaves_no_thread():
    before = len(channels())
    config = tf.ConfigProto(operation_timeout_in_ms=100)
    with pytest.raises(tf.errors.DeadlineExceededError, match=r"not answered for 0\.1 s"):
        tf.Session("grpc://" + address(), config=config)
    assert len(channels()) == before


@contextmanager
def held(lock):
    """Another thread has a lock."""
    taken, end = threading.Event(), threading.Event()

    def hold():
        with lock:
            taken.set()
            end.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    taken.wait()
    try:
        yield
    finally:
        end.set()
        thread.join()


def test_a_step_that_was_given_up_changes_no_variable():
    spec = {"ps": [address()]}
    with tf.Graph().as_default(), served(spec, "ps") as server:
        v = tf.Variable([1.0, 2.0], name="v")
        add = v.assign_add([1.0, 1.0])
        task = server._task
        with tf.Session(server.target) as session:
            session.run(v.initializer)
            session.run(add)
            with held(task._lock):  # nothing can be written
                with pytest.raises(tf.errors.DeadlineExceededError, match="did not end the step"):
                    session.run(add, options=tf.RunOptions(timeout_in_ms=200))
                assert not task._steps
            task._pool.shutdown(wait=True)
            np.testing.assert_array_equal(np.asarray(task._held["v"]), [2, 3])


@pytest.mark.parametrize("how", ["options", "config"])
def test_a_queue_is_waited_for_no_longer_than_is_said_without_a_cluster_too(how):
    with tf.Graph().as_default():
        take = tf.FIFOQueue(1, tf.float32, shapes=[()]).dequeue()
        config = tf.ConfigProto(operation_timeout_in_ms=50 if how == "config" else 0)
        options = tf.RunOptions(timeout_in_ms=100) if how == "options" else None
        late = pytest.raises(tf.errors.DeadlineExceededError, match=r"no answer in 0\.[01]")
        with tf.Session(config=config) as session, late:
            session.run(take, options=options)


def test_soft_placement_stays_on_the_task_so_that_all_workers_share_a_variable():
    spec = on_tasks(workers=2)
    with tf.Graph().as_default(), served(spec, "ps"):
        with tf.device("/job:ps/task:0/gpu:0"):
            v = tf.Variable(0.0, name="v")
            add = v.assign_add(1.0)
        with tf.device("/job:parameters/task:0"):
            wrong = tf.constant(1.0) + 1
        config = tf.ConfigProto(allow_soft_placement=True)
        with served(spec, "worker", 0) as one, served(spec, "worker", 1) as two:
            first, second = (tf.Session(each.target, config=config) for each in (one, two))
            first.run(v.initializer)
            assert [first.run(add), second.run(add)] == [1, 2]
            with pytest.raises(
                tf.errors.InvalidArgumentError, match="tasks of the cluster are .*ps"
            ):
                first.run(wrong)
            refused = pytest.raises(tf.errors.InvalidArgumentError, match="unknown device .*gpu:0")
            with tf.Session(one.target) as strict, refused:
                strict.run(v)
            first.close()
            second.close()


@pytest.mark.slow
def test_tasks_that_know_each_other_by_other_addresses_are_refused():
    spec = on_tasks()
    other = {"ps": spec["ps"], "worker": [address()]}
    with tf.Graph().as_default(), started(other, "ps"), started(spec, "worker"):
        with tf.device("/job:ps/task:0"):
            v = tf.Variable(1.0)
        with tf.Session("grpc://" + spec["worker"][0]) as session:
            wrong = rf"{spec['worker'][0]} for /job:worker.* {other['worker'][0]} for /job:ps"
            with pytest.raises(tf.errors.InvalidArgumentError, match=wrong):
                session.run(v.initializer)


@pytest.mark.parametrize("where", ["localhost", "a b:1", "*:1", "é:1", "localhost:http", "h:99999"])
def test_an_address_that_is_none_is_refused_when_the_task_starts(where):
    with pytest.raises(tf.errors.UnknownError, match="^cluster: an address must be 'host:port'"):
        tf.train.Server({"ps": [address()], "worker": [where]}, "ps", 0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be 'host:port'"):
        tf.Session("grpc://" + where)


def test_this_machine_has_an_address_of_ipv6_too():
    spec = {"ps": ["[::1]:" + address().partition(":")[2]]}
    with tf.Graph().as_default(), started(spec, "ps"):
        x = tf.constant(1.0) + 1
        with tf.Session("grpc://" + spec["ps"][0]) as session:
            assert session.run(x) == 2


def test_a_client_with_another_token_is_told_that_it_may_be_the_token(monkeypatch):
    spec = {"ps": [address()]}
    with tf.Graph().as_default(), started(spec, "ps"):
        x = tf.constant(1.0) + 1
        monkeypatch.setenv("HYBRIDNET_DIST_TOKEN", "ab" * 32)
        with pytest.raises(tf.errors.UnavailableError, match="HYBRIDNET_DIST_TOKEN"):
            tf.Session("grpc://" + spec["ps"][0])
        monkeypatch.delenv("HYBRIDNET_DIST_TOKEN")
        with tf.Session("grpc://" + spec["ps"][0]) as session:
            assert session.run(x) == 2
