"""What a server keeps: parts with their sums, values and states, so that a kill loses nothing."""
