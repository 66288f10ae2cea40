"""``tf.strings``: strings, by their newer names."""

from .operations.strings import as_string as as_string
from .operations.strings import reduce_join as reduce_join
from .operations.strings import regex_full_match as regex_full_match
from .operations.strings import regex_replace as regex_replace
from .operations.strings import string_join as join
from .operations.strings import string_length as length
from .operations.strings import string_lower as lower
from .operations.strings import string_strip as strip
from .operations.strings import string_to_number as to_number
from .operations.strings import string_upper as upper
from .operations.strings import substr as substr

__all__ = [
    "as_string", "join", "length", "lower", "reduce_join", "regex_full_match", "regex_replace",
    "strip", "substr", "to_number", "upper",
]  # fmt: skip
