"""The settings of an actor's training run; read as those of `agents.learn.config`."""

from dataclasses import dataclass, field
from typing import Literal

from agents import policy
from agents.learn.checks import check_name, check_within

GROUPS = 8  # of hands, which devices share out among themselves
CHOICES = 0.5  # of all decisions are learned from; some 0.58 could be


@dataclass(frozen=True)
class SelfPlayConfig:
    """Hands of the actor against itself, side by side."""

    lanes: int = 512
    steps: int = 128  # decisions of each lane in an iteration
    trace: float = 0.95  # lambda of the targets
    opponent: Literal["self", "linear_es"] = "linear_es"  # in two of the four seats

    def __post_init__(self) -> None:
        """Refuses impossible values."""
        check_within("selfplay.lanes", self.lanes, GROUPS, 1 << 20)
        if self.lanes % GROUPS:
            raise ValueError(f"selfplay.lanes: a multiple of {GROUPS}, not {self.lanes}.")
        check_within("selfplay.steps", self.steps, 1, 1 << 16)
        check_within("selfplay.trace", self.trace, 0.0, 1.0)


@dataclass(frozen=True)
class LearningConfig:
    """Adam on the decisions of each iteration; the rate falls to a twentieth along a cosine."""

    learning_rate: float = 1e-3
    batch: int = 1024  # decisions of a gradient step
    epochs: int = 3  # that each iteration's decisions are learned from
    stay: float = 0.02  # cost of a nat away from the prior, in thousands of points
    clip: float = 0.2
    critic_first: int = 6  # iterations in which the critic alone learns
    mean: float = 0.03  # share of the newest actor in the running mean that plays in the end

    def __post_init__(self) -> None:
        """Refuses impossible values."""
        check_within("learning.learning_rate", self.learning_rate, 1e-8, 1.0)
        check_within("learning.batch", self.batch, GROUPS, 1 << 20)
        if self.batch % GROUPS:
            raise ValueError(f"learning.batch: a multiple of {GROUPS}, not {self.batch}.")
        check_within("learning.epochs", self.epochs, 1, 1000)
        check_within("learning.stay", self.stay, 0.0, 10.0)
        check_within("learning.clip", self.clip, 0.0, 10.0)
        check_within("learning.critic_first", self.critic_first, 0, 1 << 20)
        check_within("learning.mean", self.mean, 1e-6, 1.0)


@dataclass(frozen=True)
class EvaluationConfig:
    """Matches of the running mean: while it learns, and at the end."""

    every: int = 100  # iterations
    pairs: int = 500
    opponents: tuple[str, ...] = ("linear_es",)
    final_pairs: int = 2000
    final_opponents: tuple[str, ...] = ("linear_es", "expectimax")

    def __post_init__(self) -> None:
        """Refuses impossible values."""
        check_within("evaluation.every", self.every, 1, 1 << 30)
        check_within("evaluation.pairs", self.pairs, 2, 1 << 20)
        check_within("evaluation.final_pairs", self.final_pairs, 2, 1 << 20)
        for name in (*self.opponents, *self.final_opponents):
            policy.load(name)  # raises a ValueError that says what is allowed


@dataclass(frozen=True)
class Config:
    """One training run."""

    method: Literal["actor"] = "actor"
    name: str = "actor"  # the run's folder under runs/
    seed: int = 0
    iterations: int = 400
    checkpoint_every: int = 10
    width: int = 48  # of the actor
    start: str = ""  # file of an actor to begin with; empty for none
    selfplay: SelfPlayConfig = field(default_factory=SelfPlayConfig)
    learning: LearningConfig = field(default_factory=LearningConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)

    def __post_init__(self) -> None:
        """Refuses values that cannot stand together."""
        check_name(self.name)
        check_within("seed", self.seed, 0, 2**32 - 1)
        check_within("iterations", self.iterations, 1, 1 << 30)
        check_within("checkpoint_every", self.checkpoint_every, 1, 1 << 30)
        check_within("width", self.width, 1, 4096)
        if self.choices < self.learning.batch:
            raise ValueError(
                f"selfplay.lanes x selfplay.steps: some {self.choices} decisions to learn from, "
                f"fewer than learning.batch ({self.learning.batch})."
            )

    @property
    def choices(self) -> int:
        """Counts the decisions that an iteration learns from."""
        share = CHOICES / (1 if self.selfplay.opponent == "self" else 2)
        return int(share * self.selfplay.lanes * self.selfplay.steps)
