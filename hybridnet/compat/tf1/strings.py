"""``tf.strings``: strings, by their newer names."""

from .operations.strings import as_string, reduce_join, regex_full_match, regex_replace, substr
from .operations.strings import string_join as join
from .operations.strings import string_length as length
from .operations.strings import string_lower as lower
from .operations.strings import string_strip as strip
from .operations.strings import string_to_number as to_number
from .operations.strings import string_upper as upper

__all__ = [
    "as_string", "join", "length", "lower", "reduce_join", "regex_full_match", "regex_replace",
    "strip", "substr", "to_number", "upper",
]  # fmt: skip
