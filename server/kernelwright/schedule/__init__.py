"""How a Nest is carried out: Opts put together to a Schedule, and which of them are worth measuring. Pure."""
