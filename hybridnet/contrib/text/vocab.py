"""`Vocabulary`, where MXNet has it."""

from hybridnet.vocabulary import Vocabulary

__all__ = ["Vocabulary"]
