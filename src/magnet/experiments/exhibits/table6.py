"""Improvement percentages under injection."""

from magnet.experiments.exhibits.improvement import improvement

EXHIBIT = improvement("table6", "Improvement under injection (the paper's table 6)", ("inject-random", "inject-far"))
