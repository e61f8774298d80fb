"""Started by the server with the user's interpreter: makes the package importable from its folder alone, never the
site-packages that holds it, then runs the worker, or what compute-sanitizer is to look at. Plain old syntax, so that an old
Python can still say that it is."""

import os
import sys


def main():
    descriptor, role = int(sys.argv[1]), sys.argv[2]
    if sys.version_info < (3, 11):  # noqa: UP036  (this file is run by whatever the user has named)
        import json
        import struct

        body = json.dumps({"$": "TooOld", "python": sys.version.split()[0]}).encode("ascii")
        os.write(descriptor, struct.pack(">4sI", b"KWF1", len(body)) + body)
        return
    worker_folder = os.path.dirname(os.path.abspath(__file__))
    # The folder of this script comes first on the path and holds modules with everyday names.
    sys.path[:] = [place for place in sys.path if os.path.abspath(place or ".") != worker_folder]
    register("kernelwright", os.path.dirname(os.path.dirname(worker_folder)))
    if role == "launch":
        from kernelwright.proof.worker.toolchain import sanitizer

        sanitizer.launch(sys.argv[3])
    elif role == "call":
        from kernelwright.proof.worker.hosts import under_sanitizer

        under_sanitizer.call(sys.argv[3], sys.argv[4])
    else:
        from kernelwright.proof.worker import loop

        if role == "zygote":
            loop.zygote_main(descriptor, int(sys.argv[3]))
        else:
            loop.main(descriptor, role, int(sys.argv[3]))


def register(name, folder):
    """Import the package `name` from `folder`, whatever else is called so on the path."""
    import importlib.util

    spec = importlib.util.spec_from_file_location(
        name, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
    )
    package = importlib.util.module_from_spec(spec)
    sys.modules[name] = package
    spec.loader.exec_module(package)


if __name__ == "__main__":
    main()
