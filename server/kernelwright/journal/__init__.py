"""What was tried, with what result: baselines, steps and recipes on disk."""
