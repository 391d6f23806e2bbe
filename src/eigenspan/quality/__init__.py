"""How good is an embedding?

::

    trustworthiness   neighbours in the embedding that were neighbours before
    continuity        neighbours before that still are in the embedding
    knn_accuracy      labels of held-out points told from the training points nearest to them

How good is a method on these data?

::

    leave_one_out_error   whether its map foresees where a fit would put a new point
    stability             whether other rows would have given the same axes
"""

from .labels import knn_accuracy
from .leave_out import MapError, leave_one_out_error
from .neighbours import continuity, trustworthiness
from .stability import Stability, stability

__all__ = [
    "MapError",
    "Stability",
    "continuity",
    "knn_accuracy",
    "leave_one_out_error",
    "stability",
    "trustworthiness",
]
