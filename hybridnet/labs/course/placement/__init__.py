"""Lab 5: which device each operator of a graph runs on, by cost."""
