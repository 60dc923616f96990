"""The BDI robot that keeps partial runs, the second reading of the paper."""

from agents.bdi import robot
from agents.policy import Policy


def make(filter_weight: int = 1, empty_goals: bool = False, temper: float = 0.0) -> Policy:
    """Makes it; the options are those of `robot.make`."""
    return robot.make(True, filter_weight, empty_goals, temper)._replace(name="bdi_partial")
