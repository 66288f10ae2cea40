"""Windows that slide over images: convolution and pooling in every form that computes them."""

from . import channels_last as channels_last
from . import constant_weights as constant_weights
from . import convolution as convolution
from . import lowerings as lowerings
from . import onednn as onednn
from . import padded as padded
from . import patches as patches
from . import pool as pool
from . import row_sums as row_sums
from . import winograd as winograd
