"""Who runs a structure, and when what runs it faster is bought: decided here, done elsewhere."""
