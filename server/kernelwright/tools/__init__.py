"""What agents ask of the engine: one function a tool, in the table of `table.py`; `mcp/` and `lsp/` offer them."""
