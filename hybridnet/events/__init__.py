"""Event files, as TensorBoard reads them: what is in them, and what writes and reads them.

Each module may import from those above it:

    wire      messages of protocol buffers, field by field
    records   a message with its length and checksums, as event files and TFRecord files have it
    messages  events, summaries, and the values in these
    writer    files that grow event by event
"""

from .messages import Audio, Event, Histogram, Image, Summary, Value, summary_iterator
from .records import read_records, record
from .wire import field
from .writer import EventWriter

__all__ = [
    "Audio",
    "Event",
    "EventWriter",
    "Histogram",
    "Image",
    "Summary",
    "Value",
    "field",
    "read_records",
    "record",
    "summary_iterator",
]
