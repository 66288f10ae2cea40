"""Layers: what they have in common, and each kind."""
