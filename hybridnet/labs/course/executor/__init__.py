"""Lab 7: what an executor runs next, by counts of what is missing."""
