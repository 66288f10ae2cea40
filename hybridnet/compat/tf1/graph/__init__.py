"""Graphs, tensors and Operations: how they are made, named, ordered, typed and differentiated."""
