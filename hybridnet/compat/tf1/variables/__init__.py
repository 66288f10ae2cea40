"""Variables: making, sharing, listing and changing them, and their first values."""
