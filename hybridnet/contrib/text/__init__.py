"""`text`: numbers and vectors for words.

counts = text.utils.count_tokens_from_str("a b b\\nc")
vocabulary = text.vocab.Vocabulary(counts)
vectors = text.embedding.CustomEmbedding("vectors.txt", vocabulary=vocabulary)
"""

from . import embedding as embedding
from . import utils as utils
from . import vocab as vocab

__all__ = ["embedding", "utils", "vocab"]
