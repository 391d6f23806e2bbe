"""Landmarks among distributed rows, chosen from a pool of candidates that workers draw."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from ..._diagnostics import note
from ..._types import Array, Index, RandomState
from ...data.rows.block_passes import blocks
from ...data.rows.dask_rows import LazyRows
from ...numerics.nearest.metric import point_distances
from ..landmarks import KernelBlock, Landmarks, check_landmarks, choose_landmarks

#: Number of rows seen, rows drawn, and their keys.
Draw = tuple[int, Index, Array]

#: Candidates drawn uniformly per landmark, their largest number, and passes that add rows far from all candidates.
_EVEN, _MOST, _ROUNDS = 10, 20_000, 2


def lazy_landmarks(
    rows: LazyRows,
    landmarks: int | float | str | Landmarks | ArrayLike,
    *,
    how: str = "random",
    random_state: RandomState = 0,
    kernel: Callable[[Array], KernelBlock] | None = None,
) -> Index:
    """Return row numbers of landmarks; ``kernel(points)`` returns the kernel block function for pivots and leverage."""
    wanted = check_landmarks(landmarks, rows.shape[0], how)
    if not isinstance(wanted, Landmarks):
        return wanted
    if wanted.choice == "random":
        return rows.sample(wanted.n, random_state)
    chosen = candidates(rows, wanted.n, random_state)
    points = rows[chosen].astype(np.float64)
    block: KernelBlock | None = None if kernel is None else kernel(points)
    note(landmark_candidates=chosen.size)
    return np.sort(chosen[choose_landmarks(points, wanted, random_state=random_state, kernel=block)])


def candidates(rows: LazyRows, m: int, random_state: RandomState = 0) -> Index:
    """Return rows drawn uniformly and, in each of two passes, m rows with probabilities proportional to squared distances.

    The distances are those to the rows drawn before. This is the oversampling of k-means‖ (Bahmani et al. 2012), which finds small distant
    groups.
    """
    chosen = rows.sample(min(_EVEN * m, max(m, _MOST)), random_state)
    seed = int(np.random.default_rng(chosen).integers(2**31))
    for turn in range(_ROUNDS if chosen.size < rows.shape[0] else 0):
        near = rows[chosen[:: max(1, chosen.size // (4 * m))] if turn == 0 else chosen[-5 * m :]].astype(np.float64)
        found = rows.reduce(partial(_drawn, near=near, m=m, seed=seed + turn), add=partial(_best, m=m))[1]
        chosen = np.concatenate([np.setdiff1d(chosen, found), found])
    return np.sort(chosen)


def _drawn(block: Array, near: Array, m: int, seed: int) -> Draw:
    """Return the m rows of a block with the largest keys log(u)/d²: a draw without replacement that can be merged across blocks."""
    rng = np.random.default_rng([seed, zlib.crc32(np.ascontiguousarray(block).tobytes())])
    with np.errstate(divide="ignore"):
        keys = np.log(rng.random(len(block)))
        for part in blocks(len(block), len(near)):
            keys[part] /= np.square(point_distances(block[part].astype(np.float64), near)).min(axis=1)
    keys = np.nan_to_num(keys, nan=-np.inf)
    return _best((0, np.zeros(0, dtype=np.intp), np.zeros(0)), (len(block), np.arange(len(block)), keys), m)


def _best(one: Draw, two: Draw, m: int) -> Draw:
    rows, keys = np.concatenate([one[1], one[0] + two[1]]), np.concatenate([one[2], two[2]])
    kept = np.argsort(-keys, kind="stable")[:m]
    kept = np.sort(kept[np.isfinite(keys[kept])])
    return one[0] + two[0], rows[kept], keys[kept]
