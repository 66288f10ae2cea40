"""The arrays that are alive, where they were made, and what is said when there is no room."""
