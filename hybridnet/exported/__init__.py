"""Exported models: one file that runs with NumPy and JAX alone, on any of several platforms.

    hn.export(net, "model.hnx", hn.TensorSpec((None, 784)))
    model = hn.load("model.hnx")
    model(x)

The file is a zip archive that NumPy reads as an ``.npz``: the program as StableHLO (made by
`jax.export`, which promises to read it for years), the parameters, and a manifest in JSON. See
`docs/function.md` for reading it without hybridnet.
"""

from .exporting import export
from .loaded import LoadedFunction, load

__all__ = ["LoadedFunction", "export", "load"]
