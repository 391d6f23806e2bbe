"""Descriptions of parameters that unrelated classes share, and the sources that docstrings cite.

A description belongs here if several classes without a common base have the parameter with the same meaning. Otherwise it belongs in the
docstring of the base class that declares the parameter. `_docstrings` explains the format.
"""

PARAMETERS = """
n_components
    Number of dimensions d of the embedding.
n_neighbors
    Number of neighbours of every point. None means 10, or all other points if there are fewer. It has no effect if
    `graph` is given, unless X holds distances.
n_rivals
    Number of nearest points of other classes. None means as many as `n_neighbors`.
n_slices
    Number of slices of a numeric response, with nearly equal numbers of rows. If the response has fewer distinct
    values, each value is a slice. None means ten, or fewer if slices would have fewer than ten rows each. A response of
    up to ten values that repeat is always sliced by value; text, categories and booleans are sliced by class.
graph
    Neighbour graph. None means the `n_neighbors` nearest neighbours of every point. Others are
    ``KNN(15, metric="cosine")``, ``Radius(0.5)``, ``MST()``, the ``graph_`` of a fitted estimator, a scikit-learn
    neighbours transformer, a sparse matrix of distances, or a pair ``(indices, distances)``.
metric
    Metric for the neighbour search if `graph` is None: any metric of scikit-learn's NearestNeighbors, or a function of
    two rows. None means ``"euclidean"``.
metric_params
    Parameters of the metric, such as ``{"p": 3}`` for ``"minkowski"``. None means that it has none.
weights
    Edge weights: ``Heat(sigma)`` = exp(−d²/σ²), where σ is half the median distance unless given; ``LocalScaling(k)``;
    ``Binary()``; ``Cosine()``; ``Powered(weights, alpha)``. ``"precomputed"`` uses the numbers on the edges of a given
    graph as weights.
extension
    How new points are placed: by the eigenfunction formula, at the weighted mean of their neighbours, or by local
    reconstruction. Training points keep their own embedding.
axes
    Weights of the axes [S2, §2.3]: as solved, scaled to length one, times the root of what each axis gains, or both of
    these. An axis without gain becomes zero. It has no effect with ``scale="unit-variance"``.
center
    Subtract the mean of the rows, or of their images under a kernel, with the weights of the unit. False uses the origin
    instead, as [S0, eqs. 29, 35] print the problem. A constant column is then a feature like any other, whose axis costs
    nothing.
landmarks
    With a kernel: approximate its feature space using this many training points, or the given ones: O(nm²) instead of
    O(n³) for m landmarks. None uses all points.
reduce
    Number of principal axes of X to keep before the method is fitted: for undersampled data, and for sparse X with very
    many columns. The method is then fitted to the centred coordinates along these axes, as in a pipeline after PCA.
    Neighbours, distances and weights are computed from these coordinates too, unless `graph` is a graph that you give.
    ``components_`` and ``transform`` still refer to the columns of X. A number above the rank of X keeps all axes
    (``diagnostics_["reduced_to"]``). None keeps X as it is.
scale
    ``"unit-variance"`` gives every axis variance one over the training points, whatever the other weights of the axes;
    penalised classifiers expect this. None keeps the lengths that the problem determines, which depend on the number of
    points.
unlabeled
    Label that marks unlabelled points, besides NaN and None. With None, −1 is a class like any other.
max_iter
    Maximum number of iterations.
solver
    Eigensolver; ``help(eigenspan.numerics.eigen.Auto)`` shows how "auto" chooses.
random_state
    Seed of start vectors and random choices; the same seed gives the same result. It has no effect if nothing is chosen
    at random and the eigenproblem is solved densely.
n_jobs
    Maximum number of threads; None means as many as there are processors. It has no effect on the result.
verbose
    1 prints every stage of the fit as it begins.
"""

#: Continues descriptions of parameters that may say that X holds distances, those in ``_input.pairs`` of a class.
PAIRS = """
graph
    ... ``"precomputed"`` means that X itself holds the distances.
metric
    ... ``"precomputed"`` is the same as ``graph="precomputed"``.
"""

#: The full reference by the mark with which docstrings cite it.
SOURCES = {
    "[S1": "[S1] Saul, Weinberger, Sha, Ham & Lee (2006), Spectral methods for dimensionality reduction.",
    "[S0": "[S0] Kokiopoulou, Chen & Saad (2011), Trace optimization and eigenproblems in dimension reduction methods.",
    "[S2": "[S2] Chatpatanasiri & Kijsirikul (2009), A unified semi-supervised dimensionality reduction framework for "
    "manifold learning.",
    "[S3": "[S3] Burges (2010), Dimension reduction: a guided tour.",
    "[S4": "[S4] Ghojogh, Ghodsi, Karray & Crowley (2021), Unified framework for spectral dimensionality reduction, maximum "
    "variance unfolding, and kernel learning by semidefinite programming.",
}
