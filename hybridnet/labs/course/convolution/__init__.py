"""Lab 12: a lowering of convolution that is faster than XLA's own."""
