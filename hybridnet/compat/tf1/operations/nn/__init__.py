"""Layers of networks: activations, convolution, pooling, normalization, cross entropies."""
