"""Attention: of queries to keys as one operator, and in the parts that MXNet has."""

from . import blocked as blocked
from . import cache as cache
from . import interleaved as interleaved
from . import rotary as rotary
from .dot_product import dot_product_attention as dot_product_attention
