"""What unfoldings that follow labels share."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...input import Input
from ...input.y import ClassLabels
from ..parameters import parameters
from .base import BoundedUnfolding

Array = NDArray[np.float64]
Index = NDArray[np.intp]


@parameters(unlabeled=-1)
class LabelledUnfolding(BoundedUnfolding):
    """Unfoldings that need y, and coordinates."""

    unlabeled: Any

    _input: ClassVar[Input] = replace(BoundedUnfolding._input, pairs=(), y=ClassLabels(at_least=1))
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BoundedUnfolding._parameter_constraints,
        "unlabeled": "no_validation",
    }


def representatives(points: Array, codes: Index) -> Index:
    """The point of each class that is nearest to its mean [S4, eq. 51, where min means argmin]; the first of several."""
    chosen = []
    for c in np.unique(codes[codes >= 0]):
        members = np.flatnonzero(codes == c)
        own = points[members]
        chosen.append(members[np.argmin(np.sum((own - own.mean(axis=0)) ** 2, axis=1))])
    return np.array(chosen, dtype=np.intp)
