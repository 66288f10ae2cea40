"""What happens here, for who wants to know: events, the last launches, the programs' log."""
