"""Lab 9: a function with branches, traced."""
