"""Lab 4: which operators of a graph become one."""
