"""Graphs that are run as calls, like operators."""
