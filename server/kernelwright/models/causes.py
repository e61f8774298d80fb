"""Why a hosted model did not answer, as one sentence for a person."""

from kernelwright.models import Bounds
from kernelwright.models.messages import Cause, Failed
from kernelwright.values.plain import plain

# {said}: what the provider says, in brackets.
_SENTENCES = {
    Cause.KEY: "{model} wants a valid key: {remedy}.",
    Cause.NO_PROVIDER: "litellm knows no provider of {model}: write the provider first, for example openai/gpt-5.",
    Cause.UNKNOWN_MODEL: "{model} is not known where it was asked for{said}: check its name and the base URL.",
    Cause.TOO_LONG: "The prompt is too long for {model}{said}: choose a model that takes more.",
    Cause.RATE_LIMIT: "{model} has reached its rate limit{said}: try again later.",
    Cause.SERVER: "{model} could not answer, with the status {status}{said}: try again later.",
    Cause.UNREACHABLE: "{model} cannot be reached{said}: check the network and the base URL.",
    Cause.TIME: "{model} has not answered within {seconds:g} s: raise the time limit of an answer, or choose a faster model.",
    Cause.CUT: "The connection to {model} ended before its answer did{said}: try again.",
    Cause.TOKENS: "{model} was not done after {tokens:,} tokens: raise the limit of an answer.",
    Cause.ENDLESS: "{model} was stopped since its answer did not come to an end: try again, or choose another model.",
    Cause.REFUSED: "{model} refused to answer{said}.",
    Cause.EMPTY: "{model} answered with no text: try again, or choose another model.",
    Cause.CANCELLED: "Cancelled.",
    Cause.OTHER: "{model} cannot be asked{said}.",
}


def sentence(failed: Failed, model: str, bounds: Bounds, remedy: str) -> str:
    """Say why there is no answer. `remedy`: where to put a key."""
    words = plain(failed.words).strip(" .")
    return _SENTENCES[failed.cause].format(
        model=model,
        said=f" ({words})" if words else "",
        status=failed.status,
        tokens=bounds.tokens,
        seconds=bounds.seconds,
        remedy=remedy,
    )
