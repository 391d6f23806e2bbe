"""All errors and warnings of eigenspan.

::

    EigenspanError
    ├── InputError (ValueError)          the data or a parameter cannot be used as given
    │   ├── GraphError                   neighbours, weights or a precomputed graph
    │   │   └── DisconnectedError        the graph is disconnected and disconnected="raise"
    │   ├── KernelError                  a kernel that is unknown, has the wrong shape, is not real or not symmetric
    │   ├── LabelError                   labels that cannot define classes
    │   └── DimensionError               more components than the problem has
    ├── ParameterError (TypeError)       an unknown parameter, or a missing one
    ├── UnitError (ValueError)           a unit form B that is not positive semidefinite
    ├── ModelError (ValueError)          an estimator that cannot be saved, or a file that is not a valid model
    ├── OutputError (OSError)            a file that cannot be written; an existing file is unchanged
    ├── MemoryLimitError (MemoryError)   not enough memory; the message says what would fit
    ├── ClusterError (RuntimeError)      the connection to the Dask cluster was lost during a fit
    └── ConvergenceError (RuntimeError)  no solver reached the requested residual

    EigenspanWarning (UserWarning)
    ├── DisconnectedWarning              components of the graph were connected or left out
    ├── DegenerateWarning                the requested subspace is not unique
    ├── RidgeWarning                     a singular unit form was regularised
    ├── IndefiniteWarning                a Gram matrix has negative eigenvalues
    ├── DuplicateWarning                 duplicate rows fill whole neighbourhoods, or were merged
    ├── ExtensionWarning                 the map for new points is poorly determined
    ├── LabelWarning                     labels that leave part of a criterion undetermined, or look like identifiers
    ├── SearchWarning                    an approximate search missed neighbours, or an exact one is slow
    ├── LocalisationWarning              an axis that is zero except at a few points
    ├── FlatWarning                      an axis with almost no variance
    ├── PrecisionWarning                 rounding errors affect the result
    ├── MissingWarning                   rows without any observed entry
    ├── FitWarning                       some of several fits failed; results are based on the others
    ├── ModelWarning                     a model saved by another version
    ├── ClusterWarning                   workers of a cluster ended; their tasks were repeated
    └── ConvergenceWarning               a solver or an iteration did not reach its tolerance

Every message states what was found (with numbers), why it matters and what to change.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

#: Prefix of messages about an array other than X.
_PREFIX: ContextVar[str] = ContextVar("prefix", default="")


class EigenspanError(Exception):
    """Base class of all errors that eigenspan raises deliberately."""


class InputError(EigenspanError, ValueError):
    """The data or a parameter cannot be used as given."""


class ParameterError(EigenspanError, TypeError):
    """A parameter does not exist in this class, or a required one is missing."""


class GraphError(InputError):
    """A neighbour graph, its weights or a precomputed graph cannot be used."""


class DisconnectedError(GraphError):
    """The graph has several components, and ``disconnected="raise"``."""


class KernelError(InputError):
    """A kernel is unknown, has the wrong shape, is not real, or is not symmetric."""


class LabelError(InputError):
    """The labels cannot define the classes that a method needs."""


class DimensionError(InputError):
    """More components were requested than the problem has."""


class UnitError(EigenspanError, ValueError):
    """The unit form B of a trace problem is not positive semidefinite."""


class ModelError(EigenspanError, ValueError):
    """An estimator cannot be saved, or a file is not a valid model."""


class OutputError(EigenspanError, OSError):
    """A file or folder cannot be written. An existing file or folder is unchanged."""


class MemoryLimitError(EigenspanError, MemoryError):
    """The problem needs more memory than is available."""


class ClusterError(EigenspanError, RuntimeError):
    """The connection to the Dask cluster that holds the rows was lost."""


class ConvergenceError(EigenspanError, RuntimeError):
    """No eigensolver reached the requested residual."""


class EigenspanWarning(UserWarning):
    """Base class of all warnings that eigenspan gives deliberately."""


class DisconnectedWarning(EigenspanWarning):
    """A graph has several components or closed classes, which were connected or left out."""


class DegenerateWarning(EigenspanWarning):
    """The requested subspace, or an intermediate one, is not unique; or many points have the same position."""


class RidgeWarning(EigenspanWarning):
    """A singular unit form was regularised by a ridge."""


class IndefiniteWarning(EigenspanWarning):
    """A Gram matrix has negative eigenvalues."""


class DuplicateWarning(EigenspanWarning):
    """Duplicate rows fill whole neighbourhoods, or were separate points in a given graph."""


class ExtensionWarning(EigenspanWarning):
    """The map for new points is poorly determined."""


class LabelWarning(EigenspanWarning):
    """Labels leave part of a criterion undetermined."""


class SearchWarning(EigenspanWarning):
    """An approximate search missed neighbours, or an exact search is slow."""


class LocalisationWarning(EigenspanWarning):
    """An axis of the embedding is zero except at a few points."""


class FlatWarning(EigenspanWarning):
    """The points hardly vary along an axis of the embedding."""


class PrecisionWarning(EigenspanWarning):
    """Rounding errors leave few correct digits in the result."""


class MissingWarning(EigenspanWarning):
    """Some rows have no observed entry."""


class FitWarning(EigenspanWarning):
    """Some of several fits failed; the result is based on the others."""


class ModelWarning(EigenspanWarning):
    """A model was saved by another version of eigenspan."""


class ClusterWarning(EigenspanWarning):
    """Workers of a cluster ended during their work; other workers repeated it."""


class ConvergenceWarning(EigenspanWarning):
    """A solver missed its residual and another one was used, or an iteration stopped before it reached its tolerance."""


def warn(message: str, category: type[EigenspanWarning]) -> None:
    """Give a warning at the user's line: the nearest caller outside eigenspan and scikit-learn."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in ("eigenspan", "sklearn"):
        level, frame = level + 1, frame.f_back
    warnings.warn(_PREFIX.get() + message, category, stacklevel=level)


@contextmanager
def message_prefix(what: str) -> Iterator[None]:
    """Prefix the messages of all InputErrors and warnings of the block with `what`."""
    token = _PREFIX.set(what)
    try:
        yield
    except InputError as refusal:
        raise type(refusal)(f"{what}{refusal}") from None
    finally:
        _PREFIX.reset(token)
