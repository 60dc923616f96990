"""A run's curves as a picture."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(metrics: list[dict[str, float]], title: str) -> "Figure":
    """Draws strength, loss and play over the iterations of a run.

    Args:
      metrics: the lines of the run's metrics.
      title: of the picture.

    Returns:
      A Matplotlib figure, not yet shown or saved.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 3.6), layout="constrained")
    strength, loss, play = figure.subplots(1, 3)
    figure.suptitle(title)
    plot_matches(strength, metrics, "win_rate", 100)
    strength.set(title="Win rate, network alone - opponent", ylabel="points of a hundred")
    plot(loss, metrics, {"learn/loss": "loss"})
    loss.set(title="TD loss", yscale="log")
    plot(play, metrics, {"play/drawn_rate": "hands drawn", "play/epsilon": "random actions"})
    play.set(title="Self-play", ylim=(0, 1))
    play.legend()
    for axes in (strength, loss, play):
        axes.set_xlabel("iterations")
    return figure


def plot_matches(axes, metrics: list[dict[str, float]], what: str, scale: float) -> None:
    """Plots the difference of a figure, times a scale, to each opponent of the run's matches."""
    opponents = sorted({key.split("/")[1] for line in metrics for key in line if "eval/" in key})
    for opponent in opponents:
        start = f"eval/{opponent}/{what}"
        lines = [line for line in metrics if f"{start}_mean" in line]
        x = [line["iteration"] for line in lines]
        low, mean, high = (
            [scale * line[f"{start}_{p}"] for line in lines] for p in ("low", "mean", "high")
        )
        axes.plot(x, mean, marker="o", markersize=3, label=f"v {opponent}")
        axes.fill_between(x, low, high, alpha=0.2)
    axes.axhline(0, color="grey", linewidth=0.8)
    if opponents:
        axes.legend()


def plot(axes, metrics: list[dict[str, float]], names: dict[str, str]) -> None:
    """Plots metrics by name."""
    for name, label in names.items():
        points = [(m["iteration"], m[name]) for m in metrics if m.get(name) is not None]
        axes.plot([x for x, _ in points], [y for _, y in points], label=label)
