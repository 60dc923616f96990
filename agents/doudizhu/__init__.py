"""Players of Dou Dizhu, after patent CN111729300A: search, a network, and both together."""
