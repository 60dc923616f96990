"""A run's curves as a picture."""

from typing import TYPE_CHECKING

import numpy as np

from agents.learn.curves import plot, plot_matches

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(metrics: list[dict[str, float]], title: str) -> "Figure":
    """Draws what the residual's choices bring on decisions not yet learned from, and the matches.

    Args:
      metrics: the lines of the run's metrics.
      title: of the picture.

    Returns:
      A Matplotlib figure, not yet shown or saved.
    """
    from matplotlib.figure import Figure

    has_matches = any("eval/" in key for line in metrics for key in line)
    figure = Figure(figsize=(12, 3.6), layout="constrained")
    gain, learn, *points = figure.subplots(1, 2 + has_matches)
    figure.suptitle(title)
    for axes in points:
        plot_matches(axes, metrics, "points", 1)
        axes.set(title="Points a hand against", xlabel="iterations")
    x, mean, error = gains([line for line in metrics if "play/gain" in line])
    gain.plot(x, mean)
    gain.fill_between(x, mean - 1.96 * error, mean + 1.96 * error, alpha=0.2)
    gain.axhline(0, color="grey", linewidth=0.8)
    gain.set(title="Points a decision over the search, fresh ones", xlabel="iterations")
    plot(learn, metrics, {"play/other": "decisions changed"})
    learn.set(title="Learning", xlabel="iterations")
    learn.legend()
    return figure


def gains(
    lines: list[dict[str, float]], windows: int = 10
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Averages gains over windows of iterations: their middles, means and standard errors."""
    names = ("iteration", "play/decisions", "play/gain", "play/gain_error")
    table = np.array([[line[name] for name in names] for line in lines]).reshape(-1, len(names))
    parts = [part for part in np.array_split(table, windows) if part[:, 1].sum() > 0]
    x = [part[:, 0].mean() for part in parts]
    weights = [part[:, 1] / part[:, 1].sum() for part in parts]
    mean = [(w * part[:, 2]).sum() for w, part in zip(weights, parts, strict=True)]
    error = [np.sqrt(((w * part[:, 3]) ** 2).sum()) for w, part in zip(weights, parts, strict=True)]
    return np.array(x), np.array(mean), np.array(error)
