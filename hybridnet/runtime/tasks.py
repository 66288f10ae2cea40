"""Work that is not computation: tasks of the engine that read and write values."""

from .programs.host_program import in_host_memory as in_host_memory
from .record.failures import was_told as was_told
from .record.host_task import awaited as awaited
from .record.host_task import failed as failed
from .record.host_task import push_async_task as push_async_task
from .record.host_task import push_task as push_task
