"""One program over many devices: how arrays, networks and batches lie on a mesh.

mesh = hn.Mesh({"data": 8})
net.initialize(ctx=mesh)
x, y = gluon.utils.split_and_load(batch, [mesh])
"""

from hybridnet.base.placement import Split as Split
from hybridnet.base.placement import broadcast as broadcast
from hybridnet.base.placement import split as split

from .arrays import join as join
from .arrays import load as load
from .networks import COLUMNS as COLUMNS
from .networks import ROWS as ROWS
from .networks import data as data
from .networks import fully_sharded as fully_sharded
from .networks import tensor as tensor
