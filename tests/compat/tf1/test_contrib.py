"""`tf.contrib`'s layers and losses, which TensorFlow 2 has no more, against NumPy."""

import numpy as np
import pytest

import hybridnet.compat.tf1 as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


def softmax_losses(logits, targets):
    top = logits - logits.max(-1, keepdims=True)
    logs = top - np.log(np.exp(top).sum(-1, keepdims=True))
    return -np.take_along_axis(logs, targets[..., None], -1)[..., 0]


@pytest.mark.parametrize("shape", [(5, 3), (2, 4, 3)])
def test_a_fully_connected_layer_has_the_names_and_values_of_contrib(shape):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=shape).astype("float32")
    x = tf.placeholder(tf.float32, [None, *shape[1:]])
    y = tf.contrib.layers.fully_connected(x, 4, weights_regularizer=tf.nn.l2_loss)
    z = tf.contrib.layers.fully_connected(
        y, 2, activation_fn=None, scope="out", variables_collections=["mine"]
    )
    again = tf.contrib.layers.fully_connected(y, 2, activation_fn=None, scope="out", reuse=True)
    names = [one.name for one in tf.global_variables()]
    assert names == [
        "fully_connected/weights:0", "fully_connected/biases:0", "out/weights:0", "out/biases:0",
    ]  # fmt: skip
    assert z.shape.as_list() == [None, *shape[1:-1], 2]
    assert [one.name for one in tf.get_collection("mine")] == names[2:]
    (held,) = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        w, b, v, c = session.run(tf.global_variables())
        b[:] = [0.5, -0.5, 1, 0]
        tf.global_variables()[1].load(b, session)
        want = np.maximum(rows @ w + b, 0) @ v + c
        for one in (z, again):
            np.testing.assert_allclose(session.run(one, {x: rows}), want, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(session.run(held), (w * w).sum() / 2, rtol=1e-5)
        limit = np.sqrt(6 / (3 + 4))  # as `xavier_initializer` has it
        assert np.abs(w).max() <= limit and np.abs(w).max() > limit / 2


def slid(images, filters, stride):
    """Filters that slide over images, without padding, by NumPy."""
    windows = np.lib.stride_tricks.sliding_window_view(images, filters.shape[:2], (1, 2))
    return np.einsum("bhwcij,ijcf->bhwf", windows[:, ::stride, ::stride], filters)


def pooled(images, size, stride, how):
    windows = np.lib.stride_tricks.sliding_window_view(images, (size, size), (1, 2))
    return how(windows[:, ::stride, ::stride], (-2, -1))


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
def test_a_convolution_of_slim_has_the_names_and_values_of_contrib(layout):
    slim = tf.contrib.slim
    rng = np.random.default_rng(0)
    images = rng.normal(size=(2, 9, 9, 3)).astype("float32")
    given = images if layout == "NHWC" else images.transpose(0, 3, 1, 2)
    x = tf.placeholder(tf.float32, [None, *given.shape[1:]])
    y = slim.layers.conv2d(x, 4, [3, 2], 2, "VALID", layout, scope="first")
    z = slim.max_pool2d(y, 2, 1, data_format=layout)
    mean = slim.avg_pool2d(y, [2, 2], data_format=layout)
    same = slim.conv2d(x, 4, 3, data_format=layout, activation_fn=None)
    assert [one.name for one in tf.global_variables()] == [
        "first/weights:0", "first/biases:0", "Conv/weights:0", "Conv/biases:0",
    ]  # fmt: skip
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        tf.global_variables()[1].load([0.5, -0.5, 1, 0], session)
        w, b, v, _ = session.run(tf.global_variables())
        found = session.run([y, z, mean, same], {x: given})
    if layout == "NCHW":
        found = [one.transpose(0, 2, 3, 1) for one in found]
    first = np.maximum(slid(images, w, 2) + b, 0)
    around = np.pad(images, ((0, 0), (1, 1), (1, 1), (0, 0)))
    wanted = [first, pooled(first, 2, 1, np.max), pooled(first, 2, 2, np.mean), slid(around, v, 1)]
    for one, want in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, want, rtol=1e-4, atol=1e-5)


def test_a_convolution_must_know_its_channels():
    with pytest.raises(ValueError, match="number of channels"):
        tf.contrib.layers.conv2d(tf.placeholder(tf.float32, [None, 8, 8, None]), 2, 3)
    with pytest.raises(ValueError, match="a height and a width"):
        tf.contrib.layers.conv2d(tf.zeros([1, 8, 8, 1]), 2, [3, 3, 3])


def test_a_normalized_layer_has_no_bias():
    x = tf.ones([2, 3])
    y = tf.contrib.layers.fully_connected(
        x, 2, None, lambda made, scale: made * scale, {"scale": 3.0}, tf.ones_initializer()
    )
    assert [one.op.name for one in tf.global_variables()] == ["fully_connected/weights"]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_allclose(session.run(y), np.full((2, 2), 9.0))
    with pytest.raises(ValueError, match="last dimension"):
        tf.contrib.layers.fully_connected(tf.placeholder(tf.float32, [2, None]), 2)


@pytest.mark.parametrize("steps", [True, False])
@pytest.mark.parametrize("batch", [True, False])
def test_the_loss_of_sequences_and_its_gradient(steps, batch):
    rng = np.random.default_rng(1)
    values = rng.normal(size=(3, 4, 5)).astype("float32")
    targets = rng.integers(0, 5, (3, 4))
    weights = np.array([[1, 1, 1, 1], [1, 0.5, 0, 0], [1, 1, 0, 0]], "float32")
    logits = tf.placeholder(tf.float32, [None, 4, 5])
    loss = tf.contrib.seq2seq.sequence_loss(
        logits, tf.constant(targets), tf.constant(weights), steps, batch
    )
    (slope,) = tf.gradients(loss, [logits])
    losses = softmax_losses(values.astype(float), targets) * weights
    axis = {(True, True): None, (True, False): 1, (False, True): 0}.get((steps, batch), ())
    total = weights.sum(axis) if axis != () else 1.0
    want = losses.sum(axis) / total
    chances = np.exp(values) / np.exp(values).sum(-1, keepdims=True) - np.eye(5)[targets]
    share = weights / (np.expand_dims(total, axis) if axis in (0, 1) else total)
    with tf.Session() as session:
        got, slopes = session.run([loss, slope], {logits: values})
    np.testing.assert_allclose(got, want, rtol=1e-5)
    np.testing.assert_allclose(slopes, chances * share[..., None], rtol=1e-4, atol=1e-6)


def test_the_counter_of_steps_has_its_older_name():
    step = tf.contrib.framework.get_or_create_global_step()
    assert step is tf.train.get_global_step() and step.op.name == "global_step"
    with pytest.raises(ValueError, match="3 dimensions"):
        tf.contrib.seq2seq.sequence_loss(tf.ones([2, 3]), [[1]], [[1.0]])


def test_what_the_projector_of_tensorboard_shows(tmp_path):
    from hybridnet.compat.tf1.contrib.tensorboard.plugins import projector

    config = projector.ProjectorConfig()
    config.model_checkpoint_path = "c"
    words = config.embeddings.add()
    words.tensor_name, words.metadata_path = "embed/v:0", 'a "b".tsv'
    digits = config.embeddings.add()
    digits.tensor_name, digits.tensor_path = "w:0", "w.tsv"
    digits.sprite.image_path = "x.png"
    digits.sprite.single_image_dim.extend([28, 20])
    with tf.summary.FileWriter(str(tmp_path)) as writer:
        projector.visualize_embeddings(writer, config)
    # As TensorBoard 2.21 has it in text.
    assert (tmp_path / "projector_config.pbtxt").read_text() == "\n".join(
        [
            'model_checkpoint_path: "c"', "embeddings {", '  tensor_name: "embed/v:0"',
            '  metadata_path: "a \\"b\\".tsv"', "}", "embeddings {", '  tensor_name: "w:0"',
            "  sprite {", '    image_path: "x.png"', "    single_image_dim: 28",
            "    single_image_dim: 20", "  }", '  tensor_path: "w.tsv"', "}", "",
        ]
    )  # fmt: skip
