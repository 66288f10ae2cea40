"""The package `tensorflow.examples`: modules that TensorFlow 1.x's own tutorials import."""
