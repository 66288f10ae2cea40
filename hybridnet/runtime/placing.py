"""Devices by name, graphs that are placed on one or on several, and what a program costs."""

from .devices.calibrate import costs_of as costs_of
from .devices.calibrate import set_costs as set_costs
from .devices.device import Device as Device
from .devices.device import device_at as device_at
from .devices.device import devices_with as devices_with
from .devices.device import find_device as find_device
from .devices.device import full_name as full_name
from .devices.device import list_devices as list_devices
from .devices.device import register_device as register_device
from .devices.device import sites_of as sites_of
from .executor.partitioned import PartitionedCall as PartitionedCall
from .executor.placed import OnOneDevice as OnOneDevice
from .executor.placed import OnSeveralDevices as OnSeveralDevices
from .tiers.ledger import Rent as Rent
from .tiers.prices import prices as prices
