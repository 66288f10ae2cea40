"""Sparse tensors and what is done with them."""
