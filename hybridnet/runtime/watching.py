"""The runtime's events, journal and memory, for whoever wants to watch them."""

from .checks.asked import asked as asked
from .memory import resident as resident
from .observe import events as events
from .observe import journal as journal
from .platform.collecting import without_collecting as without_collecting
