"""The one exception of the worker: a job that cannot be answered, with the typed Failure that is sent instead."""

from kernelwright.values import Failure


class JobFailed(Exception):
    """Carries the Failure that answers the job."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure
