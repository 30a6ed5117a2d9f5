"""Improvement percentages under meta attack."""

from magnet.experiments.exhibits.improvement import improvement

EXHIBIT = improvement("table7", "Improvement under meta attack (the paper's table 7)", ("meta",))
