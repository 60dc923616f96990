"""The options of a table: frozen and hashable, so that they are static under jit."""

import dataclasses

_SCORINGS = ("wp", "adp")


@dataclasses.dataclass(frozen=True)
class Rules:
    """What may differ from table to table; the defaults are those of RLCard.

    Attributes:
      strict: solos that go along with trios and quads are all of different ranks.
      scoring: `wp` pays 1 to each player of the side that wins and takes 1 from each that loses;
        `adp` pays the landlord 2 and takes 1 from each peasant, or the reverse, doubled by each
        bomb and the rocket.
      spring: doubles once more, with `adp`, if no peasant has played a card (春天), or if the
        landlord has played once only and loses (反春).
    """

    strict: bool = False
    scoring: str = "wp"
    spring: bool = False

    def __post_init__(self) -> None:
        """Refuses values that no table can mean."""
        for name in ("strict", "spring"):
            if not isinstance(getattr(self, name), bool):
                value = getattr(self, name)
                raise ValueError(f"Rules.{name} is True or False, not {value!r}.")
        if self.scoring not in _SCORINGS:
            raise ValueError(f"Rules.scoring is one of {_SCORINGS}, not {self.scoring!r}.")
        if self.spring and self.scoring != "adp":
            raise ValueError('Rules(spring=True) doubles points: it needs scoring="adp".')


DEFAULT = Rules()
