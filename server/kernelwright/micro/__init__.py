"""Action -> Edits: how a choice becomes small edits of the text."""
