"""Everything eigenspan raises or warns about, in one tree.

::

    EigenspanError
    ├── InputError (ValueError)          the data or a parameter cannot be used as given
    │   ├── GraphError                   neighbours, weights or a precomputed graph
    │   │   └── DisconnectedError        the graph falls apart and the policy is "raise"
    │   ├── KernelError                  a kernel that is unknown, misshapen, not real or not symmetric
    │   ├── LabelError                   labels that cannot define classes
    │   └── DimensionError               more components than the problem has
    ├── ParameterError (TypeError)       a parameter that does not exist, or one that is missing
    ├── UnitError (ValueError)           a unit form B that is not positive semidefinite
    ├── ModelError (ValueError)          an estimator that cannot be saved, or a file that is no model
    ├── OutputError (OSError)            a file that cannot be written; what was there is unchanged
    ├── MemoryLimitError (MemoryError)   the problem would not fit; the message names what does
    ├── ClusterError (RuntimeError)      the cluster that worked on the rows was lost
    └── ConvergenceError (RuntimeError)  no solver reached the requested residual

    EigenspanWarning (UserWarning)
    ├── DisconnectedWarning              components were bridged or left out
    ├── DegenerateWarning                the requested subspace is not unique
    ├── RidgeWarning                     a singular unit form was regularised
    ├── IndefiniteWarning                a Gram matrix has negative eigenvalues
    ├── DuplicateWarning                 coincident rows fill whole neighbourhoods, or were brought together
    ├── ExtensionWarning                 the map to new points is poorly determined
    ├── LabelWarning                     labels that leave part of a criterion undetermined, or look like identifiers
    ├── SearchWarning                    neighbours that are approximate, or take long to find
    ├── LocalisationWarning              an axis that lives on a handful of points
    ├── FlatWarning                      an axis along which the points hardly vary
    ├── PrecisionWarning                 rounding shows in the result: the data lie far from the origin, or hardly differ along a direction
    ├── MissingWarning                   rows of which no entry was observed
    ├── FitWarning                       some of several fits failed, and figures are those of the others
    ├── ModelWarning                     a model that another version has saved
    ├── ClusterWarning                   workers of a cluster ended, and their work was done again
    └── ConvergenceWarning               a solver missed its residual, or an iteration stopped short

A message says what was found (with numbers), why it matters and what to change.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

#: What messages are of, where it is not X.
_OF: ContextVar[str] = ContextVar("of", default="")


class EigenspanError(Exception):
    """Base class of every error eigenspan raises on purpose."""


class InputError(EigenspanError, ValueError):
    """The data or a parameter cannot be used as given."""


class ParameterError(EigenspanError, TypeError):
    """A parameter that the class does not have, or one that it cannot do without."""


class GraphError(InputError):
    """A neighbour graph, its weights or a precomputed graph is unusable."""


class DisconnectedError(GraphError):
    """The graph has several components and the policy is ``"raise"``."""


class KernelError(InputError):
    """A kernel is unknown, returns the wrong shape or no real numbers, or is not symmetric."""


class LabelError(InputError):
    """The labels cannot define the classes a method needs."""


class DimensionError(InputError):
    """More components were asked for than the posed problem has."""


class UnitError(EigenspanError, ValueError):
    """The unit form B of a trace problem is not positive semidefinite."""


class ModelError(EigenspanError, ValueError):
    """An estimator cannot be saved, or a file is no model that can be loaded."""


class OutputError(EigenspanError, OSError):
    """A file or folder cannot be written. What was there before is unchanged."""


class MemoryLimitError(EigenspanError, MemoryError):
    """The problem would need more memory than there is."""


class ClusterError(EigenspanError, RuntimeError):
    """The cluster that worked on the rows was lost."""


class ConvergenceError(EigenspanError, RuntimeError):
    """No solver in the decision table reached the requested residual."""


class EigenspanWarning(UserWarning):
    """Base class of every warning eigenspan gives on purpose."""


class DisconnectedWarning(EigenspanWarning):
    """A graph has several components or closed classes, which were tied together or left out."""


class DegenerateWarning(EigenspanWarning):
    """The requested subspace, or one used on the way to it, is not unique; or many points are in one place."""


class RidgeWarning(EigenspanWarning):
    """A singular unit form was regularised."""


class IndefiniteWarning(EigenspanWarning):
    """A Gram matrix has negative eigenvalues."""


class DuplicateWarning(EigenspanWarning):
    """Coincident rows fill whole neighbourhoods, or had places of their own in a given graph."""


class ExtensionWarning(EigenspanWarning):
    """The map to new points is poorly determined."""


class LabelWarning(EigenspanWarning):
    """Labels leave part of a criterion undetermined."""


class SearchWarning(EigenspanWarning):
    """Neighbours were missed by an approximate search, or an exact one takes long."""


class LocalisationWarning(EigenspanWarning):
    """An axis of the embedding is zero but for a handful of points."""


class FlatWarning(EigenspanWarning):
    """The points hardly vary along an axis of the embedding."""


class PrecisionWarning(EigenspanWarning):
    """Rounding leaves few digits of the result."""


class MissingWarning(EigenspanWarning):
    """Rows without any observed entry."""


class FitWarning(EigenspanWarning):
    """Some of several fits failed, and what is returned rests on the others."""


class ModelWarning(EigenspanWarning):
    """A model was saved by another version."""


class ClusterWarning(EigenspanWarning):
    """Workers of a cluster ended while they worked, and others did it again."""


class ConvergenceWarning(EigenspanWarning):
    """A solver missed its residual and another took over, or an iteration stopped short of its tolerance."""


def warn(message: str, category: type[EigenspanWarning]) -> None:
    """Warn at the user's line: the nearest caller outside this library and scikit-learn."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in ("eigenspan", "sklearn"):
        level, frame = level + 1, frame.f_back
    warnings.warn(_OF.get() + message, category, stacklevel=level)


@contextmanager
def speaking_of(what: str) -> Iterator[None]:
    """What is raised and warned of within begins with these words."""
    token = _OF.set(what)
    try:
        yield
    except InputError as refusal:
        raise type(refusal)(f"{what}{refusal}") from None
    finally:
        _OF.reset(token)
