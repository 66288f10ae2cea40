"""Datasets: elements that are made on the host, one after the other, and iterators over them."""
