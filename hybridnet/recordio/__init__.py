"""`recordio`: MXNet's files of records, and the header that image records begin with.

Importing it loads neither JAX nor NumPy, so that tools and data-loading workers start at once.
"""

from .framing import Entry, scan
from .header import IRHeader, pack, unpack
from .images import pack_img, unpack_img
from .indexed_file import MXIndexedRecordIO
from .record_file import MXRecordIO

__all__ = [
    "Entry",
    "IRHeader",
    "MXIndexedRecordIO",
    "MXRecordIO",
    "pack",
    "pack_img",
    "scan",
    "unpack",
    "unpack_img",
]
