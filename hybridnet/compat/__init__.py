"""Thin names of other systems over hybridnet's: `hybridnet.compat.tf1` is TensorFlow 1.x."""
