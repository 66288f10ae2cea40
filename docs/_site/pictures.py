"""Draws the pictures of docs/parallel.md: ``python docs/_site/pictures.py``."""

from __future__ import annotations

from pathlib import Path

import hybridnet as hn
from hybridnet import nd
from hybridnet.gluon import nn
from hybridnet.parallel import COLUMNS, ROWS, fully_sharded, split, tensor

FOLDER = Path(__file__).parents[1] / "pictures"


def pictures() -> dict[str, hn.viz.PlacementPicture]:
    """Returns the pictures by the names of their files."""
    mesh = hn.Mesh({"data": 4, "model": 2})
    w = nd.ones((512, 2048), ctx=mesh).to_placement({"data": split(1), "model": split(0)})
    net = nn.HybridSequential(prefix="net_")
    net.add(nn.Dense(512, in_units=256), nn.Dense(256, in_units=512), nn.LayerNorm(in_channels=256))
    net.initialize(ctx=mesh)
    tensor(net, mesh, {r"0\.(weight|bias)": COLUMNS, r"1\.weight": ROWS})
    fully_sharded(net, mesh)
    drawn = {"weight_on_mesh": w, "network_on_mesh": net}
    return {f"{name}.svg": hn.viz.plot_placement(one) for name, one in drawn.items()}


if __name__ == "__main__":
    for name, picture in pictures().items():
        picture.save(FOLDER / name)
