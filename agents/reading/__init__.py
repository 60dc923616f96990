"""Reading the opponents' hands: what each of them waits for, how surely, and what it would cost."""
