"""Contexts as devices of JAX, and arrays put on them."""

from .devices.device import receive as receive
from .live.lack import look_for_bytes as look_for_bytes
from .live.lack import told_put as told_put
from .platform import cuda_driver as cuda_driver
from .platform.device_memory import memory_left as memory_left
from .platform.dlpack_exports import note_exported as note_exported
from .platform.jax_devices import check_device as check_device
from .platform.jax_devices import context_of as context_of
from .platform.jax_devices import copied as copied
from .platform.jax_devices import device_of as device_of
from .platform.jax_devices import gathered as gathered
from .platform.jax_devices import has_begun as has_begun
from .platform.jax_devices import is_forked as is_forked
from .platform.jax_devices import joined as joined
from .platform.jax_devices import mesh_over as mesh_over
from .platform.jax_devices import num_devices as num_devices
from .platform.jax_devices import on_device as on_device
from .platform.jax_devices import on_each as on_each
from .platform.jax_devices import put as put
from .platform.jax_devices import splits_of as splits_of
from .platform.jax_devices import spread as spread
from .platform.jax_devices import stacked as stacked
from .platform.transfers import host_view as host_view
from .platform.transfers import in_host_memory_now as in_host_memory_now
from .platform.transfers import note_moved as note_moved
from .programs.spanning import spanning as spanning
