"""What could be done to one kernel: every strategy's offer, in the order of the policy."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernelwright.engine import Engine
    from kernelwright.macro.policy import Offer, Scored
    from kernelwright.macro.strategy import Observation


@dataclass(frozen=True)
class Menu:
    observation: "Observation"
    offers: "tuple[Offer, ...]"
    ranking: "tuple[Scored, ...]"

    @property
    def best(self) -> "Scored | None":
        """The Action that comes first; None when the policy would rather stop."""
        return self.ranking[0] if self.ranking and not self.ranking[0].is_stop else None

    @property
    def stop_reason(self) -> str:
        return next((scored.reason for scored in self.ranking if scored.is_stop), "")

    def reason(self, strategy: str) -> str:
        return next((scored.reason for scored in self.ranking if scored.action.strategy == strategy), "")

    @property
    def ordered(self) -> "tuple[Offer, ...]":
        """Offers that apply, best first; then those that wait for the op graph; then those that do not apply."""
        from kernelwright.macro.policy import summed_up

        order: dict[str, int] = {}
        for place, scored in enumerate(self.ranking):
            order.setdefault(scored.action.strategy, place)
        offers = summed_up(self.offers)
        return tuple(sorted(offers, key=lambda offer: (_class(offer), order.get(offer.strategy.id, len(order)))))


def menu(engine: "Engine", observation: "Observation") -> Menu:
    """What there is to do about a kernel; for the op graph of a large model that takes longer than a key may wait."""
    from kernelwright.macro.policy import candidates
    from kernelwright.macro.policy.expected_gain import expected_gain

    offers = engine.menu(observation)
    policy = expected_gain(engine.settings.min_gain)
    return Menu(observation, offers, policy(observation, candidates(offers)))


def title_of(strategy: str) -> str:
    """The title of a strategy or a group by its id."""
    from kernelwright.macro import strategies

    return strategies.title_of(strategy)


def _class(offer: "Offer") -> int:
    if offer.refusal is None:
        return 0
    return 1 if offer.refusal.pending else 2
