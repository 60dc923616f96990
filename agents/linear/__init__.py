"""A myopic player: a linear score of what each action leaves, tuned by an evolution strategy."""
