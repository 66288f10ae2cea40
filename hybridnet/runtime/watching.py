"""The runtime's events, journal and memory, for whoever wants to watch them."""

from .checks.asked import asked as asked
from .explain.collectives import MeshLaunch as MeshLaunch
from .explain.collectives import on_mesh as on_mesh
from .explain.device_trace import DeviceTrace as DeviceTrace
from .live.arrays import LiveArray as LiveArray
from .live.arrays import live_arrays as live_arrays
from .live.noting import note_all_origins as note_all_origins
from .memory import Memory as Memory
from .memory import memory as memory
from .memory import resident as resident
from .observe import events as events
from .observe import journal as journal
from .platform.collecting import without_collecting as without_collecting
