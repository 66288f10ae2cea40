"""Queues, and the threads that keep them filled."""
