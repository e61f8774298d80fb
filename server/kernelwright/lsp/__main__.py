"""`python -m kernelwright.lsp` is the language server on stdin and stdout."""

import gc

gc.set_threshold(10_000, 20, 50)  # what is loaded stays: going through all of it again and again delays the start

from kernelwright.lsp.server import serve  # noqa: E402

serve()
