"""Lab 12: a convolution that beats the plain one."""
