"""What ``tf.test`` is made of: tests of graphs, and gradients by differences."""
