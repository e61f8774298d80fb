"""The entry of `kernelwright`: the language server at once, everything else by way of the commands in `app`.

Editors start `kernelwright serve` and wait for it: what reads a command line costs more than a tenth of the whole start.
"""

import sys


def main() -> None:
    if sys.argv[1:] == ["serve"]:
        serve()
        return
    from kernelwright.cli.app import app

    app()


def serve() -> None:
    """Run the language server on stdin and stdout until the client says exit."""
    import gc

    gc.set_threshold(10_000, 20, 50)  # what is loaded stays: going through all of it again and again delays the start
    from kernelwright.cli.ending import told_in_words

    with told_in_words():
        from kernelwright.lsp.server import serve as run

        run()
