"""Lab 1: the order in which an engine runs tasks, by what they read and write."""
