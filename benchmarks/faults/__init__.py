"""What the server survives: faults injected one after the other into one warm server, each followed by a next request."""
