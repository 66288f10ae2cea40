"""Files of data: records, Examples in them, readers that queues of names feed, and datasets."""
