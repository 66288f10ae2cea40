"""Attention: of queries to keys as one operator, and in the parts that MXNet has."""

from . import blocked as blocked
from . import interleaved as interleaved
from .dot_product import dot_product_attention as dot_product_attention
