"""How strong a run has become: its matches at the end."""

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from agents.doudizhu import arena, cnn, cnn_search, players, results
from agents.doudizhu.learn.config import Config
from agents.doudizhu.networks import Network
from agents.policy import Policy

Params = Any
_SEED = 2_000_000  # deals for the verdict


class Pairing(NamedTuple):
    """A match to be played."""

    a: Policy
    b: Policy
    deals: int


def final(network: Network, params: Params, config: Config) -> Iterator[Pairing]:
    """Yields the matches at the end, each as it will stand in the table."""
    settings = config.evaluation
    alone = cnn.policy("cnn", network, params)
    for name in settings.opponents:
        yield Pairing(alone, players.load(name), settings.deals)
    searching = dataclasses.replace(
        cnn_search.DEFAULT_SEARCH, playouts=settings.playouts, prior_visits=settings.prior_visits
    )
    both = cnn_search.policy("cnn_search", network, params, searching)
    for name in settings.searched_opponents:
        yield Pairing(both, players.load(name), settings.searched_deals)


def play(pairing: Pairing, report: Callable[[int, int], None] | None = None) -> dict[str, Any]:
    """Plays a match and returns its figures (`results.figures`)."""
    a, b, deals = pairing
    return results.figures(arena.match(a, b, deals, _SEED, report=report), (a.name, b.name))


def table(all_figures: list[dict[str, Any]]) -> str:
    """Sets the matches at the end as text, one line each."""
    lines = [f"{'':38}{'deals':>6}   {'WP of a':<26}{'ADP of a':<26}"]
    for figures in all_figures:
        a = figures["a"]
        names = f"{a['name']} v {figures['b']['name']}"
        wp = f"{a['wp']:.3f} ({a['wp_low']:.3f} to {a['wp_high']:.3f})"
        adp = f"{a['adp']:+.2f} ({a['adp_low']:+.2f} to {a['adp_high']:+.2f})"
        lines.append(f"{names:38}{figures['deals']:>6}   {wp:<26}{adp:<26}")
    lines.append("Means of both sides; 95 % intervals over deals.")
    return "\n".join(lines)
