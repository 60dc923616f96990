"""The settings of a training run for this game; read as those of `agents.learn.config`."""

from dataclasses import dataclass, field
from typing import Literal

from agents.doudizhu import cnn_search, players, root
from agents.doudizhu.networks import NetworkConfig
from agents.learn.checks import check_name, check_within


@dataclass(frozen=True)
class SearchConfig:
    """The search that plays and gives the samples; see `agents.doudizhu.root.Settings`."""

    playouts: int = 128
    at_once: int = 64
    exploration: float = root.Settings.exploration
    style: str = root.Settings.style

    def __post_init__(self) -> None:
        """Refuses searches that cannot be."""
        self.settings()

    def settings(self) -> root.Settings:
        """Returns the settings as the search takes them."""
        return root.Settings(
            playouts=self.playouts,
            at_once=self.at_once,
            exploration=self.exploration,
            style=self.style,
        )


@dataclass(frozen=True)
class SelfPlayConfig:
    """Games of the search against itself, `games` at once."""

    chunks: int = 24  # each `games` x `steps` decisions, all of whose candidates are samples
    games: int = 32
    steps: int = 16
    epsilon: float = 0.1  # chance to play a candidate by its visits instead of the best

    def __post_init__(self) -> None:
        """Refuses impossible values."""
        check_within("selfplay.chunks", self.chunks, 1, 1 << 20)
        check_within("selfplay.games", self.games, 2, 1 << 16)
        check_within("selfplay.steps", self.steps, 1, 1 << 16)
        check_within("selfplay.epsilon", self.epsilon, 0.0, 1.0)


@dataclass(frozen=True)
class LearningConfig:
    """Adam on the samples of one role after the other, until the validation error stops falling."""

    learning_rate: float = 1e-3
    decay: float = 0.7  # of the learning rate from one epoch to the next
    batch: int = 32  # decisions of a gradient step
    candidates: int = 4  # of each, drawn from all it has
    updates: int = 200  # gradient steps of an epoch
    epochs: int = 20  # at most, for each role
    patience: int = 3  # epochs without a lower error after which a role is done
    held_out: float = 0.1  # share of the games whose decisions tell the error

    def __post_init__(self) -> None:
        """Refuses impossible values."""
        check_within("learning.learning_rate", self.learning_rate, 1e-8, 1.0)
        check_within("learning.decay", self.decay, 0.01, 1.0)
        check_within("learning.batch", self.batch, 1, 1 << 16)
        check_within("learning.candidates", self.candidates, 1, 64)
        check_within("learning.updates", self.updates, 1, 1 << 20)
        check_within("learning.epochs", self.epochs, 1, 1 << 20)
        check_within("learning.patience", self.patience, 1, 1 << 20)
        check_within("learning.held_out", self.held_out, 0.01, 0.5)


@dataclass(frozen=True)
class EvaluationConfig:
    """Matches at the end."""

    deals: int = 100  # of each match of the network alone
    opponents: tuple[str, ...] = ("random", "search:playouts=64")  # of the network alone
    searched_deals: int = 50  # of each match with the search
    searched_opponents: tuple[str, ...] = ("search",)
    playouts: int = 256  # of that search
    prior_visits: float = cnn_search.DEFAULT_SEARCH.prior_visits

    def __post_init__(self) -> None:
        """Refuses impossible values."""
        check_within("evaluation.deals", self.deals, 2, 1 << 20)
        check_within("evaluation.searched_deals", self.searched_deals, 2, 1 << 20)
        root.Settings(playouts=self.playouts, prior_visits=self.prior_visits)
        for opponent in (*self.opponents, *self.searched_opponents):
            players.load(opponent)  # raises a ValueError that says what is allowed


@dataclass(frozen=True)
class Config:
    """One training run."""

    game: Literal["doudizhu"] = "doudizhu"
    name: str = "doudizhu"  # the run's folder under runs/
    seed: int = 0
    checkpoint_every: int = 4  # chunks or epochs
    network: NetworkConfig = field(default_factory=NetworkConfig)
    search: SearchConfig = field(default_factory=SearchConfig)
    selfplay: SelfPlayConfig = field(default_factory=SelfPlayConfig)
    learning: LearningConfig = field(default_factory=LearningConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)

    def __post_init__(self) -> None:
        """Refuses values that cannot stand together."""
        check_name(self.name)
        check_within("seed", self.seed, 0, 2**32 - 1)
        check_within("checkpoint_every", self.checkpoint_every, 1, 1 << 30)
