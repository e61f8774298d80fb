"""The same engine on the command line."""
