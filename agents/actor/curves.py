"""A run's curves as a picture."""

from typing import TYPE_CHECKING

from agents.learn.curves import plot, plot_matches

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(metrics: list[dict[str, float]], title: str) -> "Figure":
    """Draws the matches, how self-play ends, and what the critic explains.

    Args:
      metrics: the lines of the run's metrics.
      title: of the picture.

    Returns:
      A Matplotlib figure, not yet shown or saved.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 3.6), layout="constrained")
    points, play, learn = figure.subplots(1, 3)
    figure.suptitle(title)
    plot_matches(points, metrics, "points", 1)
    points.set(title="Points a hand against", xlabel="iterations")
    ends = {"play/deal_ins": "hands that end by a deal-in", "play/drawn": "hands without a winner"}
    plot(play, metrics, ends)
    told = {
        "learn/entropy": "entropy of a discard, nats",
        "learn/explained": "share explained by the critic",
    }
    plot(learn, metrics, told)
    for axes, name in ((play, "Self-play"), (learn, "Learning")):
        axes.set(title=name, xlabel="iterations")
        axes.legend()
    return figure
