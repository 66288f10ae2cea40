"""Layers of networks: activations, dense, normalization, attention, losses, sequences."""

from . import activation as activation
from . import attention as attention
from . import batch_norm as batch_norm
from . import conv as conv
from . import ctc as ctc
from . import dense as dense
from . import entropy as entropy
from . import linear_entropy as linear_entropy
from . import loss as loss
from . import norm as norm
from . import quantized as quantized
from . import quantized_joins as quantized_joins
from . import rnn as rnn
from . import sequence as sequence
from . import sketch as sketch
from . import softmax as softmax
from . import sparseness as sparseness
from . import svm as svm
from .conv.onednn import NAME as NAME
from .conv.onednn import multiplications as multiplications
from .rnn.parameters import Net as Net
from .rnn.parameters import net_of as net_of
