"""What is particular to the language of a text, behind one protocol."""

from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.languages.cuda import LANGUAGE as CUDA
from kernelwright.proof.worker.languages.python import LANGUAGE as PYTHON
from kernelwright.proof.worker.languages.support import Known, WorkerLanguage
from kernelwright.values import Failure, FailureKind

__all__ = ["LANGUAGES", "Known", "WorkerLanguage", "language_of"]

LANGUAGES: dict[str, WorkerLanguage] = {PYTHON.id: PYTHON, CUDA.id: CUDA}
"""The languages that the worker runs, by the id that a job carries."""


def language_of(language_id: str) -> WorkerLanguage:
    """The language of a job's texts. Raises JobFailed for one that the worker does not run."""
    if language_id not in LANGUAGES:
        message = f"Texts in {language_id!r} cannot be run: only those in {', '.join(LANGUAGES)} can."
        raise JobFailed(Failure(FailureKind.IMPORT_FAILED, message))
    return LANGUAGES[language_id]
