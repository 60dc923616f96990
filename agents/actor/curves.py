"""A run's curves as a picture."""

from typing import TYPE_CHECKING

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
    names = sorted({key.split("/")[1] for line in metrics for key in line if key[:5] == "eval/"})
    for name in names:
        key = f"eval/{name}/points_"
        lines = [line for line in metrics if f"{key}mean" in line]
        x = [line["iteration"] for line in lines]
        points.plot(x, [line[f"{key}mean"] for line in lines], marker="o", label=name)
        points.fill_between(
            x, *([line[f"{key}{end}"] for line in lines] for end in ("low", "high")), alpha=0.2
        )
    points.axhline(0, color="grey", linewidth=0.8)
    points.set(title="Points a hand against", xlabel="iterations")
    if names:
        points.legend()
    for axes, key, label in (
        (play, "play/deal_ins", "hands that end by a deal-in"),
        (play, "play/drawn", "hands without a winner"),
        (learn, "learn/entropy", "entropy of a discard, nats"),
        (learn, "learn/explained", "share explained by the critic"),
    ):
        lines = [line for line in metrics if line.get(key) is not None]
        axes.plot([n["iteration"] for n in lines], [n[key] for n in lines], label=label)
    for axes, name in ((play, "Self-play"), (learn, "Learning")):
        axes.set(title=name, xlabel="iterations")
        axes.legend()
    return figure
