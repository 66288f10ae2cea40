"""The devices that run programs: those of JAX and of users, and what they cost."""
