"""Data that comes with hybridnet: 5,000 real MNIST digits in ``mnist-5k/`` (see its README)."""
