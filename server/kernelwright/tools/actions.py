"""The Action that an agent means by the name of a strategy."""

from kernelwright.macro.policy import offered
from kernelwright.macro.strategies import choices, named
from kernelwright.macro.strategy import Observation
from kernelwright.mistakes import BadInput
from kernelwright.values import Action, Kernel, Refusal, Region, digest


def check_strategy(name: str, kernel: Kernel) -> None:
    """Raises BadInput for a strategy that there is not, or that is for kernels of another language."""
    if not any(kernel.language in strategy.languages for strategy in named(name)):
        raise BadInput(
            f"There is no strategy {name!r} for {kernel.language.value} kernels; choose one of {choices(kernel.language)}."
        )


def action_of(name: str, observation: Observation) -> tuple[Action, Refusal | None]:
    """The first Action that the strategy has found; where it has found none, the whole kernel, and why. Raises BadInput.

    An agent may know more than the strategy does, and the gate judges what it writes all the same.
    """
    check_strategy(name, observation.kernel)
    answer = offered(name, observation)
    if not isinstance(answer, Refusal):
        return answer[0], None
    rules = named(name)
    if len(rules) > 1:
        ids = ", ".join(rule.id for rule in rules)
        raise BadInput(f"None of the rules of {name} applies here ({answer.reason}); name one of them: {ids}.")
    kernel = observation.kernel
    region = Region(kernel.start_line, kernel.end_line, digest(observation.text), kernel.name)
    return Action(rules[0].id, region), answer
