"""
US counties with planted errors
===============================

Public statistics of 3 108 counties and which of them border on each other. Values of other counties are put into 1 % of
the cells: normal for the column, wrong for the place. The example needs the folder ``Tables/us-counties-2016`` in
``$MAGNET_DATA`` and shows nothing without it.
"""

import os
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

import magnet

folder = Path(os.environ.get("MAGNET_DATA", "")) / "Tables/us-counties-2016"
available = (folder / "nodes.csv").is_file()
print("found" if available else "the files are not here: the rest of this page is empty")

# %%
# Plant the errors, clean, and compare.

columns = ["median_income", "bachelor_rate", "unemployment_rate"]
if available:
    truth = pd.read_csv(folder / "nodes.csv", dtype={"fips": str})
    edges = pd.read_csv(folder / "edges.csv", dtype=str)
    rng = np.random.default_rng(0)
    counties = truth.copy()
    wrong = np.zeros((len(truth), len(columns)), dtype=bool)
    for k, name in enumerate(columns):
        rows = rng.choice(len(truth), size=31, replace=False)
        counties.loc[rows, name] = truth[name].to_numpy()[rng.permutation(len(truth))[:31]]
        wrong[:, k] = counties[name] != truth[name]
    result = magnet.clean(counties, edges, id="fips", fix="none", reading={"columns": columns})
    cells = result.suspicious_cells
    hit = [bool(wrong[row, columns.index(name)]) for row, name in zip(cells["row"], cells["column"], strict=True)]
    print(f"{wrong.sum()} wrong cells planted; {len(cells)} listed, {sum(hit)} of them planted")
    print(cells.head(5)[["node", "column", "observed", "suggested", "reason"]].to_string(index=False))

# %%
# How far a planted value lies from the truth decides whether it can be found: a value from a similar county is no error
# that any method could see.

if available:
    k = columns.index("median_income")
    planted = np.flatnonzero(wrong[:, k])
    shift = np.abs(np.log(counties["median_income"] / truth["median_income"]))[planted]
    found = np.isin(planted, cells.loc[cells["column"] == "median_income", "row"])
    figure, axes = plt.subplots(figsize=(7, 2.8))
    bins = np.linspace(0, max(0.8, shift.max()), 12)
    axes.hist(
        [shift[found], shift[~found]], bins=bins, stacked=True, color=["#2a9d8f", "#d1495b"], label=["found", "missed"]
    )
    axes.set(xlabel="planted median income: |log(value / truth)|", ylabel="cells")
    axes.legend()
    figure.tight_layout()
