"""Event files, as TensorBoard reads them: what is in them, and what writes and reads them.

Each module may import from those above it:

    wire      messages of protocol buffers, field by field
    records   a message with its length and checksums, as event files and TFRecord files have it
    graphs    what is drawn: nodes, and what reads what
    messages  events, summaries, and the values in these
    values    values of numbers: histograms
    writer    files that grow event by event
"""

from .graphs import Node, graph_message
from .messages import Audio, Event, Histogram, Image, Summary, Value, summary_iterator
from .records import read_records, record
from .values import histogram_of
from .writer import EventWriter

__all__ = [
    "Audio",
    "Event",
    "EventWriter",
    "Histogram",
    "Image",
    "Node",
    "Summary",
    "Value",
    "graph_message",
    "histogram_of",
    "read_records",
    "record",
    "summary_iterator",
]
