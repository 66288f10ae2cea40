"""`Supervisor`: sessions that are ready, threads that save and summarize, and the end of both."""

import threading

import pytest

import hybridnet.compat.tf1 as tf


@pytest.fixture(autouse=True)
def own_graph():
    with tf.Graph().as_default():
        yield


def test_a_session_is_restored_saved_and_summarized(tmp_path):
    step = tf.train.get_or_create_global_step()
    w = tf.Variable(1.0, name="w")
    tf.summary.scalar("weight", w)
    double = tf.group(w.assign(w * 2), step.assign_add(1))
    for turn in range(2):
        sv = tf.train.Supervisor(logdir=str(tmp_path), save_model_secs=0)
        with sv.managed_session() as sess:
            assert tf.get_default_session() is sess
            assert sess.run(w) == 4.0**turn  # from the checkpoint, in the second turn
            sess.run([double])
            sess.run([double])
            sv.summary_computed(sess, sess.run(sv.summary_op))
            sv.saver.save(sess, sv.save_path, global_step=step)
        assert sv.should_stop()
    assert sv.save_path == str(tmp_path / "model.ckpt")
    assert tf.train.latest_checkpoint(str(tmp_path)).endswith("-4")
    events = [
        event
        for file in tmp_path.glob("events*")
        for event in tf.train.summary_iterator(str(file))
        if event.summary
    ]
    assert any(value.tag == "weight" for event in events for value in event.summary.value)


def test_a_thread_saves_at_once_to_begin_with(tmp_path):
    tf.train.get_or_create_global_step()
    sv = tf.train.Supervisor(logdir=str(tmp_path))
    with sv.managed_session() as sess:
        threads = [one for one in threading.enumerate() if isinstance(one, tf.train.LooperThread)]
        assert len(threads) >= 2  # checkpoints, and steps a second
        hook = threading.Thread(target=sv.wait_for_stop)
        hook.start()
        sv.saver.save(sess, sv.save_path, global_step=0)
    hook.join(60)
    assert (tmp_path / "model.ckpt-0.safetensors").exists()
    assert not any(one.is_alive() for one in threads)


def test_the_end_of_the_data_ends_the_block_and_an_error_is_raised():
    queue = tf.train.input_producer([1.0, 2.0], num_epochs=1, shuffle=False)
    take = queue.dequeue()
    seen = []
    sv = tf.train.Supervisor()
    with sv.managed_session() as sess:
        while not sv.should_stop():
            seen.append(float(sess.run(take)))
    assert seen == [1.0, 2.0]
    with pytest.raises(KeyError, match="mine"), sv.managed_session():
        raise KeyError("mine")


def test_a_function_is_called_beside_the_loop_until_it_ends():
    called = threading.Event()
    sv = tf.train.Supervisor()
    with sv.managed_session():
        thread = sv.loop(None, called.set)
        assert called.wait(60)
    assert not thread.is_alive()


def test_only_the_chief_saves_and_others_wait_for_it():
    tf.Variable(1.0, name="w")
    sv = tf.train.Supervisor(is_chief=False, logdir="nowhere", recovery_wait_secs=0)
    assert sv.save_path is None and sv.summary_writer is None
    with pytest.raises(RuntimeError, match="Only chief"):
        sv.start_standard_services(None)
    with pytest.raises(tf.errors.DeadlineExceededError, match="w"):
        sv.prepare_or_wait_for_session(max_wait_secs=0)
    with pytest.raises(RuntimeError, match="requires a summary writer"):
        sv.summary_computed(None, b"")
