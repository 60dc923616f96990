"""Learning: features, networks, Double DQN, and self-play with the search in the loop."""
