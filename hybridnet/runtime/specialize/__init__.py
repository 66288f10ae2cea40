"""Programs for inputs that stay the same: what follows from weights alone is made once."""
