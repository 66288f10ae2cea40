"""The storage of a server: parts with sums, values and states, so that a kill loses nothing."""
