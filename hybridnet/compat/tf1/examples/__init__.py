"""What TensorFlow 1.x's own tutorials import beside it."""
