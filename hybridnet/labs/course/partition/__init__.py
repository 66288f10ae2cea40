"""Lab 6: one graph for each device, with Send and Recv between them."""
