"""A picture in the style of another, TensorFlow 1.x's way: VGG-19, Gram matrices, and an optimizer.

    python examples/tf1_style_transfer.py --out=style            # pictures drawn here
    python examples/tf1_style_transfer.py --weights=imagenet-vgg-verydeep-19.mat \\
        --content=photo.jpg --style=painting.jpg --size=256 --steps=500 --out=style

Gatys, Ecker and Bethge 2016: an image is optimised until the features of a trained network are
those of the content in one deep layer, and their products, summed over all places (Gram matrices),
those of the style in five. `--weights` is the file of MatConvNet (.mat), or one of arrays that are
called conv1_1_W, conv1_1_b and so on (.npz; (rows, columns, in, out)).

Without such a file the filters are drawn at random (He et al. 2015), at a quarter of the width.
They know no objects: the content keeps its edges and large shapes, and takes on the colours and the
strokes of the style; that much of a network is in how it is built (He, Wang and Hopcroft 2016).
With `import tensorflow.compat.v1 as tf` it is a script for TensorFlow. Needs OpenCV, for the files:
pip install 'hybridnet[image]'.
"""

from __future__ import annotations

import os
import time

import numpy as np

import hybridnet.compat.tf1 as tf

flags = tf.app.flags
flags.DEFINE_string("content", None, "an image file; default a landscape that is drawn here")
flags.DEFINE_string("style", None, "an image file; default waves of colour that are drawn here")
flags.DEFINE_string("weights", None, "VGG-19's, a .mat or .npz file; default random filters")
flags.DEFINE_integer("size", 128, "of the images, in pixels each way")
flags.DEFINE_float("width", 0.25, "of the layers, where filters are random")
flags.DEFINE_integer("steps", 150, "of Adam")
flags.DEFINE_float("learning_rate", 3.0, "of Adam; pixels are from 0 to 255")
flags.DEFINE_float("content_weight", 1.0, "of the loss of the content")
flags.DEFINE_float("style_weight", 30.0, "of the loss of the style")
flags.DEFINE_float("smoothness", 0.003, "of the total variation, beside the content's loss")
flags.DEFINE_string("out", "style", "the folder for content.png, style.png and result.png")
FLAGS = flags.FLAGS

#: Channels and how many convolutions have them; a pooling that halves the image follows each.
STAGES = ((64, 2), (128, 2), (256, 4), (512, 4), (512, 4))
#: What the layers compute that are compared (Gatys et al., section 2.3).
CONTENT_LAYER = "conv4_2"
STYLE_LAYERS = ("conv1_1", "conv2_1", "conv3_1", "conv4_1", "conv5_1")
#: The mean colour of the images that VGG-19 was trained with: red, green, blue.
MEAN = np.array([123.68, 116.779, 103.939], "float32")

Weights = dict[str, tuple[np.ndarray, np.ndarray]]


def layers() -> list[tuple[str, int]]:
    """Returns the names of the convolutions up to the last one needed, and their channels."""
    found = []
    for stage, (channels, count) in enumerate(STAGES, 1):
        found += [(f"conv{stage}_{number}", channels) for number in range(1, count + 1)]
    return found[: 1 + max(map([name for name, _ in found].index, STYLE_LAYERS))]


def random_weights(width: float) -> Weights:
    """Draws filters (3, 3, in, out) that keep the size of what they are given."""
    draw, inputs, found = np.random.default_rng(0), 3, {}
    for name, channels in layers():
        outputs = max(1, int(channels * width))
        filters = draw.normal(0, np.sqrt(2 / (9 * inputs)), (3, 3, inputs, outputs))
        found[name] = filters.astype("float32"), np.zeros(outputs, "float32")
        inputs = outputs
    return found


def read_weights(file: str) -> Weights:
    """Reads the filters (3, 3, in, out) and biases (out,) of a file of published ones."""
    names = [name for name, _ in layers()]
    if not file.endswith(".mat"):
        with np.load(file) as arrays:
            return {name: (arrays[f"{name}_W"], arrays[f"{name}_b"]) for name in names}
    from scipy.io import loadmat

    found: Weights = {}
    for layer in loadmat(file, squeeze_me=True, struct_as_record=False)["layers"]:
        if layer.name in names:
            filters, biases = layer.weights
            # MATLAB's images are stored by columns, so columns come before rows.
            found[layer.name] = filters.transpose(1, 0, 2, 3), np.ravel(biases)
    return found


def network(image: tf.Tensor, weights: Weights) -> dict[str, tf.Tensor]:
    """Returns what the layers compute of images (1, rows, columns, 3): by name, after the ReLU."""
    x, found = image - MEAN, {}
    for name, _ in layers():
        if name.endswith("_1") and name != "conv1_1":
            # The mean makes smoother pictures than the maximum, say Gatys et al.
            x = tf.nn.avg_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
        filters, biases = weights[name]
        x = tf.nn.conv2d(x, tf.constant(filters), strides=[1, 1, 1, 1], padding="SAME")
        x = found[name] = tf.nn.relu(tf.nn.bias_add(x, tf.constant(biases)))
    return found


def gram(features: tf.Tensor) -> tf.Tensor:
    """Returns the products of all pairs of channels, means over places: (channels, channels)."""
    _, rows, columns, channels = features.shape.as_list()
    flat = tf.reshape(features, [rows * columns, channels])
    return tf.matmul(flat, flat, transpose_a=True) / (rows * columns)


def read_image(file: str, size: int) -> np.ndarray:
    """Reads an image file as (1, size, size, 3), from 0 to 255."""
    with tf.Graph().as_default(), tf.Session() as session:
        image = tf.image.decode_image(tf.read_file(file), channels=3)
        image.set_shape([None, None, 3])
        return session.run(tf.image.resize_images(image, [size, size]))[None].astype("float32")


def write_image(file: str, image: np.ndarray) -> None:
    """Writes (1, rows, columns, 3) as a PNG file."""
    with tf.Graph().as_default(), tf.Session() as session:
        whole = tf.constant(np.clip(np.rint(image[0]), 0, 255).astype("uint8"))
        with tf.gfile.GFile(file, "wb") as opened:
            opened.write(session.run(tf.image.encode_png(whole)))


def landscape(size: int) -> np.ndarray:
    """Draws a house before hills, under a sun."""
    y, x = np.mgrid[0:size, 0:size] / size
    image = np.stack([120 + 80 * y, 170 + 40 * y, 235 + 0 * y], -1)
    image[(x - 0.78) ** 2 + (y - 0.2) ** 2 < 0.012] = 250, 220, 90
    image[y > 0.55 + 0.12 * np.sin(7 * x + 1)] = 90, 130, 100
    image[y > 0.72 + 0.06 * np.sin(5 * x + 4)] = 120, 165, 80
    image[(abs(x - 0.36) < 0.14) & (abs(y - 0.66) < 0.13)] = 205, 180, 150
    image[(abs(x - 0.36) < (y - 0.36) * 1.1) & (y > 0.36) & (y < 0.54)] = 160, 70, 60
    image[(abs(x - 0.30) < 0.035) & (abs(y - 0.62) < 0.04)] = 70, 80, 110
    image[(abs(x - 0.42) < 0.035) & (abs(y - 0.70) < 0.09)] = 110, 75, 50
    return image[None].astype("float32")


def waves(size: int) -> np.ndarray:
    """Draws waves of a few strong colours, like brush strokes."""
    y, x = np.mgrid[0:size, 0:size] / 128
    bent = y + 0.10 * np.sin(6 * x) + 0.05 * np.sin(17 * x + 9 * y)
    stripes = (9 * bent + 0.6 * np.sin(23 * x - 11 * y)) % 4
    colours = np.array([[20, 40, 110], [240, 200, 70], [50, 120, 180], [235, 235, 215]], "float32")
    strokes = 18 * np.sin(90 * bent + 12 * x)
    return np.clip(colours[stripes.astype(int)] + strokes[..., None], 0, 255)[None]


def targets(weights: Weights, content: np.ndarray, style: np.ndarray) -> dict[str, np.ndarray]:
    """Returns what the result is to have: the content's features, Gram matrices by layer."""
    with tf.Graph().as_default(), tf.Session() as session:
        image = tf.placeholder(tf.float32, content.shape)
        found = network(image, weights)
        wanted = {name: gram(found[name]) for name in STYLE_LAYERS}
        grams = session.run(wanted, {image: style})
        return {**grams, "content": session.run(found[CONTENT_LAYER], {image: content})}


def transfer(weights: Weights, content: np.ndarray, style: np.ndarray) -> np.ndarray:
    """Returns the content in the style of the other image; prints the losses."""
    wanted = targets(weights, content, style)
    with tf.Graph().as_default():
        image = tf.Variable(content, name="image")
        found = network(image, weights)
        # Each loss is divided by its size, so that random filters and trained ones weigh the same.
        scale = np.mean(np.square(wanted["content"]))
        content_loss = tf.reduce_mean(tf.square(found[CONTENT_LAYER] - wanted["content"])) / scale
        parts = [
            tf.reduce_mean(tf.square(gram(found[name]) - wanted[name]))
            / np.mean(np.square(wanted[name]))
            for name in STYLE_LAYERS
        ]
        style_loss = tf.add_n(parts) / len(parts)
        size = FLAGS.size
        variation = tf.reduce_sum(tf.image.total_variation(image)) / (size * size)
        loss = (
            FLAGS.content_weight * content_loss
            + FLAGS.style_weight * style_loss
            + FLAGS.smoothness * variation
        )
        step = tf.train.AdamOptimizer(FLAGS.learning_rate).minimize(loss, var_list=[image])
        clip = image.assign(tf.clip_by_value(image, 0.0, 255.0))
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            shown = [content_loss, style_loss, variation]
            first = session.run(shown)
            for number in range(FLAGS.steps + 1):
                if number % max(1, FLAGS.steps // 5) == 0:
                    of_content, of_style, rough = session.run(shown)
                    print(f"step {number}: content {of_content:.4f}, style {of_style:.4f}, "
                          f"total variation {rough:.1f}", flush=True)  # fmt: skip
                if number < FLAGS.steps:
                    session.run(step)
                    session.run(clip)
            print(f"style {of_style / first[1]:.4f} of what it was")
            return session.run(image)


def main(_: list[str]) -> None:
    """Reads or draws the images, transfers the style, and writes what came of it."""
    began = time.perf_counter()
    content = read_image(FLAGS.content, FLAGS.size) if FLAGS.content else landscape(FLAGS.size)
    style = read_image(FLAGS.style, FLAGS.size) if FLAGS.style else waves(FLAGS.size)
    if FLAGS.weights:
        weights = read_weights(FLAGS.weights)
    else:
        weights = random_weights(FLAGS.width)
        print("filters: random, since there is no --weights: colours and strokes, no objects")
    tf.gfile.MakeDirs(FLAGS.out)
    result = transfer(weights, content, style)
    for name, image in (("content", content), ("style", style), ("result", result)):
        write_image(os.path.join(FLAGS.out, f"{name}.png"), image)
    print(f"{FLAGS.out}: content.png, style.png, result.png, in "
          f"{time.perf_counter() - began:.0f} s")  # fmt: skip


if __name__ == "__main__":
    tf.app.run()
