"""The one intermediate form: nodes, graphs, and what can be done with them before they run."""

from . import text as text  # graphs print themselves by it
