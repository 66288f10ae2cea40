"""Events, the last launches, and the log of the programs."""
