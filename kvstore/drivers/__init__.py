"""What drives the protocol's machines: events come from a transport and a clock."""
