"""Recorded and not launched work as data: segments, values, their structure."""
