"""What one call launches, by time."""
