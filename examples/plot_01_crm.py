"""
A messy customer table without links
====================================

A CRM export with mixed columns, no links and a few wrong cells. Each cell is compared with its column,
with rows that share a value, and with the rest of its own row.
"""

# %%
# A table in which the city determines the postal code, and spending depends on income. Four cells are corrupted.

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

import magnet

rng = np.random.default_rng(0)
cities = {"Oslo": "0150", "Rome": "00118", "Bern": "3001", "Cork": "T12"}
city = rng.choice(list(cities), size=400)
income = np.exp(rng.normal(10.4, 0.35, size=400))
customers = pd.DataFrame(
    {
        "customer": [f"c{k:03d}" for k in range(400)],
        "city": city,
        "zip": [cities[name] for name in city],
        "income": income.round(0),
        "spending": (0.1 * income * np.exp(rng.normal(0, 0.1, size=400))).round(2),
    }
)
truth = customers.copy()
customers.loc[10, "city"] = "Bren"
customers.loc[42, "zip"] = "00118" if customers.loc[42, "zip"] != "00118" else "3001"
customers.loc[77, "spending"] *= 100
customers.loc[120, "income"] = -1.0

# %%
# One call finds and lists suspicious cells; only listed cells are changed.

result = magnet.clean(customers, id="customer")
result.suspicious_cells[["row", "column", "observed", "suggested", "action", "probability", "reason"]]

# %%
# The result also states which columns were judged, and why the others were not: a column that was not judged may still
# contain errors.

pd.DataFrame(
    [(f.name, f.kind, f.used, f.note) for f in result.table.fields], columns=["column", "kind", "judged", "why"]
)

# %%
# The row with the largest error.

wrong = (customers.astype(str) != truth.astype(str)).to_numpy().nonzero()
listed = result.suspicious_cells
figure, axes = plt.subplots(figsize=(7, 3.4))
axes.scatter(truth["income"], truth["spending"], s=8, color="#7a8aa0", label="rows")
row = 77
axes.scatter(customers.loc[row, "income"], customers.loc[row, "spending"], color="#d1495b", label="observed")
axes.scatter(truth.loc[row, "income"], truth.loc[row, "spending"], color="#2a9d8f", marker="D", label="true")
found = listed[(listed["row"] == row) & (listed["column"] == "spending")]
if len(found):
    suggested = float(found["suggested"].iloc[0])
    axes.scatter(customers.loc[row, "income"], suggested, color="#e9a03b", marker="x", s=60, label="suggested")
axes.set(xscale="log", yscale="log", xlabel="income", ylabel="spending")
axes.legend()
figure.tight_layout()
print(f"{len(wrong[0])} cells were corrupted, {len(listed)} are listed")
