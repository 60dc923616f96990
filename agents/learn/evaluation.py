"""How strong a run has become: its matches while it runs and at its end."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from agents import arena, policy, results
from agents.learn import loop, networks, player
from agents.learn.config import Config
from agents.policy import Policy

Params = Any
SHORT_SEED, FINAL_SEED = 1_000_000, 2_000_000  # walls for watching, walls for the verdict


class Pairing(NamedTuple):
    """A match to be played."""

    a: Policy
    b: Policy
    pairs: int
    seed: int


class Players:
    """A run's players and their opponents, each made (and so compiled) once."""

    def __init__(self, config: Config) -> None:
        """Makes the players of a run; their parameters are given match by match."""
        network = networks.make(config.network)
        alone = player.alone(config.search)
        self._config = config
        self._untrained = loop.first_params(network, config)
        self._alone = player.policy("ddqn", network, (), alone)
        self._searching = player.policy("expectimax_ddqn", network, (), config.search)
        names = {*config.evaluation.opponents, *config.evaluation.searched_opponents}
        self._others = {name: policy.load(name) for name in names}

    def short(self, params: Params) -> Iterator[Pairing]:
        """Yields the matches that watch a run: the network alone against the others."""
        settings = self._config.evaluation
        for name in settings.opponents:
            yield Pairing(
                self._alone._replace(params=params), self._others[name], settings.pairs, SHORT_SEED
            )

    def final(self, params: Params) -> Iterator[Pairing]:
        """Yields the matches at the end, each as it will stand in the table."""
        settings = self._config.evaluation
        searching = self._searching._replace(params=params)
        untrained = self._searching._replace(name="its untrained self", params=self._untrained)
        yield Pairing(searching, untrained, settings.searched_pairs, FINAL_SEED)
        for name in settings.searched_opponents:
            yield Pairing(searching, self._others[name], settings.searched_pairs, FINAL_SEED)
        alone = self._alone._replace(params=params)
        for name in settings.opponents:
            yield Pairing(alone, self._others[name], settings.final_pairs, FINAL_SEED)


def play(pairing: Pairing, report: Callable[[int, int], None] | None = None) -> dict[str, Any]:
    """Plays a match and returns its figures (`results.figures`)."""
    a, b, pairs, seed = pairing
    return results.figures(arena.match(a, b, pairs, seed, report=report), (a.name, b.name))


def metrics(figures: dict[str, Any]) -> dict[str, float]:
    """Names a match's figures for the metrics: differences with their intervals."""
    opponent = figures["b"]["name"]
    return {
        f"eval/{opponent}/{what}_{part}": figures["diff"][what][part]
        for what in ("win_rate", "points")
        for part in ("mean", "low", "high")
    }


def table(all_figures: list[dict[str, Any]]) -> str:
    """Sets the matches at the end as text, one line each."""
    head = f"{'':42}{'pairs':>6}   {'win rate, a - b, %':^24}   {'points a hand, a - b':^26}"
    lines = [head]
    for figures in all_figures:
        win, points = figures["diff"]["win_rate"], figures["diff"]["points"]
        names = f"{figures['a']['name']} v {figures['b']['name']}"
        win_text = (
            f"{100 * win['mean']:+6.1f} ({100 * win['low']:+.1f} to {100 * win['high']:+.1f})"
        )
        points_text = f"{points['mean']:+6.0f} ({points['low']:+.0f} to {points['high']:+.0f})"
        lines.append(f"{names:42}{figures['pairs']:>6}   {win_text:<24}   {points_text:<26}")
    lines.append("One seat of each side; 95 % intervals over mirrored pairs of hands.")
    return "\n".join(lines)
