"""How one row of a table is computed: data, repetitions, training, metrics."""
