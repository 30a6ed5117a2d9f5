"""
A scikit-learn pipeline
=======================

``MAGnet`` follows scikit-learn's conventions: parameters in the constructor, fitted attributes end in ``_``. It can be
cloned and used in a pipeline.
"""

from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import magnet

data = magnet.datasets.load("digits")
bad = magnet.corruption.inject_attributes(data, ratio=0.3, select="random", seed=0).data
train, test = data.train_mask.numpy(), data.test_mask.numpy()

# %%
# The cleaned features are the input of any scikit-learn estimator.


class Features(TransformerMixin, BaseEstimator):
    """The feature matrix of a graph."""

    def fit(self, graph, y=None):
        return self

    def transform(self, graph):
        return graph.x.numpy()


plain = make_pipeline(Features(), StandardScaler())
cleaning = make_pipeline(magnet.MAGnet(seed=0), Features(), StandardScaler())

for name, steps in {"as it is": plain, "cleaned": cleaning}.items():
    x = steps.fit_transform(bad)
    model = LogisticRegression(max_iter=500).fit(x[train], data.y.numpy()[train])
    print(f"{name:9} accuracy {model.score(x[test], data.y.numpy()[test]):.3f}")

# %%
# Parameters are visible and clonable.

print(clone(magnet.MAGnet(fdr=0.1, recovery="framelet")))
