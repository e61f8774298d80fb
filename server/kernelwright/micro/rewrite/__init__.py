"""The deterministic micro coders: pure helpers that strategies build their edits from."""
