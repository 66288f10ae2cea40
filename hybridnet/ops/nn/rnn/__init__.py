"""Recurrent networks: their operator, one layer of one, and its steps by oneDNN."""

from . import network as network
from . import onednn as onednn
from . import parameters as parameters
