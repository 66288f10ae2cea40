"""The choice of who runs a structure, and when to buy what runs it faster; done elsewhere."""
