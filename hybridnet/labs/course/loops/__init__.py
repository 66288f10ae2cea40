"""Lab 8: a loop by Enter, Merge, Switch, NextIteration and Exit."""
