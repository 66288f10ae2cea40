"""Tables from keys to values, as from words to their numbers."""
