"""`python -m kernelwright.lsp` is `kernelwright serve`, for an editor that knows an interpreter and not the command."""

from kernelwright.cli.main import serve

serve()
