"""How good is an embedding?

::

    trustworthiness   neighbours in the embedding that were neighbours before
    continuity        neighbours before that still are in the embedding
    knn_accuracy      labels of held-out points told from the training points nearest to them
"""

from .labels import knn_accuracy
from .neighbours import continuity, trustworthiness

__all__ = ["continuity", "knn_accuracy", "trustworthiness"]
