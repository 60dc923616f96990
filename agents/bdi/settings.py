"""What makes one BDI robot differ from another: strategies, readings of the paper, temperament."""

import dataclasses
import functools
from collections.abc import Callable

import jax

from agents.bdi import goals, intentions
from agents.bdi import rearrange as rearrangement
from agents.bdi.belief import Belief
from agents.bdi.intentions import Intentions
from agents.bdi.quintuple import Rearrange
from agents.bdi.take_out import WEIGHT, TakeOut

Array = jax.Array

TEMPERS = (-4.0, 4.0)


@dataclasses.dataclass(frozen=True)
class Strategy:
    """The strategy base (section 3.4); each part may be another."""

    rearrange: Rearrange = rearrangement.rearrange
    choose: Callable[[Array, TakeOut], Array] = goals.choose  # bits, pwin[S] -> suit
    decompose: Callable[[Belief, Array], Intentions] = intentions.decompose  # belief, suit


@dataclasses.dataclass(frozen=True)
class Settings:
    """A robot.

    Raises:
      ValueError: a value out of range.
    """

    strategy: Strategy = Strategy()
    weight: int = 1  # of a tile to obtain, where distances of a goal are compared
    empty_goals: bool = False  # the pair may be in a suit without a tile
    temper: float = 0.0  # 0 as printed, below more cautious, above bolder

    def __post_init__(self) -> None:
        """Refuses what is out of range."""
        if self.weight not in (1, WEIGHT):
            raise ValueError(f"filter_weight is 1 or {WEIGHT}, not {self.weight}.")
        if not TEMPERS[0] <= self.temper <= TEMPERS[1]:
            lowest, highest = TEMPERS
            raise ValueError(f"temper is {lowest:g} to {highest:g}, not {self.temper}.")


@functools.cache  # a partial function equals only itself, and what differs is compiled anew
def of(
    partial_runs: bool = False,
    filter_weight: int = 1,
    empty_goals: bool = False,
    temper: float = 0.0,
) -> Settings:
    """Makes the settings of the paper's own strategies, for the options of `robot.make`."""
    rearrange = rearrangement.rearrange
    if partial_runs:
        rearrange = functools.partial(rearrange, partial_runs=True)
    choose = functools.partial(goals.choose, weight=filter_weight)
    return Settings(Strategy(rearrange, choose), filter_weight, empty_goals, temper)
