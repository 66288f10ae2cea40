"""What tensors are computed with: functions that add Operations to the graph."""
