"""Phrases that stand for other things than a method: functions, graphs, weights, kernels, and parameters of all methods.

What stands for a method is beside its row, in its decorator.
"""

from __future__ import annotations

from dataclasses import dataclass

from .base.table import spoken
from .finder import Entry


@dataclass(frozen=True)
class Topic:
    """A call, what it is, and phrases that stand for it, separated by semicolons."""

    call: str
    title: str
    phrases: str = ""

    def entries(self) -> list[Entry]:
        """Return the phrases, the title first."""
        name = self.call.partition("(")[0]
        phrases = [self.title, name, *(phrase for _, phrase in spoken({"": self.phrases}) if phrase)]
        return [Entry(phrase, name, self.title, self.call, plain=True) for phrase in phrases]


TOPICS: tuple[Topic, ...] = (
    Topic(
        "intrinsic_dimension(X, 'correlation')",
        "Correlation dimension",
        "intrinsic dimension; intrinsic dimensionality; correlation integral; correlation exponent; Grassberger–Procaccia; "
        "fractal dimension; dimension of a manifold",
    ),
    Topic(
        "Landmarks(200, choice='random')",
        "Landmarks of a method",
        "landmark points; Nyström; Nyström method for other methods; random landmarks; column sampling",
    ),
    Topic(
        "nystrom(K, landmarks)",
        "Nyström approximation of a kernel matrix",
        "Nyström; Nyström extension of a kernel; Nyström eigenvectors; completed kernel; low-rank kernel approximation",
    ),
    Topic(
        "check_distances(D)",
        "Is a table a distance matrix?",
        "Euclidean distance matrix; distance matrix check; EDM; Schoenberg theorem; triangle inequality; is Euclidean",
    ),
    Topic("jaccard_kernel(a, b)", "Kernel of sets", "Jaccard kernel; Tanimoto kernel; kernel on sets"),
    Topic(
        "spectrum_kernel(a, b, k=3)",
        "Kernel of strings",
        "string kernel; spectrum kernel; k-mer kernel; kernel on sequences",
    ),
    Topic("Landmarks(200, choice='maxmin')", "Landmarks far from one another", "maxmin landmarks; farthest points"),
    Topic("KNN(10)", "k nearest neighbour graph", "nearest neighbour graph; neighbourhood graph; adjacency graph; kNN"),
    Topic(
        "Radius(1.0)",
        "Graph of all pairs within a radius",
        "epsilon graph; ε-graph; epsilon neighbourhood; ε-neighbourhoods",
    ),
    Topic("MST()", "Minimum spanning tree", "spanning tree; disjoint spanning trees"),
    Topic("Heat()", "Heat kernel weights", "heat kernel weights; Gaussian weights; Gaussian affinity; RBF affinity"),
    Topic(
        "LocalScaling(7)",
        "Local scaling of weights",
        "local scale of a point; self-tuning weights; self-tuning affinity; Zelnik-Manor and Perona",
    ),
    Topic(
        "Powered('local')", "Powers of weights", "Hadamard power; element-wise power of an affinity; powered affinity"
    ),
    Topic("Cosine()", "Cosine weights", "cosine similarity; dot product weights"),
    Topic("Binary()", "Binary weights", "simple-minded weights; 0-1 weights"),
    Topic("PathSimilarity()", "Path-based similarity", "path-based clustering; robust path-based affinity"),
    Topic(
        "HeatKernel()",
        "Diffusion kernel of a graph",
        "heat kernel; diffusion kernel; exponential of the Laplacian; graph diffusion kernel",
    ),
    Topic(
        "CommuteTimeKernel()",
        "Commute-time kernel",
        "pseudo-inverse of the graph Laplacian as a kernel; resistance kernel",
    ),
    Topic("ReconstructionKernel()", "LLE kernel", "kernel of LLE; LLE as kernel PCA; reconstruction kernel"),
    Topic(
        "Kernel('rbf')", "Kernel of two points", "Gaussian kernel; RBF kernel; Mercer kernel; KPCA trick; kernelisation"
    ),
    Topic(
        "Kernel('poly', degree=2, gamma=1, coef0=1)",
        "Polynomial kernel",
        "quadratic kernel; inhomogeneous polynomial kernel",
    ),
    Topic(
        "equivalent_kernel(estimator)",
        "Equivalent kernel of a method",
        "data-dependent kernel; kernel view of a method; unified kernel PCA; methods as kernel PCA",
    ),
    Topic(
        "nearest_psd(A)",
        "Nearest positive semidefinite matrix",
        "positive semidefinite projection; nearest kernel matrix",
    ),
    Topic(
        "dot_products(D)",
        "Dot products from distances",
        "general centring; double centring of distances; Gram matrix from distances",
    ),
    Topic(
        "complete_kernel(K)",
        "Kernel completion",
        "kernel matrix completion; missing entries of a kernel; EM for kernel matrices; em algorithm for kernels",
    ),
    Topic(
        "low_rank_kernel(K, pairs)",
        "Low-rank kernel learning",
        "Bregman divergence between matrices; LogDet divergence; kernel learning from constraints",
    ),
    Topic(
        "order_constrained_kernel(W, y)",
        "Order-constrained kernels of a graph",
        "spectral transform of a graph kernel; nonparametric transform of a graph kernel; spectral transform of the Laplacian; "
        "kernel alignment; discriminative training of kernels",
    ),
    Topic(
        "UnfoldingCertificate",
        "Certificate of an unfolding",
        "duality gap; dual of maximum variance unfolding; fastest mixing Markov process",
    ),
    Topic("check_theorems(X)", "Theorems checked on data", "equivalences between methods; theorem check"),
    Topic(
        "evaluate(X, Y)",
        "Quality of an embedding",
        "trustworthiness; continuity; neighbourhood preservation; quality measures; co-ranking matrix; residual variance; stress",
    ),
    Topic(
        "quality.hsic(X, Y)",
        "Independence of two variables by kernels",
        "Hilbert–Schmidt independence criterion; HSIC; kernel independence test; test of independence; statistical independence",
    ),
    Topic("compare(X)", "Comparison of methods", "which method is best; method comparison"),
    Topic(
        "SmoothedEigenfunctions()",
        "Smoothed eigenfunctions for new points",
        "out-of-sample extension by smoothing; extension by splines",
    ),
    Topic(
        "NormalizedKernels()",
        "Nyström extension with normalised kernels",
        "learning eigenfunctions; out-of-sample extension; new points; out of sample; Nyström formula; kernel mapping of new points",
    ),
    Topic("SemiSupervisedKFold()", "Cross-validation with few labels", "semi-supervised cross-validation"),
    Topic(
        "RegularizedSearch(estimator)",
        "Search of parameters with few labels",
        "model selection; grid search; parameter search",
    ),
)
