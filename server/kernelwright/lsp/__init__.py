"""The language server: one small module per LSP method, the only room that knows the protocol."""
