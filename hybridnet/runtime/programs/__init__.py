"""Programs: compiled, kept in memory and on disk, found by structure, and dispatched."""
