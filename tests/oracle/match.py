"""A whole game: who deals next, which round it is, when it is over (section 4)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

NUM_DEALER_CHANGES = 16


@dataclass(frozen=True)
class Match:
    """The state between two hands."""

    dealer: int = 0
    streak: int = 0
    num_changes: int = 0  # times that the deal has moved on

    @property
    def round_wind(self) -> int:
        """The round wind, 0-3 = E S W N; four changes of the dealer make a round."""
        return min(self.num_changes // 4, 3)

    @property
    def is_over(self) -> bool:
        """Whether all four rounds have been played."""
        return self.num_changes >= NUM_DEALER_CHANGES

    def after(self, winners: Sequence[int]) -> "Match":
        """Gives the state after a hand.

        Args:
          winners: the seats that won; none after a drawn hand.

        Returns:
          The same dealer with a longer streak if the dealer is among the winners or nobody won,
          else the next seat's deal.
        """
        if not winners or self.dealer in winners:
            return replace(self, streak=self.streak + 1)
        return Match((self.dealer + 1) % 4, 0, self.num_changes + 1)
