"""Recording operators, launching what was recorded, and waiting for what it makes."""
