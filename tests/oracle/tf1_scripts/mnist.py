"""Digits with TensorFlow 1.x, as in tutorials: softmax regression and a convolutional network.

Run by TensorFlow as it stands, and by us with another import; `RESULT` is what is compared.
"""

import gzip
from pathlib import Path

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

DATA = Path(__file__).resolve().parents[3] / "hybridnet" / "data" / "mnist-5k"
RESULT = {}


def read(name, offset, shape):
    raw = np.frombuffer(gzip.decompress((DATA / f"{name}.gz").read_bytes()), np.uint8, -1, offset)
    return raw.reshape(-1, *shape)


images = read("train-images-idx3-ubyte", 16, (784,)).astype(np.float32) / 255
labels = np.eye(10, dtype=np.float32)[read("train-labels-idx1-ubyte", 8, ())]
rng = np.random.RandomState(0)


def batches(count, size):
    for number in range(count):
        start = number * size % (len(images) - size)
        yield images[start : start + size], labels[start : start + size]


# Softmax regression -------------------------------------------------------------------------------

x = tf.placeholder(tf.float32, [None, 784])
W = tf.Variable(tf.zeros([784, 10]))
b = tf.Variable(tf.zeros([10]))
y = tf.nn.softmax(tf.matmul(x, W) + b)
y_ = tf.placeholder(tf.float32, [None, 10])
cross_entropy = tf.reduce_mean(-tf.reduce_sum(y_ * tf.log(y), reduction_indices=[1]))
train_step = tf.train.GradientDescentOptimizer(0.5).minimize(cross_entropy)
correct_prediction = tf.equal(tf.argmax(y, 1), tf.argmax(y_, 1))
accuracy = tf.reduce_mean(tf.cast(correct_prediction, tf.float32))

sess = tf.InteractiveSession()
tf.global_variables_initializer().run()
losses = []
for batch_xs, batch_ys in batches(60, 100):
    _, loss = sess.run([train_step, cross_entropy], feed_dict={x: batch_xs, y_: batch_ys})
    losses.append(float(loss))
RESULT["softmax losses"] = losses
RESULT["softmax accuracy"] = float(accuracy.eval({x: images[:1000], y_: labels[:1000]}))
RESULT["softmax names"] = [one.name for one in (x, W, b, y, y_, cross_entropy, accuracy)]
RESULT["softmax operations"] = [train_step.name, train_step.type]
sess.close()

# A convolutional network --------------------------------------------------------------------------

tf.reset_default_graph()


def weight_variable(shape):
    return tf.Variable((rng.normal(size=shape) * 0.1).astype(np.float32))


def bias_variable(shape):
    return tf.Variable(tf.constant(0.1, shape=shape))


def conv2d(x, W):
    return tf.nn.conv2d(x, W, strides=[1, 1, 1, 1], padding="SAME")


def max_pool_2x2(x):
    return tf.nn.max_pool(x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")


x = tf.placeholder(tf.float32, shape=[None, 784], name="x")
y_ = tf.placeholder(tf.float32, shape=[None, 10], name="y_")
with tf.name_scope("reshape"):
    x_image = tf.reshape(x, [-1, 28, 28, 1])
with tf.name_scope("conv1"):
    W_conv1 = weight_variable([5, 5, 1, 8])
    b_conv1 = bias_variable([8])
    h_conv1 = tf.nn.relu(conv2d(x_image, W_conv1) + b_conv1)
with tf.name_scope("pool1"):
    h_pool1 = max_pool_2x2(h_conv1)
with tf.name_scope("conv2"):
    W_conv2 = weight_variable([5, 5, 8, 16])
    b_conv2 = bias_variable([16])
    h_conv2 = tf.nn.relu(conv2d(h_pool1, W_conv2) + b_conv2)
with tf.name_scope("pool2"):
    h_pool2 = max_pool_2x2(h_conv2)
with tf.name_scope("fc1"):
    W_fc1 = weight_variable([7 * 7 * 16, 64])
    b_fc1 = bias_variable([64])
    h_pool2_flat = tf.reshape(h_pool2, [-1, 7 * 7 * 16])
    h_fc1 = tf.nn.relu(tf.matmul(h_pool2_flat, W_fc1) + b_fc1)
with tf.name_scope("dropout"):
    keep_prob = tf.placeholder(tf.float32)
    h_fc1_drop = tf.nn.dropout(h_fc1, keep_prob)
with tf.name_scope("fc2"):
    W_fc2 = weight_variable([64, 10])
    b_fc2 = bias_variable([10])
    y_conv = tf.matmul(h_fc1_drop, W_fc2) + b_fc2
with tf.name_scope("loss"):
    cross_entropy = tf.nn.softmax_cross_entropy_with_logits(labels=y_, logits=y_conv)
cross_entropy = tf.reduce_mean(cross_entropy)
global_step = tf.Variable(0, trainable=False, name="global_step")
with tf.name_scope("adam_optimizer"):
    rate = tf.train.exponential_decay(1e-3, global_step, 10, 0.9, staircase=True)
    train_step = tf.train.AdamOptimizer(rate).minimize(cross_entropy, global_step=global_step)
with tf.name_scope("accuracy"):
    correct_prediction = tf.equal(tf.argmax(y_conv, 1), tf.argmax(y_, 1))
    correct_prediction = tf.cast(correct_prediction, tf.float32)
accuracy = tf.reduce_mean(correct_prediction)

losses = []
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for batch in batches(25, 50):
        feed = {x: batch[0], y_: batch[1], keep_prob: 1.0}
        _, loss = sess.run([train_step, cross_entropy], feed_dict=feed)
        losses.append(float(loss))
    test = {x: images[3000:3500], y_: labels[3000:3500], keep_prob: 1.0}
    RESULT["convnet accuracy"] = float(accuracy.eval(feed_dict=test))
    RESULT["steps"] = int(sess.run(global_step))
RESULT["convnet losses"] = losses
RESULT["convnet variables"] = [one.name for one in tf.global_variables()]
RESULT["convnet tensors"] = [
    one.name
    for one in (x_image, h_conv1, h_pool1, h_pool2_flat, h_fc1, h_fc1_drop, y_conv, cross_entropy,
                keep_prob, rate, correct_prediction, accuracy)
]  # fmt: skip
RESULT["convnet operations"] = [train_step.name, train_step.type]
