"""Lab 10: sums over processes in a ring."""
