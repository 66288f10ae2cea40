"""VGG-19 with TensorFlow 1.x, as style transfer uses it: features, and the gradient by the image.

Run by TensorFlow as it stands, and by us with another import; `RESULT` is what is compared. The
widths are a sixteenth of the published ones, and the weights random; DEPTH is how many of the five
blocks there are.
"""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

FORMAT = "NHWC"
DEPTH = "5"
SIZE, WIDTH = 40, 4
LAYERS = (
    "conv1_1", "relu1_1", "conv1_2", "relu1_2", "pool1",
    "conv2_1", "relu2_1", "conv2_2", "relu2_2", "pool2",
    "conv3_1", "relu3_1", "conv3_2", "relu3_2", "conv3_3", "relu3_3", "conv3_4", "relu3_4", "pool3",
    "conv4_1", "relu4_1", "conv4_2", "relu4_2", "conv4_3", "relu4_3", "conv4_4", "relu4_4", "pool4",
    "conv5_1", "relu5_1", "conv5_2", "relu5_2", "conv5_3", "relu5_3", "conv5_4", "relu5_4",
)  # fmt: skip
LAYERS = [layer for layer in LAYERS if layer[4] <= DEPTH]
STYLE = ["relu1_1", "relu2_1", "relu3_1", "relu4_1", "relu5_1"][: int(DEPTH)]
CONTENT = f"relu{min(4, int(DEPTH))}_2"
RESULT = {}

rng = np.random.RandomState(19)


def weights(inputs, outputs):
    scale = np.sqrt(2.0 / (9 * inputs))
    return (rng.normal(size=(3, 3, inputs, outputs)) * scale).astype(np.float32)


channels, filters = 3, {}
for layer in LAYERS:
    if layer.startswith("conv"):
        outputs = min(WIDTH * 2 ** (int(layer[4]) - 1), WIDTH * 8)
        filters[layer] = weights(channels, outputs), rng.normal(size=outputs).astype(np.float32)
        channels = outputs


def turned(image):
    return image.transpose(0, 3, 1, 2) if FORMAT == "NCHW" else image


def window(size):
    return [1, 1, size, size] if FORMAT == "NCHW" else [1, size, size, 1]


def vgg(image):
    net, current = {}, image
    for layer in LAYERS:
        kind = layer[:4]
        if kind == "conv":
            kernel, bias = filters[layer]
            with tf.variable_scope(layer):
                conv = tf.nn.conv2d(
                    current, tf.constant(kernel), strides=window(1), padding="SAME",
                    data_format=FORMAT,
                )  # fmt: skip
                current = tf.nn.bias_add(conv, tf.constant(bias), data_format=FORMAT)
        elif kind == "relu":
            current = tf.nn.relu(current, name=layer)
        else:
            current = tf.nn.max_pool(
                current, ksize=window(2), strides=window(2), padding="SAME", data_format=FORMAT
            )
        net[layer] = current
    return net


def gram(features):
    depth = features.get_shape()[1 if FORMAT == "NCHW" else 3]
    if FORMAT == "NCHW":
        features = tf.transpose(features, [0, 2, 3, 1])
    matrix = tf.reshape(features, (-1, int(depth)))
    return tf.matmul(tf.transpose(matrix), matrix) / float(matrix.get_shape()[0])


content, style = rng.uniform(-1, 1, (2, 1, SIZE, SIZE, 3)).astype(np.float32)

# What the layers make of the two images.
with tf.Graph().as_default(), tf.Session() as sess:
    image = tf.placeholder(tf.float32, shape=turned(content).shape)
    net = vgg(image)
    grams = [gram(net[layer]) for layer in STYLE]
    wanted, _ = sess.run([grams, net[CONTENT]], feed_dict={image: turned(style)})
    _, features = sess.run([grams, net[CONTENT]], feed_dict={image: turned(content)})
    RESULT["gram"] = [float(one.mean()) for one in wanted]
    RESULT["features"] = float(np.abs(features).mean())
    RESULT["tensors"] = [net[layer].name for layer in LAYERS]

# The image between them, by gradient descent on it.
with tf.Graph().as_default(), tf.Session() as sess:
    image = tf.Variable(turned(content), name="image")
    net = vgg(image)
    content_loss = 2 * tf.nn.l2_loss(net[CONTENT] - features) / features.size
    style_loss = sum(
        2 * tf.nn.l2_loss(gram(net[layer]) - matrix) / matrix.size
        for layer, matrix in zip(STYLE, wanted, strict=True)
    )
    loss = content_loss + 0.1 * style_loss
    (gradient,) = tf.gradients(loss, image)
    train_step = tf.train.AdamOptimizer(0.05).minimize(loss)
    sess.run(tf.global_variables_initializer())
    losses, gradients = [], []
    for _ in range(6):
        found = sess.run([loss, content_loss, gradient, train_step])
        losses.append([float(one) for one in found[:2]])
        gradients.append([float(np.abs(found[2]).mean()), float(np.square(found[2]).sum())])
    RESULT["losses"], RESULT["gradients"] = losses, gradients
    RESULT["variables"] = [one.name for one in tf.global_variables()]
