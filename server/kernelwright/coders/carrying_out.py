"""How each kind of Intent becomes Edits without a model."""

from kernelwright.macro.intent import Ask, Fuse, Rewrite, Text, Wrap
from kernelwright.macro.strategy import Observation, Strategy
from kernelwright.micro.rewrite.algebra import put_in_place
from kernelwright.micro.rewrite.wrapped import wrapped
from kernelwright.values import Action, Edits, Refusal


def carried_out(strategy: Strategy, observation: Observation, action: Action) -> tuple[Edits, ...] | Refusal:
    """Edits against `observation.text`, as variants where only a measurement can choose between them, best guess first."""
    intent = strategy.intent(observation, action)
    match intent:
        case Refusal():
            return intent
        case Text(variants):
            return variants
        case Rewrite(match):
            source = observation.source
            edits = source if isinstance(source, Refusal) else put_in_place(source, match)
            return edits if isinstance(edits, Refusal) else (edits,)
        case Fuse():
            from kernelwright.coders.fusing import fused  # with all that prints kernels, which a hover does without

            return fused(intent, observation, action)
        case Wrap(module, helpers):
            source = observation.source
            return source if isinstance(source, Refusal) else wrapped(source, module, helpers)
        case Ask():
            return needs_a_model(strategy)


def needs_a_model(strategy: Strategy) -> Refusal:
    """Why nobody here can do it: all strategies of a group say the same, so that a menu tells them as one."""
    return Refusal(f"{(strategy.group or strategy).title} needs a language model, and none is configured.")
