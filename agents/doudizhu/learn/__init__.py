"""Training of the network from the search's own samples."""
