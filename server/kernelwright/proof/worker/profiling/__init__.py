"""What one call runs, and whose code each part of it is: torch's profiler, or launches and operators counted."""
