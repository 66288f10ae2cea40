"""The parts of ``tf.test``: tests of graphs, and numeric gradients by finite differences."""
