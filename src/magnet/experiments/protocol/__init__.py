"""How one row of a table comes about: data, repetitions, training, measures."""
