"""A non-linear correction as plain data: log(T / base) as the mean of trees and a Gaussian process.

Evaluated by numpy alone, whatever made it. Inputs are log2 of named features.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np
import numpy.typing as npt

from sprintprof.profile.features import Array, Columns, columns_of, evaluate_feature

CHUNK = 8192
BLOCK = 256
"""Rows evaluated at a time by the trees and by the process: what they need stays in the caches."""
Whole = npt.NDArray[np.int32]
Single = npt.NDArray[np.float32]


class Trees(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="trees"):
    """Regression trees whose mean counts, the nodes of all trees one after another.

    Node i splits on input `feature[i]` at `value[i]`: where input ≤ value the next node is `child[i]`, else
    `child[i]` + 1. A leaf has feature −1 and `value` is what it predicts. `roots` are the first nodes of the trees.
    """

    roots: list[int]
    feature: list[int]
    value: list[float]
    child: list[int]


class GaussianProcess(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="gaussian-process"):
    """The mean of a Gaussian process: Σ_i weight_i / (1 + d_i²/2), a rational quadratic covariance.

    d_i is the Euclidean distance from point i to `scale`·(input − `centre`); `points` are given in that scale.
    """

    centre: list[float]
    scale: list[float]
    points: list[list[float]]
    weights: list[float]


class Correction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """T = base · exp(mean of the members), the mean kept inside `bounds`. `inputs` names the features."""

    inputs: list[str]
    members: list[Trees | GaussianProcess]
    bounds: tuple[float, float]


def inputs_of(names: list[str], columns: Columns) -> Array:
    """log2 of the named features, shape (n, len(names))."""
    return np.column_stack([np.log2(np.maximum(evaluate_feature(name, columns), 2.0**-60)) for name in names])


def factors(correction: Correction, columns: Columns) -> Array:
    """What to multiply the base with, shape (n,)."""
    x = inputs_of(correction.inputs, columns).astype(np.float32)
    total = np.zeros(len(x))
    for member in correction.members:
        total += predict_trees(member, x) if isinstance(member, Trees) else predict_process(member, x)
    return np.exp(np.clip(total / len(correction.members), *correction.bounds))


def predict_trees(trees: Trees, x: Single) -> Array:
    """The mean prediction of the trees for inputs (n, d), shape (n,)."""
    feature, value = np.array(trees.feature, np.int32), np.array(trees.value, np.float32)
    child = np.array(trees.child, np.int32)
    out = np.zeros(len(x))
    for start in range(0, len(x), CHUNK):
        rows = np.ascontiguousarray(x[start : start + CHUNK])
        flat, offsets = rows.ravel(), np.arange(len(rows), dtype=np.int32) * rows.shape[1]
        for root in trees.roots:
            out[start : start + CHUNK] += _walk(root, feature, value, child, flat, offsets)
    return out / len(trees.roots)


def _walk(root: int, feature: Whole, value: Single, child: Whole, flat: Single, offsets: Whole) -> Single:
    """One tree for one chunk: rows go down level by level, those at a leaf drop out."""
    out = np.empty(len(offsets), np.float32)
    rows, node = np.arange(len(offsets)), np.full(len(offsets), root, np.int32)
    while len(rows):
        split = feature.take(node)
        done = split < 0
        if done.any():
            out[rows[done]] = value.take(node[done])
            rows, node, split = rows[~done], node[~done], split[~done]
        node = child.take(node) + (flat.take(offsets.take(rows) + split) > value.take(node))
    return out


def predict_process(process: GaussianProcess, x: Single) -> Array:
    """The mean of the Gaussian process for inputs (n, d), shape (n,)."""
    points, weights = np.array(process.points, np.float32), np.array(process.weights, np.float32)
    centre, scale = np.array(process.centre, np.float32), np.array(process.scale, np.float32)
    z = (x - centre) * scale
    # 1 + d²/2 of all pairs as one product: (z, 1, 1 + z²/2) · (−p, p²/2, 1)
    left = np.column_stack([z, np.ones_like(z[:, 0]), 1.0 + 0.5 * np.einsum("ij,ij->i", z, z)])
    right = np.vstack([-points.T, 0.5 * np.einsum("ij,ij->i", points, points), np.ones_like(weights)])
    out = np.empty(len(x))
    for start in range(0, len(x), BLOCK):
        distance = left[start : start + BLOCK] @ right
        np.maximum(distance, 1.0, out=distance)
        np.reciprocal(distance, out=distance)
        out[start : start + BLOCK] = distance @ weights
    return out


def problem(correction: Correction) -> str:
    """What is wrong with a correction's data, "" where nothing is: no walk may leave a tree or turn in circles."""
    width = len(correction.inputs)
    if not correction.members or not correction.inputs or any(columns_of(name) is None for name in correction.inputs):
        return "has a correction without members or with an unknown feature"
    low, high = correction.bounds
    if not (math.isfinite(low) and math.isfinite(high) and -20 <= low <= high <= 20):
        return "has a correction with impossible bounds"
    wrong = (
        _tree_problem(m, width) if isinstance(m, Trees) else _process_problem(m, width) for m in correction.members
    )
    return next((text for text in wrong if text), "")


def _tree_problem(trees: Trees, width: int) -> str:
    count = len(trees.feature)
    if not trees.roots or len(trees.value) != count or len(trees.child) != count:
        return "has trees with lists of different lengths"
    if any(not 0 <= root < count for root in trees.roots) or not all(map(math.isfinite, trees.value)):
        return "has trees with a root or a value out of range"
    for node, (feature, child) in enumerate(zip(trees.feature, trees.child, strict=True)):
        if feature >= 0 and not (feature < width and node < child < count - 1):
            return f"has a tree whose node {node} leads nowhere"
    return ""


def _process_problem(process: GaussianProcess, width: int) -> str:
    rows = [process.centre, process.scale, *process.points]
    if any(len(row) != width for row in rows) or len(process.points) != len(process.weights) or not process.points:
        return "has a Gaussian process with lists of different lengths"
    finite = all(math.isfinite(x) and abs(x) < 1e12 for row in [*rows, process.weights] for x in row)
    return "" if finite else "has a Gaussian process with a number that is not finite"
