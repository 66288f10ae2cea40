"""Images: read and written on the host; resized, cut out and coloured by operators of the graph."""
