"""``MAGnet``: find wrong cells, recover them, as a scikit-learn estimator."""

from __future__ import annotations

from sklearn.base import BaseEstimator

from magnet.cleaner import Cleaner


class MAGnet(Cleaner, BaseEstimator):  # type: ignore[misc]
    """Find wrong node attributes, or wrong cells of a table, and recover them.

    Works on PyG ``Data`` (features of any type in, recovered floating-point features out) and on a
    :class:`magnet.tables.Table` (any columns in, the same columns out). Only cells judged wrong, and missing ones, are
    changed. ``fix``, ``fill``, ``link_by``, ``rules``, ``decisions`` and ``max_share`` are for tables.

    Args:
        detector: for ``Data`` a name (see :func:`magnet.detection.make`), a detector, a trust matrix ``[n, d]`` or
            ``[n]`` (1 = trusted), or ``"none"`` to trust every cell. A table is judged by
            :func:`magnet.tables.judge_table` if this is ``"auto"``, else as a graph by that detector.
            (default: ``"auto"``)
        recovery: ``"propagate"`` extends the trusted values harmonically over the graph, ``"framelet"`` is the paper's
            sparse recovery, ``"regression"`` (tables judged as a graph) predicts a cell from its neighbors and the rest
            of its row. (default: ``"auto"``: regression for tables, propagation for ``Data``)
        fix: which cells of a table are changed: ``"none"``, ``"confident"`` (one replacement has a posterior of at
            least 0.9) or ``"all"`` (every listed cell). (default: ``"confident"``)
        fill: write suggestions into the blanks of a table. (default: ``False``)
        link_by: a column, or columns, of a table whose equal values link rows. (default: none; dependencies are
            discovered)
        rules: known dependencies of a table, one or several, such as ``"zip -> city"``. (default: none)
        decisions: accepted and rejected cells of an earlier review, to learn from: the ``cells`` of its decisions
            file. (default: none)
        max_share: maximum share of a table's cells to correct. (default: ``0.5``)
        threshold: minimum probability of being wrong for a cell to be flagged. (default: ``"posterior"``, which is 1/2)
        fdr: instead, target false discovery rate.
        contamination: instead, share to flag (not for tables judged by ``"auto"``).
        recovery_options: further arguments of :func:`magnet.propagate` or :func:`magnet.recover`.
        seed: random seed. (default: ``0``)
        device: device of the computation. (default: that of ``data.x``)
        progress: show a progress bar; or a function called with the current stage and the completed share.
            (default: ``False``)
        cluster: a Ray cluster (extra ``cluster``): its address, or ``"auto"`` for the one that runs here, or else a new
            one on this machine. The columns of a table, and ranges of features, are its tasks; the results are the
            same. (default: none)

    After :meth:`fit` on a table: ``findings_``, ``verdict_`` (of :func:`magnet.tables.judge_table`, or None) and
    ``share_``, the share of rows with a listed cell. After :meth:`fit` on ``Data``: ``scores_``, ``probability_``,
    ``flagged_``, ``trust_`` ``[n, d]``, ``x_`` (the recovered features), ``share_`` (the estimated share of wrong
    rows), ``gate_``, ``detector_``, ``columns_``.

    Example:
        >>> import torch
        >>> from magnet.datasets import synthetic
        >>> data = synthetic(nodes=60, features=12, seed=0)
        >>> trust = torch.ones(60, 12)
        >>> trust[3, 4] = 0
        >>> model = MAGnet(detector=trust).fit(data)
        >>> int((model.x_ != data.x).sum()) <= 1
        True
    """
