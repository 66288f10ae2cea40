"""What runs programs: the devices of JAX and of users, and what they cost."""
