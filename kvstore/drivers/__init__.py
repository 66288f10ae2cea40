"""The drivers of the protocol's machines: events come from a transport and a clock."""
