"""`tf.summary`: what its writers write, and the images that TensorFlow shows."""

import numpy as np
import pytest

import hybridnet.compat.tf1 as tf
from hybridnet.events.messages import Summary


def test_a_writer_writes_what_sessions_fetch(tmp_path):
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.placeholder(tf.float32, [], name="x")
        loss = tf.summary.scalar("loss", x * 2.0)
        with tf.summary.FileWriter(tmp_path / "logs", graph) as writer:
            for step in range(3):
                writer.add_summary(session.run(loss, {x: step}), step)
    with pytest.raises(ValueError, match="closed"):
        writer.add_summary(b"")
    (path,) = (tmp_path / "logs").iterdir()
    assert path.name.startswith("events.out.tfevents.")
    version, drawn, *events = tf.train.summary_iterator(path)
    assert version.file_version == "brain.Event:2"
    assert b"loss" in drawn.graph_def
    found = [
        (one.step, one.summary.value[0].tag, one.summary.value[0].simple_value) for one in events
    ]
    assert found == [(0, "loss", 0.0), (1, "loss", 2.0), (2, "loss", 4.0)]


def images():
    random = np.random.RandomState(0)
    return [
        random.rand(2, 3, 4, 1).astype("float32") * 5,
        (random.rand(2, 3, 4, 3) - 0.3).astype("float32"),
        (random.rand(4, 2, 2, 4) * 255).astype("uint8"),
        np.zeros((1, 2, 2, 1), "float32"),
        np.array([[[[1.0], [np.nan]], [[-2.0], [np.inf]]]], "float32"),
    ]


#: What TensorFlow 2.21 shows of `images`: their tags, height, width, channels, first pixels.
SHOWN = [
    ("im0/image/0", 3, 4, 1, [145, 189, 159, 144, 112, 170, 115, 235, 255, 101, 209, 139]),
    ("im0/image/1", 3, 4, 1, [148, 241, 18, 22, 5, 216, 202, 226, 255, 208, 120, 203]),
    ("im1/image", 3, 4, 3, [94, 190, 99, 246, 168, 149, 121, 215, 156, 177, 76, 186]),
    ("im2/image/0", 2, 2, 4, [149, 5, 211, 1, 172, 68, 187, 245, 63, 146, 150, 145]),
    ("im2/image/1", 2, 2, 4, [178, 75, 207, 101, 224, 148, 224, 176, 184, 127, 243, 164]),
    ("im2/image/2", 2, 2, 4, [168, 73, 157, 109, 34, 76, 145, 150, 146, 166, 166, 110]),
    ("im3/image/0", 2, 2, 1, [0, 0, 0, 0]),
    ("im4/image/0", 2, 2, 1, [191, 255, 1, 255]),
]


def test_images_are_the_pixels_that_tensorflow_shows():
    cv2 = pytest.importorskip("cv2")
    found = []
    with tf.Graph().as_default(), tf.Session() as session:
        for number, batch in enumerate(images()):
            most = 1 if number == 1 else 3
            made = tf.summary.image(f"im{number}", tf.constant(batch), max_outputs=most)
            found += Summary.FromString(session.run(made)).value
        with pytest.raises(ValueError, match="channels"):
            tf.summary.image("two", tf.zeros([1, 2, 2, 2]))
    assert len(found) == len(SHOWN)
    for one, (tag, height, width, channels, pixels) in zip(found, SHOWN, strict=True):
        image = one.image
        assert (one.tag, image.height, image.width, image.colorspace) == (
            tag, height, width, channels,
        )  # fmt: skip
        read = cv2.imdecode(np.frombuffer(image.encoded_image_string, np.uint8), -1)
        read = read.reshape(height, width, channels)
        if channels > 1:  # OpenCV has blue first
            read[..., :3] = read[..., 2::-1].copy()
        assert read.reshape(-1)[:12].tolist() == pixels, tag
