"""Counting tokens, where MXNet has it."""

from hybridnet.vocabulary import count_tokens_from_str

__all__ = ["count_tokens_from_str"]
