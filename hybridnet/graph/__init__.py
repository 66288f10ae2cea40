"""The one intermediate form: nodes, graphs, and what can be done with them before they run.

Other floors use the names that are here.
"""

from hybridnet.ops.state import ASSIGN, NO_OP, READ

from . import json as json
from .attributes import (
    HIDDEN,
    MIRRORING,
    attributes_of,
    stored_name,
    with_short_names,
    written_parameters,
)
from .cond import CondCall, open_cond
from .dtypes import infer_dtypes
from .edge_handle import EdgeHandle, fitted
from .evaluate import evaluate, host_scalars_of, infer_types, watching_nodes
from .foreach import ForeachCall, ForeachSpec, open_foreach
from .gate import is_gate
from .gradient import REROUTED, backpropagate, gradients, with_own_gradients
from .gradient_rules import GradientRules
from .node import Edge, Graph, Moves, Node, at_node, topological, variable
from .open_shapes import has_open_shapes, settled
from .probes import with_probes
from .recompute import Segments, needed_again, recomputed, renarrowed
from .shapes import infer_call, infer_shapes, is_known
from .split import GradientGraph, differentiate, joined, joint_gradient
from .structure import structure_of, with_open_scalars
from .subgraph import RUNNERS, ControlCall, Subgraph, names_devices, opened, shared
from .text import to_text
from .transform import STATE, Prepared, call_with_train, prepare
from .unbounded import UnboundedGradient
from .watching import read_values
from .while_loop import WhileCall, open_while

__all__ = [
    "ASSIGN",
    "HIDDEN",
    "MIRRORING",
    "NO_OP",
    "READ",
    "REROUTED",
    "RUNNERS",
    "STATE",
    "CondCall",
    "ControlCall",
    "Edge",
    "EdgeHandle",
    "ForeachCall",
    "ForeachSpec",
    "GradientGraph",
    "GradientRules",
    "Graph",
    "Moves",
    "Node",
    "Prepared",
    "Segments",
    "Subgraph",
    "UnboundedGradient",
    "WhileCall",
    "at_node",
    "attributes_of",
    "backpropagate",
    "call_with_train",
    "differentiate",
    "evaluate",
    "fitted",
    "gradients",
    "has_open_shapes",
    "host_scalars_of",
    "infer_call",
    "infer_dtypes",
    "infer_shapes",
    "infer_types",
    "is_gate",
    "is_known",
    "joined",
    "joint_gradient",
    "json",
    "names_devices",
    "needed_again",
    "open_cond",
    "open_foreach",
    "open_while",
    "opened",
    "prepare",
    "read_values",
    "recomputed",
    "renarrowed",
    "settled",
    "shared",
    "stored_name",
    "structure_of",
    "to_text",
    "topological",
    "variable",
    "watching_nodes",
    "with_open_scalars",
    "with_own_gradients",
    "with_probes",
    "with_short_names",
    "written_parameters",
]
