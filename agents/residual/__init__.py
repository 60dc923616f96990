"""The actor: a linear score and a learned residual, trained by playing against itself."""
