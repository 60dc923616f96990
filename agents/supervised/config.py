"""The settings of supervised learning: frozen, typed, checked before any work."""

from dataclasses import dataclass, field
from typing import Literal

from agents.learn.checks import check_within
from agents.learn.config import NetworkConfig


@dataclass(frozen=True)
class Config:
    """One network learned from records."""

    seed: int = 0  # of the first parameters and of the order of the decisions
    records_seed: int = 0
    agent: str = "expectimax"  # whose play it is
    hands: int = 5000  # of which three fifths are learned from
    network: NetworkConfig = field(default_factory=lambda: NetworkConfig(kind="linear"))
    loss: Literal["cross_entropy", "hinge"] = "cross_entropy"
    learning_rate: float = 1e-3
    decay: float = 1e-4  # of the weights, times the learning rate, in each gradient step
    batch: int = 256
    epochs: int = 20  # at most
    patience: int = 3  # epochs without a lower loss in validation, after which learning ends

    def __post_init__(self) -> None:
        """Refuses impossible values."""
        for name in ("seed", "records_seed"):
            check_within(name, getattr(self, name), 0, 2**32 - 1)
        check_within("hands", self.hands, 5, 1 << 28)
        check_within("learning_rate", self.learning_rate, 1e-8, 1.0)
        check_within("decay", self.decay, 0.0, 1.0)
        check_within("batch", self.batch, 1, 1 << 20)
        check_within("epochs", self.epochs, 1, 1 << 20)
        check_within("patience", self.patience, 1, 1 << 20)
