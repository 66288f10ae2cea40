"""Images and what is seen in them: resizing, color, boxes, regions, sampled and compared maps."""

from . import boxes as boxes
from . import color as color
from . import correlation as correlation
from . import deformable as deformable
from . import image as image
from . import multibox as multibox
from . import proposal as proposal
from . import psroi_pooling as psroi_pooling
from . import resize as resize
from . import roi as roi
from . import roi_align as roi_align
from . import rroi_align as rroi_align
from . import sampling as sampling
