"""What hooks write, and when: the steps are those at which TensorFlow 2.21 did it, likewise run."""

import json

import pytest

import hybridnet.compat.tf1 as tf
from hybridnet.compat.tf1.training import session_manager


@pytest.fixture(autouse=True)
def own_graph():
    with tf.Graph().as_default():
        yield
    tf.summary.FileWriterCache.clear()


def counted(folder, last, **options):
    step = tf.train.get_or_create_global_step()
    tf.summary.scalar("twice", tf.cast(step, tf.float32) * 2)
    train = step.assign_add(1)
    hooks = [tf.train.StopAtStepHook(last_step=last), *options.pop("hooks", ())]
    options.setdefault("log_step_count_steps", None)
    with tf.train.MonitoredTrainingSession(
        checkpoint_dir=str(folder), hooks=hooks, **options
    ) as sess:
        while not sess.should_stop():
            sess.run(train)


def written(folder):
    tf.summary.FileWriterCache.get(str(folder)).flush()
    (file,) = folder.glob("events*")
    events = [one for one in tf.train.summary_iterator(str(file)) if one.summary]
    return [
        (one.step, value.tag, value.simple_value) for one in events for value in one.summary.value
    ]


def test_summaries_and_steps_a_second_are_written(tmp_path):
    counted(tmp_path, 8, save_summaries_steps=3, log_step_count_steps=2)
    found = written(tmp_path)
    assert [one for one in found if one[1] == "twice"] == [
        (1, "twice", 0.0), (4, "twice", 6.0), (7, "twice", 12.0),
    ]  # fmt: skip
    assert [one[0] for one in found if one[1] == "global_step/sec"] == [3, 5, 7]


def test_summaries_may_be_elsewhere_or_nowhere(tmp_path):
    counted(tmp_path / "model", 2, summary_dir=str(tmp_path / "seen"))
    assert [one[0] for one in written(tmp_path / "seen")] == [1]
    assert not list((tmp_path / "model").glob("events*"))


def test_no_summaries_are_written_where_none_are_wanted(tmp_path):
    counted(tmp_path, 2, save_summaries_steps=None, save_summaries_secs=None)
    assert not list(tmp_path.glob("events*"))


def test_a_run_is_traced_every_so_often(tmp_path):
    hook = tf.train.ProfilerHook(save_steps=3, output_dir=tmp_path / "traces")
    counted(tmp_path, 8, hooks=[hook])
    files = sorted((tmp_path / "traces").iterdir())
    assert [one.name for one in files] == ["timeline-3.json", "timeline-6.json"]
    events = json.loads(files[0].read_text())["traceEvents"]
    assert {one["ph"] for one in events} == {"M", "X"}
    assert any("add" in one["name"] for one in events if one["ph"] == "X")


def test_what_is_fetched_last(tmp_path):
    step = tf.train.get_or_create_global_step()
    hook = tf.train.FinalOpsHook({"step": step})
    assert hook.final_ops_values is None
    counted(tmp_path, 3, hooks=[hook])
    assert hook.final_ops_values == {"step": 3}


def test_a_worker_may_wait_for_a_step():
    step = tf.train.get_or_create_global_step()
    waits = tf.train.GlobalStepWaiterHook(2)
    train = step.assign_add(1)

    class Others(tf.train.SessionRunHook):
        def before_run(self, run_context):
            for _ in range(2):  # what other workers do meanwhile
                run_context.session.run(train)

    with tf.train.MonitoredSession(hooks=[Others(), waits]) as sess:
        assert sess.run(train) == 3


def test_a_scaffold_takes_from_another_what_it_is_not_given():
    w = tf.Variable(1.0)
    first = tf.train.Scaffold(init_op=w.assign(5.0), summary_op=tf.summary.scalar("w", w))
    scaffold = tf.train.Scaffold(copy_from_scaffold=first)
    with tf.train.MonitoredSession(tf.train.ChiefSessionCreator(scaffold)) as sess:
        assert sess.run(w) == 5.0
    assert scaffold.summary_op is first.summary_op and scaffold.ready_op is not None


def test_a_scaffold_that_initializes_too_little_says_what_is_left():
    tf.Variable(1.0, name="left")
    scaffold = tf.train.Scaffold(init_op=tf.no_op())
    with pytest.raises(RuntimeError, match="no value after init_op.*: left"):
        tf.train.MonitoredSession(tf.train.ChiefSessionCreator(scaffold))


def test_a_session_manager_restores_waits_and_initializes(tmp_path):
    w = tf.Variable(1.0, name="w")
    saver, ready = tf.train.Saver(), tf.report_uninitialized_variables()
    manager = tf.train.SessionManager(ready_op=ready, recovery_wait_secs=0)
    _, is_ready = manager.recover_session("", saver, str(tmp_path))
    assert not is_ready
    with pytest.raises(RuntimeError, match="no init_op"):
        manager.prepare_session("")
    sess = manager.prepare_session("", tf.global_variables_initializer(), saver, str(tmp_path))
    sess.run(w.assign(3.0))
    path = saver.save(sess, str(tmp_path / "model"))
    sess, is_ready = manager.recover_session("", saver, str(tmp_path))
    assert is_ready and sess.run(w) == 3.0
    assert manager.prepare_session("", None, saver, checkpoint_filename_with_path=path).run(w) == 3
    with pytest.raises(tf.errors.DeadlineExceededError, match="no value after 0 s: w"):
        manager.wait_for_session("", max_wait_secs=0)
    with pytest.raises(ValueError, match="exclude"):
        manager.recover_session("", saver, str(tmp_path), path)


def test_who_waits_long_for_the_chief_says_once_for_what(monkeypatch, caplog):
    tf.Variable(1.0, name="w")
    manager = tf.train.SessionManager(
        ready_op=tf.report_uninitialized_variables(), recovery_wait_secs=0.001
    )
    monkeypatch.setattr(session_manager, "_LONG", 0.0)
    with pytest.raises(tf.errors.DeadlineExceededError):
        manager.wait_for_session("", max_wait_secs=0.1)
    (said,) = caplog.messages
    assert said.startswith("still waiting for the chief") and said.endswith(": w")
