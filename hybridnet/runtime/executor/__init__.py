"""Graphs on several devices, with host code or with open loops: run part by part."""
