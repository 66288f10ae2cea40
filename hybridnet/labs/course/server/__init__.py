"""Lab 11: a parameter server with two consistency models, and what it does when it is killed."""
