"""Graphs as calls: they are recorded as one instruction each, and started again without checks."""

from .graphs.allocation import PlannedGraph as PlannedGraph
from .graphs.allocation import allocation_of as allocation_of
from .graphs.allocation import planned as planned
from .graphs.csr_inputs import with_csr_parts as with_csr_parts
from .graphs.graph_call import GraphCall as GraphCall
from .graphs.graph_call import shared_call as shared_call
from .graphs.graph_programs import GraphPrograms as GraphPrograms
from .graphs.graph_programs import Run as Run
from .record.prepared import Attempts as Attempts
from .record.prepared import PreparedCall as PreparedCall
from .segments.code import Code as Code
from .tiers.ledger import note_call as note_call
