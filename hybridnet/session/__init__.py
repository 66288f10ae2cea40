"""`Session`: runs parts of a graph, and holds the variables between runs."""
