"""Debug checks of launches: whether they made NaN, and in which operator."""
