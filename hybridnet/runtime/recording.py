"""Recording: the values that operators make, the storages that hold them, and their recorder."""

from .record import generator as generator
from .record import recorder as recorder
from .record.dispatched import note_dispatched as note_dispatched
from .record.recorder import thread as thread
from .record.storage import Storage as Storage
from .record.storage import in_place as in_place
from .record.storage import write_all as write_all
from .segments.segment import Value as Value
