"""Snapshots of memory: taken, printed, compared, and shown as a page."""
