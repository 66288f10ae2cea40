"""What a thread has recorded and not launched, as data: segments, values, their structure."""
