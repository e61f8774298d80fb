"""Placeholder until the providers' branch is merged."""


def record(path, conversation, reply):  # type: ignore[no-untyped-def]
    raise NotImplementedError
