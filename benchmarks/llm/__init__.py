"""One strategy at a time against rewriting everything at once: the same model, the same calls, the same gate and clock."""
