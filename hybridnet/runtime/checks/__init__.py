"""What launches are asked, while somebody debugs: whether they made NaN, and of which operator."""
