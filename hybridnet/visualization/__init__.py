"""`viz`: pictures and tables of networks.

    hn.viz.print_summary(symbol, shape={"data": (1, 1, 28, 28)})
    hn.viz.plot_network(symbol, shape={"data": (1, 1, 28, 28)}).render("lenet")   # needs Graphviz
    hn.viz.draw_network(symbol, shape={"data": (1, 1, 28, 28)})                   # Matplotlib only
    hn.viz.plot_passes(symbol, data=(1, 1, 28, 28))   # a picture after each pass that changed it
    hn.viz.plot_partitions(executor)                  # what each device does, with Send and Recv
    hn.viz.fold_network(symbol).save("net.html")      # a page whose parts fold and unfold
    hn.viz.plot_memory(symbol, data=(1, 1, 28, 28))   # where each result lies, and how long
    hn.viz.memory_page(symbol, data=(1, 1, 28, 28))   # the same as a page, by each strategy
    hn.viz.plot_placement(array)                      # which device of a mesh has which part

The packages for it come with the viz extra: ``pip install 'hybridnet[viz]'``.
"""

from .drawing import draw_network as draw_network
from .folding import fold_network as fold_network
from .memory import plot_memory as plot_memory
from .memory_page import memory_page as memory_page
from .network import plot_network as plot_network
from .network import print_summary as print_summary
from .placement import PlacementPicture as PlacementPicture
from .placement import plot_placement as plot_placement
from .stages import plot_partitions as plot_partitions
from .stages import plot_passes as plot_passes

__all__ = [
    "PlacementPicture",
    "draw_network",
    "fold_network",
    "memory_page",
    "plot_memory",
    "plot_network",
    "plot_partitions",
    "plot_passes",
    "plot_placement",
    "print_summary",
]
