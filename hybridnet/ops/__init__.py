"""The operator library: the registry, and one module for each family of operators.

Importing it fills the registry; JAX itself is imported when the first operator is lowered.
"""

from . import activation as activation
from . import adaptive_ops as adaptive_ops
from . import arithmetic as arithmetic
from . import attention as attention
from . import batch_norm as batch_norm
from . import boxes as boxes
from . import broadcasting as broadcasting
from . import comparison as comparison
from . import conv as conv
from . import conv_turned as conv_turned
from . import coordinates as coordinates
from . import correlation as correlation
from . import creation as creation
from . import ctc as ctc
from . import deformable as deformable
from . import elementwise as elementwise
from . import entropy as entropy
from . import histogram as histogram
from . import image as image
from . import image_color as image_color
from . import indexing as indexing
from . import joining as joining
from . import linalg as linalg
from . import linalg_factors as linalg_factors
from . import linalg_parts as linalg_parts
from . import loss as loss
from . import many_arrays as many_arrays
from . import masking as masking
from . import matrix as matrix
from . import mixed_ops as mixed_ops
from . import multibox as multibox
from . import nn as nn
from . import norm as norm
from . import numpy_creation as numpy_creation
from . import numpy_elementwise as numpy_elementwise
from . import numpy_index as numpy_index
from . import numpy_linalg as numpy_linalg
from . import numpy_matrix as numpy_matrix
from . import numpy_random as numpy_random
from . import numpy_reduce as numpy_reduce
from . import numpy_shape as numpy_shape
from . import old_ops as old_ops
from . import optimizer_ops as optimizer_ops
from . import ordering as ordering
from . import padded_windows as padded_windows
from . import patches as patches
from . import pool as pool
from . import proposal as proposal
from . import random_choice as random_choice
from . import random_ops as random_ops
from . import random_pdf as random_pdf
from . import reduce as reduce
from . import reshape as reshape
from . import resize as resize
from . import rnn as rnn
from . import roi as roi
from . import roi_align as roi_align
from . import running as running
from . import sampling as sampling
from . import sequence as sequence
from . import settled as settled
from . import sketch as sketch
from . import slicing as slicing
from . import softmax as softmax
from . import sparse_ops as sparse_ops
from . import special as special
from . import state_ops as state_ops
from . import svm as svm
from . import transpose as transpose
from . import tuples as tuples
from . import views as views
from .numpy_names import add_numpy_names
from .registry import complete_library

add_numpy_names()
complete_library()
