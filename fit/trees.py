"""Fitting the trees of a correction with scikit-learn, and writing them down as plain lists."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sprintprof.fit.gaussian import short
from sprintprof.profile.correction import Trees

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.intp]

COUNT = 100
MAX_LEAVES = 256
MANY = 400
"""From this many points on a leaf holds two of them: single ones would fill the profile and learn the noise."""


def min_leaf(points: int) -> int:
    """The least number of points in a leaf."""
    return 2 if points >= MANY else 1


def fit_trees(x: Array, y: Array, count: int = COUNT) -> Trees:
    """Extremely randomised trees (Geurts et al. 2006) on inputs (n, d) and values (n,); the same each time."""
    from sklearn.ensemble import ExtraTreesRegressor

    forest = ExtraTreesRegressor(
        count, min_samples_leaf=min_leaf(len(y)), max_leaf_nodes=MAX_LEAVES, random_state=0, n_jobs=1
    ).fit(x, y)
    trees = [_level_order(estimator.tree_) for estimator in forest.estimators_]
    sizes = np.array([len(feature) for feature, _, _ in trees])
    roots = np.cumsum(sizes) - sizes
    feature, value = (np.concatenate([tree[place] for tree in trees]) for place in (0, 1))
    child = np.concatenate([np.where(tree[2] > 0, tree[2] + root, 0) for tree, root in zip(trees, roots, strict=True)])
    return Trees(roots.tolist(), feature.tolist(), short(value), child.tolist())


def _level_order(tree: Any) -> tuple[Index, Array, Index]:
    """A scikit-learn tree renumbered level by level, siblings side by side: feature, value and first child."""
    level, order, children = np.zeros(1, np.intp), [np.zeros(1, np.intp)], []
    count = 1
    while len(level):
        inner = tree.children_left[level] >= 0
        first = np.zeros(len(level), np.intp)
        first[inner] = count + 2 * np.arange(int(inner.sum()))
        children.append(first)
        level = np.column_stack([tree.children_left[level[inner]], tree.children_right[level[inner]]]).ravel()
        order.append(level)
        count += len(level)
    nodes = np.concatenate(order)
    leaf = tree.children_left[nodes] < 0
    feature = np.where(leaf, -1, tree.feature[nodes])
    return feature, np.where(leaf, tree.value[nodes, 0, 0], tree.threshold[nodes]), np.concatenate(children)
