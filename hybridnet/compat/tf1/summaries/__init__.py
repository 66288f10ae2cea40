"""Values of a run for TensorBoard, and the files that it reads."""
