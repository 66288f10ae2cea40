"""Lab 2: the gradient of a graph, as a graph."""
