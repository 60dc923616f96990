"""The settings of a residual's training run; read as those of `agents.learn.config`."""

from dataclasses import dataclass, field
from typing import Literal

from agents import policy
from agents.learn.checks import check_name, check_within

GROUPS = 8  # of hands, which devices share out among themselves
CHOICES = 0.6  # of the decisions looked at are own turns with a choice; some 0.65 are


@dataclass(frozen=True)
class PlayConfig:
    """Hands side by side, whose decisions are branched."""

    walker: str = "linear_es"  # plays from one decision looked at to the next
    lanes: int = 512
    steps: int = 32  # decisions of each lane that an iteration looks at
    stride: int = 4  # decisions played between them

    def __post_init__(self) -> None:
        """Refuses impossible values."""
        policy.load(self.walker)  # raises a ValueError that says what is allowed
        check_within("play.lanes", self.lanes, GROUPS, 1 << 20)
        if self.lanes % GROUPS:
            raise ValueError(f"play.lanes: a multiple of {GROUPS}, not {self.lanes}.")
        check_within("play.steps", self.steps, 1, 1 << 16)
        check_within("play.stride", self.stride, 1, 1 << 10)


@dataclass(frozen=True)
class LearningConfig:
    """Adam on the decisions of each iteration; the rate falls to a fiftieth along a cosine."""

    learning_rate: float = 3e-3
    batch: int = 4096  # decisions of a gradient step
    epochs: int = 1  # that each iteration's decisions are learned from

    def __post_init__(self) -> None:
        """Refuses impossible values."""
        check_within("learning.learning_rate", self.learning_rate, 1e-8, 1.0)
        check_within("learning.batch", self.batch, GROUPS, 1 << 20)
        if self.batch % GROUPS:
            raise ValueError(f"learning.batch: a multiple of {GROUPS}, not {self.batch}.")
        check_within("learning.epochs", self.epochs, 1, 1000)


@dataclass(frozen=True)
class EvaluationConfig:
    """Matches: while it learns, and at the end."""

    every: int = 100  # iterations
    pairs: int = 500
    opponents: tuple[str, ...] = ("expectimax",)
    final_pairs: int = 2000
    final_opponents: tuple[str, ...] = ("expectimax",)

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

    method: Literal["residual"] = "residual"
    name: str = "residual"  # the run's folder under runs/
    seed: int = 0
    iterations: int = 200
    checkpoint_every: int = 10
    play: PlayConfig = field(default_factory=PlayConfig)
    learning: LearningConfig = field(default_factory=LearningConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)

    def __post_init__(self) -> None:
        """Refuses values that cannot stand together."""
        check_name(self.name)
        check_within("seed", self.seed, 0, 2**32 - 1)
        check_within("iterations", self.iterations, 1, 1 << 30)
        check_within("checkpoint_every", self.checkpoint_every, 1, 1 << 30)
        if self.choices < self.learning.batch:
            raise ValueError(
                f"play.lanes x play.steps: some {self.choices} decisions to learn from, "
                f"fewer than learning.batch ({self.learning.batch})."
            )

    @property
    def choices(self) -> int:
        """Counts the decisions that an iteration learns from."""
        return int(CHOICES * self.play.lanes * self.play.steps)
