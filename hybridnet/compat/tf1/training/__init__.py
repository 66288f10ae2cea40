"""Optimizers, learning rates, checkpoints, and sessions that are watched over."""
