"""Kernels of other libraries, as custom calls of XLA: compiled where they are to run, if at all."""
