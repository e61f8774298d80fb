"""`python -m kernelwright.lsp` is the language server on stdin and stdout."""

from kernelwright.lsp.server import serve

serve()
