"""`tf.train.Saver` of `hybridnet.compat.tf1`: what TensorFlow 1.x's scripts do with checkpoints."""

from __future__ import annotations

import os

import numpy as np
import pytest

import hybridnet.compat.tf1 as tf
from hybridnet import checkpoint

train = tf.train


@pytest.fixture(autouse=True)
def graph():
    """Each test has a graph of its own."""
    with tf.Graph().as_default() as made:
        yield made


def initialized():
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return session


def test_variables_come_back_without_being_initialized(tmp_path):
    w = tf.Variable(np.float32([[1, 2], [3, 4]]), name="w")
    n = tf.Variable(7, name="n", trainable=False)
    saver = train.Saver()
    sess = initialized()
    prefix = str(tmp_path / "model.ckpt")
    path = saver.save(sess, prefix, global_step=12)
    assert path == f"{prefix}-12" and os.path.exists(f"{path}.safetensors")
    assert int(train.latest_checkpoint(tmp_path).split("-")[-1]) == 12
    sess.run([w.assign(np.zeros((2, 2))), n.assign(0)])
    with tf.Session() as fresh:
        saver.restore(fresh, path)
        assert fresh.run(w).tolist() == [[1, 2], [3, 4]] and fresh.run(n) == 7
    assert sess.run(n) == 0
    assert train.list_variables(tmp_path) == [("n", []), ("w", [2, 2])]
    assert train.load_variable(tmp_path, "w").tolist() == [[1, 2], [3, 4]]
    reader = train.load_checkpoint(path)
    assert reader.has_tensor("w") and not reader.has_tensor("v")
    assert reader.get_variable_to_dtype_map()["n"] is tf.int32
    assert reader.get_variable_to_shape_map() == {"n": [], "w": [2, 2]}


def test_the_step_may_be_a_variable_and_padded(tmp_path):
    step = tf.Variable(5, name="global_step", trainable=False)
    sess = initialized()
    assert train.Saver().save(sess, str(tmp_path / "m"), step).endswith("m-5")
    counts = tf.Variable(7.0, name="steps")  # as get_variable("global_step", []) makes it
    sess.run(counts.initializer)
    assert train.Saver().save(sess, str(tmp_path / "m"), counts).endswith("m-7")
    padded = train.Saver(pad_step_number=True)
    assert padded.save(sess, str(tmp_path / "m"), 5).endswith("m-00000005")
    with pytest.raises(TypeError, match="global_step must be an integer"):
        padded.save(sess, str(tmp_path / "m"), "five")


def test_some_variables_and_other_names(tmp_path):
    a = tf.Variable([1.0], name="a")
    b = tf.Variable([2.0], name="b")
    sess = initialized()
    path = train.Saver({"first": a, "second": b}).save(sess, str(tmp_path / "m"))
    assert path == str(tmp_path / "m")
    sess.run([a.assign([0.0]), b.assign([0.0])])
    train.Saver({"second": a}).restore(sess, path)
    assert sess.run([a, b]) == [[2.0], [0.0]]
    with pytest.raises(tf.errors.NotFoundError, match=r"no variable 'a'.*it has 'first'"):
        train.Saver([a]).restore(sess, path)
    wide = tf.Variable(np.zeros((1, 2), np.float32), name="wide")
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"'first'.*\[1\].*\[1,2\]"):
        train.Saver({"first": wide}).restore(sess, path)
    tall = tf.Variable([[5.0]], name="tall")
    train.Saver({"first": tall}, reshape=True).restore(sess, path)
    assert sess.run(tall).tolist() == [[1.0]]
    whole = tf.Variable([1], name="whole")
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"'first'.*float32.*int32"):
        train.Saver({"first": whole}).restore(sess, path)


def test_values_are_those_of_the_save_though_the_session_runs_on(tmp_path):
    w = tf.Variable(np.zeros(1000, np.float32), name="w")
    more = w.assign_add(np.ones(1000, np.float32))
    sess = initialized()
    saver = train.Saver(max_to_keep=None)
    pendings = []
    for step in range(5):
        pendings.append(saver.save_async(sess, str(tmp_path / "m"), step))
        sess.run(more)
    for step, one in enumerate(pendings):
        found = checkpoint.load_variable(one.wait(), "w")
        np.testing.assert_array_equal(found, np.full(1000, step, np.float32))


def test_the_last_ones_are_kept_and_the_state_lists_them(tmp_path):
    tf.Variable(1.0, name="w")
    sess = initialized()
    saver = train.Saver(max_to_keep=2)
    for step in range(4):
        saver.save(sess, str(tmp_path / "m"), step)
    saver.save(sess, str(tmp_path / "extra"), write_state=False)
    assert [os.path.basename(one) for one in saver.last_checkpoints] == ["m-2", "m-3"]
    state = train.get_checkpoint_state(tmp_path)
    assert state.model_checkpoint_path == str(tmp_path / "m-3")
    assert list(state.all_model_checkpoint_paths) == saver.last_checkpoints
    assert train.checkpoint_exists(tmp_path / "extra")
    assert not train.checkpoint_exists(tmp_path / "m-0")
    again = train.Saver(max_to_keep=2)
    again.recover_last_checkpoints(state.all_model_checkpoint_paths)
    again.save(sess, str(tmp_path / "m"), 9)
    assert not train.checkpoint_exists(tmp_path / "m-2")
    again.set_last_checkpoints_with_time([(tmp_path / "m-3", 1.0)])
    assert again.last_checkpoints == [str(tmp_path / "m-3")]
    train.update_checkpoint_state(tmp_path, tmp_path / "m-3", [tmp_path / "m-9"])
    assert train.latest_checkpoint(tmp_path) == str(tmp_path / "m-3")
    assert len(train.get_checkpoint_mtimes([tmp_path / "m-3", tmp_path / "m-0"])) == 1
    train.remove_checkpoint(tmp_path / "m-3")
    assert train.latest_checkpoint(tmp_path) == str(tmp_path / "m-9")
    assert train.latest_checkpoint(tmp_path / "nowhere") is None


def test_errors_are_tensorflows(tmp_path):
    with pytest.raises(ValueError, match="No variables to save"):
        train.Saver()
    train.Saver(allow_empty=True)
    w = tf.Variable(1.0, name="w")
    sess = tf.Session()
    saver = train.Saver()
    with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value w"):
        saver.save(sess, str(tmp_path / "m"))
    sess.run(w.initializer)
    with pytest.raises(ValueError, match="Can't load save_path when it is None"):
        saver.restore(sess, None)
    with pytest.raises(ValueError, match="not a valid checkpoint"):
        saver.restore(sess, str(tmp_path / "m"))
    with pytest.raises(ValueError, match="collides with 'save_path'"):
        saver.save(sess, str(tmp_path / "checkpoint"))
    (tmp_path / "file").touch()
    with pytest.raises(tf.errors.UnknownError, match="file"):
        saver.save(sess, str(tmp_path / "file" / "m"))
    with pytest.raises(TypeError, match="must be a Session"):
        saver.save(None, str(tmp_path / "m"))
    with pytest.raises(TypeError, match="Variable to save is not a Variable"):
        train.Saver([tf.constant(1)])
    with pytest.raises(ValueError, match="At least two variables have the same name: w"):
        train.Saver([w, w])
    path = saver.save(sess, str(tmp_path / "m"))
    with open(f"{path}.safetensors", "r+b") as file:
        file.truncate(20)
    with pytest.raises(tf.errors.DataLossError, match=r"m\.safetensors"):
        saver.restore(sess, path)
    with pytest.raises(tf.errors.NotFoundError, match="Failed to find any matching files"):
        train.NewCheckpointReader(tmp_path / "none")
    with pytest.raises(ValueError, match="Couldn't find 'checkpoint' file"):
        os.remove(tmp_path / "checkpoint")
        train.load_checkpoint(tmp_path)


def test_a_variable_in_parts_is_saved_whole_and_restored_into_others(tmp_path):
    values = np.arange(14, dtype=np.float32).reshape(7, 2)
    cut = tf.fixed_size_partitioner
    w = tf.get_variable("w", [7, 2], initializer=values, partitioner=cut(3))
    across = tf.get_variable("across", [7, 2], initializer=values, partitioner=cut(2, axis=1))
    train_step = train.MomentumOptimizer(0.5, 0.9).minimize(tf.reduce_sum(tf.square(w)) / 2)
    sess = initialized()
    sess.run(train_step)
    path = train.Saver().save(sess, str(tmp_path / "m"))
    shapes = {"w": [7, 2], "w/Momentum": [7, 2], "across": [7, 2]}
    assert dict(train.list_variables(path)) == shapes
    np.testing.assert_array_equal(train.load_variable(path, "across"), values)
    np.testing.assert_allclose(train.load_variable(path, "w"), values / 2)
    np.testing.assert_allclose(train.load_variable(path, "w/Momentum"), values)
    sess.run([w.assign(values * 0), across.assign(values * 0)])
    train.Saver([w, *across]).restore(sess, path)
    np.testing.assert_allclose(sess.run(w.as_tensor()), values / 2)
    np.testing.assert_allclose(sess.run(across.as_tensor()), values)
    parts = list(w)
    for given in ({"w": parts}, {"w": w}, [parts[1], parts[0], parts[2]]):
        sess.run(w.assign(values * 0))
        train.Saver(given).restore(sess, path)
        np.testing.assert_allclose(sess.run(w.as_tensor()), values / 2)
    with pytest.raises(ValueError, match=r"all parts of 'w'.*only \['w/part_1'\]"):
        train.Saver([parts[1]])
    with pytest.raises(ValueError, match="At least two variables have the same name: w/part_0"):
        train.Saver([w, parts[0]])
    with pytest.raises(ValueError, match="not parts of one"):
        train.Saver({"w": [*w, *across]})


@pytest.mark.parametrize("count", [None, 2, 7])
def test_a_checkpoint_is_read_with_another_number_of_parts(tmp_path, count):
    values = np.arange(14, dtype=np.float32).reshape(7, 2)
    tf.get_variable("w", [7, 2], initializer=values, partitioner=tf.fixed_size_partitioner(3))
    path = train.Saver().save(initialized(), str(tmp_path / "m"))
    with tf.Graph().as_default(), tf.Session() as sess:
        cut = None if count is None else tf.fixed_size_partitioner(count)
        w = tf.get_variable("w", [7, 2], partitioner=cut)
        train.Saver().restore(sess, path)
        np.testing.assert_array_equal(sess.run(tf.identity(w)), values)
