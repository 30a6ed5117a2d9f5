"""
US counties with injected errors
================================

Public statistics of 3 108 counties, linked if they share a border. Some cells are multiplied by ten, others
get the value of another county: typical of the column, wrong for the county. The first kind is found, the second mostly
not. The example needs the folder ``Tables/us-counties-2016`` in ``$MAGNET_DATA`` and shows nothing without it.
"""

import os
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

import magnet

folder = Path(os.environ.get("MAGNET_DATA", "")) / "Tables/us-counties-2016"
available = (folder / "nodes.csv").is_file()
print("found" if available else "the files are not available: the rest of this page is empty")

# %%
# Inject the errors, clean, and compare.

columns = ["median_income", "bachelor_rate", "unemployment_rate"]
if available:
    truth = pd.read_csv(folder / "nodes.csv", dtype={"fips": str})
    edges = pd.read_csv(folder / "edges.csv", dtype=str)
    rng = np.random.default_rng(0)
    counties = truth.copy()
    wrong = np.zeros((len(truth), len(columns)), dtype=bool)
    for k, name in enumerate(columns):
        slipped, elsewhere = np.split(rng.choice(len(truth), size=40, replace=False), 2)
        counties.loc[slipped, name] *= 10
        counties.loc[elsewhere, name] = truth[name].to_numpy()[rng.permutation(len(truth))[:20]]
        wrong[:, k] = counties[name] != truth[name]
    result = magnet.clean(counties, edges, id="fips", fix="none")
    cells = result.suspicious_cells[result.suspicious_cells["column"].isin(columns)]
    hit = [bool(wrong[row, columns.index(name)]) for row, name in zip(cells["row"], cells["column"], strict=True)]
    print(f"{wrong.sum()} wrong cells injected; {len(cells)} listed, {sum(hit)} of them injected")
    print(cells.head(5)[["node", "column", "observed", "suggested", "reason"]].to_string(index=False))

# %%
# Errors are found if they are far from the true value. A value from a similar county cannot be recognized as an error
# by any method; for errors in between, MAGnet avoids false alarms.

if available:
    k = columns.index("median_income")
    planted = np.flatnonzero(wrong[:, k])
    shift = np.abs(np.log(counties["median_income"] / truth["median_income"]))[planted]
    found = np.isin(planted, cells.loc[cells["column"] == "median_income", "row"])
    figure, axes = plt.subplots(figsize=(7, 2.8))
    bins = np.linspace(0, 2.4, 25)
    axes.hist(
        [shift[found], shift[~found]], bins=bins, stacked=True, color=["#2a9d8f", "#d1495b"], label=["found", "missed"]
    )
    axes.set(xlabel="planted median income: |log(value / truth)|; ten times the value is 2.3", ylabel="cells")
    axes.legend()
    figure.tight_layout()
