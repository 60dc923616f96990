"""How well chances are told: log loss, order, and calibration, against plain tables. NumPy only.

N = pairs of an opponent and a kind that the observer holds.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Pairs(NamedTuple):
    """Predictions and the truth."""

    chance: np.ndarray  # float32[N]
    truth: np.ndarray  # bool[N]


class Bins(NamedTuple):
    """Pairs of about the same predicted chance."""

    predicted: np.ndarray  # float64[bins]  mean
    observed: np.ndarray  # float64[bins]  share of wins
    error: np.ndarray  # float64[bins]  its standard error
    count: np.ndarray  # int64[bins]


class Table:
    """Chances by cell, counted: the baseline."""

    def __init__(self, num_cells: int) -> None:
        """Starts with no counts."""
        self._wins, self._all = np.zeros(num_cells), np.zeros(num_cells)

    def add(self, cells: np.ndarray, truth: np.ndarray) -> None:
        """Counts pairs: int[N] cells and bool[N]."""
        self._wins += np.bincount(cells, truth, len(self._wins))
        self._all += np.bincount(cells, minlength=len(self._all))

    def chance(self, cells: np.ndarray) -> np.ndarray:
        """Returns float64[N], drawn to the mean of all where a cell has few counts."""
        mean = self._wins.sum() / max(self._all.sum(), 1)
        return ((self._wins + 10 * mean) / (self._all + 10))[cells]


def log_loss(pairs: Pairs) -> float:
    """Averages the negative log likelihood, in nats a pair."""
    chance = np.clip(pairs.chance.astype(np.float64), 1e-7, 1 - 1e-7)
    return float(-np.mean(np.log(np.where(pairs.truth, chance, 1 - chance))))


def auc(pairs: Pairs) -> float:
    """Returns the chance that a winning pair is told above another; ties count half."""
    values, place = np.unique(pairs.chance, return_inverse=True)
    wins = np.bincount(place, pairs.truth, len(values))
    others = np.bincount(place, ~pairs.truth, len(values))
    below = np.cumsum(others) - others
    return float(np.sum(wins * (below + others / 2)) / (wins.sum() * others.sum()))


def bins(pairs: Pairs, number: int = 20) -> Bins:
    """Sorts pairs into bins that hold equal sums of predicted chance, so that all say something."""
    order = np.argsort(pairs.chance, kind="stable")
    chance, truth = pairs.chance[order].astype(np.float64), pairs.truth[order]
    mass = np.cumsum(chance)
    place = np.minimum((mass / mass[-1] * number).astype(int), number - 1)
    count = np.maximum(np.bincount(place, minlength=number), 1)
    observed = np.bincount(place, truth, number) / count
    return Bins(
        np.bincount(place, chance, number) / count,
        observed,
        np.sqrt(np.maximum(observed * (1 - observed), 1e-9) / count),
        count,
    )


def draw(found: dict[str, Pairs], title: str) -> "Figure":
    """Draws calibration: observed against predicted chance, both on a log scale.

    Args:
      found: pairs by the name of who predicts.
      title: of the picture.

    Returns:
      A Matplotlib figure, not yet shown or saved.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.6, 5.2), layout="constrained")
    axes = figure.subplots()
    limits = (1e-4, 1.0)
    axes.plot(limits, limits, color="grey", linewidth=0.8)
    for name, pairs in found.items():
        each = bins(pairs)
        label = f"{name}: log loss {log_loss(pairs):.4f}, AUC {auc(pairs):.3f}"
        axes.errorbar(
            each.predicted, each.observed, 2 * each.error, marker="o", markersize=3, label=label
        )
    axes.set(
        title=title, xlabel="predicted chance", ylabel="observed share", xscale="log", yscale="log"
    )
    axes.set(xlim=limits, ylim=limits)
    axes.legend(loc="upper left", fontsize="small")
    return figure
