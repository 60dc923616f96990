"""Players of Taiwanese mahjong: they see an `Observation`, never a `State`."""
