"""Where code goes in the source: the edits that put a call in the place of nodes of a graph. Pure."""
