"""Descriptions of parameters that many estimators share, written once and filled into their docstrings."""

from __future__ import annotations

from string import Template
from typing import Any

_ENTRIES = {
    "n_components": """n_components : int, default=2
        Number of dimensions d of the embedding.""",
    "n_components_gram": """n_components : int or "auto", default=2
        Number of dimensions d of the embedding, or as many as the spectrum tells. Coordinates with noise are weighed as by PCA: the
        Bayesian information criterion of a Gaussian model. Distances that no points have show errors as negative eigenvalues: axes up
        to twice their size are left out, and of the others those before the largest drop are shown.""",
    "n_components_unfolded": """n_components : int or "auto", default=2
        Number of dimensions d of the embedding, or ``suggested_dimension_``: where the spectrum of the unfolding drops.""",
    "told_attributes": """n_components_ : int
        Number of dimensions of the embedding.
    spectrum_ : ndarray
        With "auto": the eigenvalues, largest first, that told it.""",
    "n_neighbors": """n_neighbors : int or None, default=None
        Neighbours of every point. None means 10, or all other points where there are fewer. It has no effect where `graph` is given,
        unless X holds distances.""",
    "graph_plain": """graph : graph specification or None, default=None
        Overrides `n_neighbors`: ``KNN(15, metric="cosine")``, ``Radius(0.5)``, ``MST()``, the ``graph_`` of a fitted estimator, a
        scikit-learn neighbours transformer, a sparse matrix of distances, a pair ``(indices, distances)``, or ``"precomputed"`` when X
        itself holds distances.""",
    "metric_of_rows": """metric : str, callable or None, default=None
        How points are compared where `graph` is None: any metric of scikit-learn's NearestNeighbors, None for ``"euclidean"``.
    metric_params : dict or None, default=None
        Parameters of the metric, such as ``{"p": 3}`` of ``"minkowski"``.""",
    "metric": """metric : str, callable or None, default=None
        How points are compared where `graph` is None: any metric of scikit-learn's NearestNeighbors, None for ``"euclidean"``.
        ``"precomputed"`` is the same as ``graph="precomputed"``.
    metric_params : dict or None, default=None
        Parameters of the metric, such as ``{"p": 3}`` of ``"minkowski"``.""",
    "graph_supervised": """graph : graph specification or None, default=None
        Overrides `n_neighbors`: ``KNN(15, metric="cosine")``, ``Radius(0.5)``, ``MST()``, the ``graph_`` of a fitted estimator, a
        scikit-learn neighbours transformer, a sparse matrix of distances, or a pair ``(indices, distances)``. With labels:
        ``"class"`` joins all points of a class, ``KNN(k, within_class=True)`` the near ones among them; then ``fit`` needs y.""",
    "graph_all": """graph : graph specification or None, default=None
        Overrides `n_neighbors`: ``KNN(15, metric="cosine")``, ``Radius(0.5)``, ``MST()``, the ``graph_`` of a fitted estimator, a
        scikit-learn neighbours transformer, a sparse matrix of distances, or a pair ``(indices, distances)``. With labels:
        ``"class"`` joins all points of a class, ``KNN(k, within_class=True)`` the near ones among them; then ``fit`` needs y.
        ``"all"`` joins all points, O(n²D) in blocks: with ``weights=Powered("local", alpha)`` this is LPP* [S2, §4.1].""",
    "graph_pairs": """graph : graph specification or None, default=None
        Overrides `n_neighbors`: ``KNN(15, metric="cosine")``, ``Radius(0.5)``, ``MST()``, the ``graph_`` of a fitted estimator, a
        scikit-learn neighbours transformer, a sparse matrix of distances, or a pair ``(indices, distances)``. With labels:
        ``"class"`` joins all points of a class, ``KNN(k, within_class=True)`` the near ones among them; then ``fit`` needs y.
        ``"all"`` joins all points, O(n²D) in blocks, with ``weights="heat"`` or ``"local"``.""",
    "weights": """weights : {"heat", "local", "binary", "cosine", "precomputed"} or weight specification, default="heat"
        Edge weights: ``Heat(sigma)`` = exp(−d²/σ²) with σ half the median distance unless given, ``LocalScaling(k)``, ``Binary()``,
        ``Cosine()``, ``Powered(weights, alpha)``; ``"precomputed"`` takes the numbers on the edges of a graph that is given
        as they are; with ``graph="precomputed"`` X is the matrix of affinities. Their diagonal counts in the walk of `DiffusionMap`
        only: L = D − W does not depend on it, and elsewhere the degrees D leave it out, as scikit-learn does.""",
    "disconnected": """disconnected : {"connect", "largest", "raise"}, default="connect"
        What to do if the graph is not connected: add the shortest bridging edges and warn; embed the largest component (of
        several as large, that with the shortest edges), place the other points by the map and warn; or raise.""",
    "weights_reconstruction": """weights : "barycentric", name or weight specification, default=None
        None means barycentric and, with ``graph="class"``, the class averages 1/n_k. ``"barycentric"`` rebuilds a point from its
        neighbours, with ``graph="class"`` from all others of its class (O(n_k⁴) for a class of n_k points). Other weights average.""",
    "disconnected_keep": """disconnected : {"keep", "connect", "raise"}, default="keep"
        What to do if the graph is not connected, or if its neighbour lists have several closed classes (sets of points whose
        neighbours all lie in the same set): use it as it is, and warn if axes show these sets as single points; add edges and
        warn; or raise.""",
    "disconnected_lists": """disconnected : {"connect", "largest", "raise"}, default="connect"
        What to do if the graph is not connected, or if its neighbour lists have several closed classes (sets of points whose
        neighbours all lie in the same set): add edges and warn; embed the largest strongly connected component, place the other
        points by the map and warn; or raise. A closed class whose points have no other link would be drawn as a single point.""",
    "extension": """extension : {"nystrom", "harmonic", "barycentric"}
        How new points are placed: by the eigenfunction formula, the weighted mean of their neighbours, or local
        reconstruction. Training points always return their own embedding.""",
    "conformal": """conformal : bool, default=False
        Rescale edges by d_ij/√(M_i M_j), M_i the mean distance from i to its own k nearest neighbours (de Silva & Tenenbaum): for
        sheets sampled unevenly or bent conformally. Of a radius or a given graph, the mean over the neighbours in its list.""",
    "kernel": """kernel : str, Kernel, callable or None, default=None
        None works on the features themselves. A kernel turns the method into its kernel form: a name such as ``"rbf"``,
        ``Kernel("poly", degree=2)``, a kernel of a neighbour graph such as ``HeatKernel(t)``, a function of two arrays of rows, or of
        two rows, or ``"precomputed"`` when X is the kernel matrix. The graph is then built in the kernel's feature space.""",
    "landmarks": """landmarks : int, Landmarks, array of indices or None, default=None
        With a kernel: approximate its feature space on this many (or these) training points, O(nm²) instead of O(n³).""",
    "landmark_fit": """landmarks : int, Landmarks, array of indices or None, default=None
        Fit on this many (or these) training points alone, the graph built among them, and place all other rows by the map for
        new points: the cost of a fit on m points and of n look-ups of neighbours among them, O(m) memory beyond data and
        embedding. What is finer than the landmarks' spacing is interpolated.""",
    "sample": """sample : int or None, default=None
        Fit to this many random rows as if they were all, and place the others by the map for new points. The way to fit a Dask array or
        data frame, whose rows stay on their cluster.""",
    "sample_attribute": """sample_ : ndarray of int
        The rows drawn, where `sample` is given.""",
    "landmarks_attribute": """landmarks_ : ndarray of int
        The rows chosen, where `landmarks` is given; graph, weights and eigenvalues are then those of these rows.""",
    "reduce": """reduce : int or None, default=None
        Keep this many principal axes of X first: for undersampled data, and for sparse X with very many columns. The method is then
        fitted to the centred coordinates along these axes, as in a pipeline after PCA: neighbours, distances and weights are theirs
        too, unless `graph` is a graph that you give. ``components_`` and ``transform`` refer to the columns of X.
        A number above the rank of X keeps all axes (``diagnostics_["reduced_to"]``).""",
    "reduce_axes": """reduce : int or None, default=None
        Compute this many principal axes of X first and choose among them: for sparse X with very many columns. The variance along all
        other axes still counts as variance that is left out.""",
    "ridge": """ridge : float or None, default=None
        ε that keeps the axes short: B + εI, or A + εI where a PSD form A is minimised. None means 0 for features of full rank
        and a small ridge, reported in ``diagnostics_``, for kernels, whose feature space could interpolate any embedding of the
        training points.""",
    "ridge_orthonormal": """ridge : float or None, default=None
        Has no effect on orthonormal axes; accepted so that methods can be exchanged.""",
    "ridge_unit": """ridge : float or None, default=None
        ε that keeps the axes short: B + εI. None means 0, or a small ridge for kernels, and where B is singular 1 % of the mean of its
        eigenvalues that are not zero (with a warning where γ = 0). It is in ``diagnostics_``.""",
    "gamma": """gamma : float
        γ, the weight of the neighbours of all points, labelled or not; 0 leaves them out, and `alpha`, `gamma_scale` and `graph` then
        have no effect.""",
    "alpha": """alpha : float, default=4.0
        Hadamard power of their affinities [S2, eq. 9]: larger values count near pairs more and far ones less. It has no effect with
        ``gamma=0``.""",
    "gamma_scale": """gamma_scale : {"relative", "raw"}, default="relative"
        What γ is measured by. With ``"relative"`` γ is the total cost of the neighbours of all points, Tr U, as a share of the most
        that the labels can gain, the sum of the negative eigenvalues of A (of all, where none is negative): γs U is added to A with
        :math:`s = \\sum_i \\max(-\\lambda_i(A), 0) / \\operatorname{Tr} U`. Neither units nor the numbers of points and labels change it.
        ``diagnostics_`` has s as ``"gamma_factor"`` and γs as ``"effective_gamma"``. ``"raw"`` adds γU, and γI to a singular B, as [S2]
        does: a sum over all pairs that can drown a few labels. It has no effect with ``gamma=0``.""",
    "pair_neighbors": """n_neighbors : int or None, default=None
        Nearest points of the same class (all of a smaller class), and the neighbour that sets the local scale of affinities.
        None means 3, or 7 for the local scales of all pairs in a class.""",
    "n_rivals": """n_rivals : int or None, default=None
        Nearest points of other classes; None means as many as `n_neighbors`.""",
    "graph_unlabelled": """graph : "all" or graph specification, default="all"
        Pairs in the affinity of unlabelled points: all of them as in [S2, eq. 7], O(n²) in blocks, or the edges of a neighbour
        graph such as ``KNN(10)``, which is the choice for many points. It has no effect with ``gamma=0``.""",
    "axes": """axes : {"unit", "norm", "eigenvalue", "eigenvalue-norm"}, default="unit"
        Weights of the axes [S2, §2.3]: as solved, of length one, times the root of what each axis gains, or both; an
        axis without gain becomes zero. It has no effect with ``scale="unit-variance"``.""",
    "axes_orthonormal": """axes : {"unit", "norm", "eigenvalue", "eigenvalue-norm"}, default="unit"
        Weights of the axes [S2, §2.3]: as solved, of length one, times the root of what each axis gains, or both; an
        axis without gain becomes zero. The axes are solved with length one, so the choice between the first two, and between the last
        two, has no effect; with ``scale="unit-variance"`` none of them has.""",
    "n_directions": """n_components : int, "test" or None, default=None
        Number of directions. ``"test"`` takes the least number that the tests in ``order_tests_`` do not refuse; None means two, or as many
        as there are.""",
    "n_slices": """n_slices : int or None, default=None
        Slices of a numeric response, with nearly equal numbers of rows; of fewer distinct values, each is a slice. None means ten, or
        fewer where they would have fewer than ten rows each; up to ten values that repeat are slices in any case. Text, categories
        and booleans are sliced by class.""",
    "level": """level : float, default=0.05
        Level of the tests behind ``n_components="test"``.""",
    "n_permutations": """n_permutations : int, default=0
        Permutations of the rows behind the tests. 0 means the chi-square tests, which hold for normal X; with a kernel, a ridge, several
        responses or missing ones, for which they do not, ``n_components="test"`` takes 199 permutations.""",
    "n_permutations_only": """n_permutations : int, default=0
        Permutations of the rows behind the tests. 0 means none, or 199 with ``n_components="test"``.""",
    "ridge_response": """ridge : float or None, default=None
        ε added to the covariance, Σ + εI. None means 0; for kernels a small ridge, and 1 % of the mean variance, with a warning, where
        the rows are no more than the dimensions they span.""",
    "order_tests": """classes_ : ndarray
        The classes, where the response is text, a category or a boolean.
    order_tests_ : DataFrame
        Statistic, degrees of freedom and p-value of "so many directions are all", where there is a test.""",
    "classes_attribute": """classes_ : ndarray
        The class labels.""",
    "unlabeled": """unlabeled : int, str or None, default=$mark
        The label that marks unlabelled points, besides NaN and None. It is −1 in the semi-supervised methods, as in scikit-learn. In
        the supervised ones it is None: −1 is a class like any other.""",
    "unlabeled_graph": """unlabeled : int, str or None, default=$mark
        The label that marks unlabelled points, besides NaN and None; with None −1 is a class like any other. It has no effect on graphs
        that are not made of classes.""",
    "reg": """reg : float, default=1e-3
        Ridge on the local Gram matrices, relative to their trace.""",
    "scale": """scale : "unit-variance" or None, default=None
        None leaves the axes as the problem has them, and their length then depends on the number of points; ``"unit-variance"``
        gives every axis variance one over the training points, whatever other weights of axes say, as penalised classifiers
        expect.""",
    "solver": """solver : {"auto", "dense", "shift-invert", "lanczos", "chebyshev", "amg", "randomised", "factor"} or Solver, default="auto"
        Eigensolver; ``help(eigenspan.numerics.eigen.Auto)`` shows the decision table.""",
    "reg_projection": """reg : float, default=1e-3
        Ridge on the local Gram matrices, relative to their trace. It has no effect with `weights` other than barycentric ones.""",
    "solver_ratio": """solver : {"auto", "dense"} or Dense, default="auto"
        Eigensolver. Each step towards the trace ratio is a dense eigenproblem: the choice has no effect, and other solvers are
        refused.""",
    "random_state": """random_state : int, RandomState or None, default=0
        Seeds start vectors and random choices. The same seed gives the same result. It has no effect where nothing is chosen at random
        and the eigenproblem is solved densely.""",
    "n_jobs": """n_jobs : int or None, default=None
        Threads at most; None means as many as there are processors. It has no effect on the result.""",
    "response_labels": """labels : {"auto", "delta", "rbf"}, default="auto"
        The kernel of the responses: 1 within a class and 0 between classes, or Gaussian for numbers (of several columns if need be,
        each brought to unit variance). "auto" takes text for classes and numbers for numbers; class codes need "delta". Rows whose
        response is NaN or None count for the scale of X only.""",
    "response_width": """width : float, default=0.5
        σ of the Gaussian kernel ``exp(−d²/2σ²)`` of the points, in units of their median distance.
    response_width : float, default=1.0
        The same of the kernel of the responses.""",
    "response_eps": """eps : float or None, default=None
        ε of the ridge nε beside the kernel matrix of n points. None means 0.002 n^(−1/3).""",
    "response_landmarks": """landmarks : int, Landmarks, array of indices or None, default=None
        See kernels through this many (or these) points: O(nm²) instead of O(n³). None means all points up to 2,000, and 500 of more.""",
    "response_whiten": """whiten : bool, default=True
        Bring X to unit covariance first: the subspace then follows any change of units and any linear mixing of the features. False
        takes distances as they are, and the axes are orthonormal.
    ridge : float or None, default=None
        Added to the covariance before whitening. None means 0, and, with a warning, the mean variance where there are so few rows that
        whitening would make them all equally far from each other.""",
    "spectral_attributes": """embedding_ : ndarray of shape (n_samples, n_components)
        Embedding of the training points.
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of the posed problem, best first.
    residuals_ : ndarray of shape (n_components,)
        Eigen-residuals relative to the norm of the matrix.
    gap_ : float
        Relative distance from the last eigenvalue used to the next; below 1e-8 the subspace is not unique.
    problem_ : TraceProblem
        What was solved.
    map_ : Map
        The function behind ``transform``.
    diagnostics_ : dict
        Seconds per stage, solver, graph components and other facts of the fit. ``"tied_axes"`` lists axes that share an eigenvalue: only
        their span is determined, and a rule chooses the axes.""",
    "linear_attributes": """components_ : ndarray of shape (n_components, n_features)
        Axes in the input space (absent with a kernel).
    mean_ : ndarray of shape (n_features,)
        The origin of the embedding in the input space (absent with a kernel).""",
    "unfolding_neighbors": """n_neighbors : int or None, default=None
        Neighbours of every point. None means 8, or all other points where there are fewer. It has no effect where `graph` is given,
        unless X holds distances.""",
    "unfolding_tol": """tol : float, default=1e-3
        Certified relative gap at which to stop.""",
    "unfolding_extension": """extension : {"auto", "barycentric", "eigenfunctions", "kernel-map"} or specification, default="auto"
        How new points are placed: by local reconstruction, by smoothed eigenfunctions of K [S4, eqs. 63–67], or by normalised
        kernels fitted to the embedding [S4, eqs. 68–77]. "auto" is the first, and where X holds distances, which have no coordinates, the
        second. ``SmoothedEigenfunctions(eta=...)`` and ``NormalizedKernels(gamma=...)`` set the numbers of the formulas. Training points
        always return their own embedding.""",
    "unfolding_time_limit": """time_limit : float or None, default=None
        Seconds after which the best certified point is returned, with a warning; Ctrl-C does the same.""",
    "unfolding_verbose": """verbose : int, default=0
        1 prints these, and every stage of the fit.""",
    "streaming_attributes": """n_samples_seen_ : int
        Rows so far, where `partial_fit` can add more (dense X with more rows than features, and no parameter that asks for all of them).
    moments_ : Sums
        Counts, means and scatters of these rows.""",
    "graph_attribute": """graph_ : NeighbourGraph
        The neighbour graph, accepted by other estimators as ``graph=``. Where rows of X repeat it is that of the distinct ones:
        ``graph_.rows`` says which rows its nodes are, None for all.""",
    "affinity_attribute": """affinity_ : Affinity
        Edge weights (``affinity_.W``) and the rule that made them.""",
    "class_graph_attributes": """classes_ : ndarray
        The class labels, where the graph is one within classes.
    graph_ : NeighbourGraph
        The neighbour graph, accepted by other estimators as ``graph=`` (absent with "class" and "all").""",
}


def _listed(names: str) -> str:
    """Placeholders, one a line."""
    return "\n    ".join(f"${name}" for name in names.split())


_COSTS = """$gamma
    $alpha
    $gamma_scale
    $pair_neighbors
    $graph_unlabelled
    $axes
    $kernel
    $landmarks
    $reduce
    $ridge_unit
    $scale
    $unlabeled
    $solver
    $random_state
    $n_jobs

    Attributes
    ----------
    $classes_attribute
    $linear_attributes
    $spectral_attributes"""

_UNFOLDING = """$unfolding_tol
    rank : int or None, default=None
        Columns of the Gram matrix's factor to begin with; more are added where the certificate asks for them. None means 3, or one more
        than `n_components`. It has no effect on dense steps: see `method`.
    method : {"auto", "low-rank", "dense"}, default="auto"
        Sparse low-rank steps for bounds on pairs, dense ones, up to a thousand points or so, for other constraints. A band is entered at
        the data themselves: the sparse steps need at most 15 columns, and Euclidean distances.
    $unfolding_extension
    max_iter : int, default=300
    $unfolding_time_limit
    callback : callable or None, default=None
        Called with a dict (iteration, lower, upper, gap, seconds; of the low-rank solver also rank and factor) each time the bounds are
        computed.
    $unfolding_verbose
    $landmark_fit
    $disconnected
    $solver
    $random_state
    $n_jobs"""

_FORM = """band : float, default=0.05
        Share by which squared distances may shrink with ``constraint="band"``. More than 15 columns, or distances that are not
        Euclidean, are solved densely: see `method`. It has no effect with other constraints.
    price : float or "auto", default="auto"
        ν of ``constraint="slack"``: the objective is charged ν Σ t^power. "auto" lets an average
        edge stretch by 0.2 per cent (power 2), or asks thirty times what an average edge gains (power 1). It has no effect with other
        constraints.
    power : {1, 2}, default=2
        1 charges the stretch itself and leaves most edges exact, 2 its square and spreads it. It has no effect without
        ``constraint="slack"``."""

_UNFOLDED = """embedding_full_ : ndarray of shape (n_samples, r)
        The whole unfolding, ``K = embedding_full_ @ embedding_full_.T``, on its principal axes.
    spectrum_ : ndarray of shape (r,)
        Variance (sum of squares) along them: the eigenvalues of K.
    suggested_dimension_ : int
        Where the spectrum drops most, from one axis to the next; shares of the variance below the certified gap or a thousandth count
        as that much, and axes count in any case until those beyond hold less than a two-hundredth.
    n_components_ : int
        Number of dimensions of the embedding.
    certificate_ : UnfoldingCertificate
        Bounds on the optimum, edges and weights; see ``help(eigenspan.UnfoldingCertificate)``.
    solution_ : Solution
        What the solver returned; ``solution_.verify()`` proves the bounds anew.
    n_iter_ : int
        Steps of the solver."""

_LABELLED = f"""{_FORM}
    $unlabeled
    {_UNFOLDING}

    Attributes
    ----------
    $classes_attribute
    {_UNFOLDED}
    $graph_attribute
    $spectral_attributes"""

_EIGENMAPS = _listed(
    "n_neighbors graph_plain metric weights landmark_fit disconnected extension scale solver random_state n_jobs"
)

_FUNCTIONS = f"""n_components : int or None, default=None
        Functions besides the constant; None means one for every five labelled points.
    ridge : float, default=0.0
        ε, for functions of variance one.
    unit : {{"degree", "covariance"}}, default="degree"
        Eigenvectors of the walk, or of L. The latter have variance one, and ``scale="unit-variance"`` then has no effect.
    {_EIGENMAPS}"""

#: Lists of entries that whole families share.
_LISTS = {
    "graph": _listed("graph_plain metric"),
    "eigenmap_parameters": _EIGENMAPS,
    "eigenmap_functions": _FUNCTIONS,
    "eigenmap_attributes": _listed("graph_attribute landmarks_attribute affinity_attribute spectral_attributes"),
    "direction_parameters": _listed("kernel landmarks reduce ridge_response scale solver random_state"),
    "direction_attributes": _listed("order_tests linear_attributes spectral_attributes"),
    "geodesic_parameters": _listed("landmark_fit sample disconnected solver random_state n_jobs"),
    "geodesic_attributes": _listed(
        "told_attributes graph_attribute landmarks_attribute sample_attribute spectral_attributes"
    ),
    "unfolding_parameters": _UNFOLDING,
    "unfolding_attributes": _UNFOLDED,
    "unfolding_form": _FORM,
    "unfolding_of_labels": _LABELLED,
    "cost_parameters": _COSTS,
    "cost_parameters_orthonormal": _COSTS.replace("$ridge_unit", "$ridge_orthonormal").replace(
        "$axes", "$axes_orthonormal"
    ),
}

_SOURCES = {
    "[S1": "[S1] Saul, Weinberger, Sha, Ham & Lee (2006), Spectral methods for dimensionality reduction.",
    "[S0": "[S0] Kokiopoulou, Chen & Saad (2011), Trace optimization and eigenproblems in dimension reduction methods.",
    "[S2": "[S2] Chatpatanasiri & Kijsirikul (2009), A unified semi-supervised dimensionality reduction framework for "
    "manifold learning.",
    "[S3": "[S3] Burges (2010), Dimension reduction: a guided tour.",
    "[S4": "[S4] Ghojogh, Ghodsi, Karray & Crowley (2021), Unified framework for spectral dimensionality reduction, maximum "
    "variance unfolding, and kernel learning by semidefinite programming.",
}


#: Of every class that has it, as its last parameter.
_VERBOSE = """verbose : int, default=0
        1 prints every stage of the fit as it begins."""


def documented(cls: Any) -> Any:
    """Class decorator: fill ``$name`` in the docstring with the shared description, and spell out the sources it cites."""
    if cls.__doc__ is None:  # python -OO drops docstrings
        return cls
    text = Template(Template(cls.__doc__).safe_substitute(_LISTS)).safe_substitute(_ENTRIES).rstrip()
    if "verbose" in cls._parameters and "\n    verbose :" not in text:
        text = text.replace("\n\n    Attributes\n", f"\n    {_VERBOSE}\n\n    Attributes\n", 1)
    if "$mark" in text:
        text = Template(text).safe_substitute(mark=cls._parameters["unlabeled"].default)
    cited = [entry for mark, entry in _SOURCES.items() if mark in text and entry not in text]
    if cited and "References\n" not in text:
        text += "\n\n    References\n    ----------"
    cls.__doc__ = text + "".join(f"\n    {entry}" for entry in cited) + "\n    "
    return cls
