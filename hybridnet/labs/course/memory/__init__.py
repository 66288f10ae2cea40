"""Lab 3: where the results of a graph lie in memory."""
