"""A run's curves as a picture."""

from typing import TYPE_CHECKING

from doudizhu.render import ROLES

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(metrics: list[dict[str, float]], title: str) -> "Figure":
    """Draws the error of each role's network, and the landlord's share of self-play.

    Args:
      metrics: the lines of the run's metrics.
      title: of the picture.

    Returns:
      A Matplotlib figure, not yet shown or saved.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    error, play = figure.subplots(1, 2)
    figure.suptitle(title)
    for role, name in enumerate(ROLES):
        lines = [line for line in metrics if line.get("learn/role") == role]
        x = [line["learn/epoch"] + 1 for line in lines]
        error.plot(x, [line["learn/error"] for line in lines], marker="o", label=name)
    error.set(title="Squared error on games held out", xlabel="epochs")
    error.legend()
    played = [line for line in metrics if line.get("play/landlord_wins") is not None]
    play.plot(
        [line["iteration"] for line in played], [line["play/landlord_wins"] for line in played]
    )
    play.set(title="Self-play: games won by the landlord", xlabel="chunks", ylim=(0, 1))
    return figure
