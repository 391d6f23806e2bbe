"""Every method by name: what it solves, in which basis, with which supervision, at what cost, from which equation."""

# ruff: noqa: E501 -- a table reads best with one row a line
from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from sklearn.decomposition import FactorAnalysis, FastICA
from sklearn.manifold import MDS, TSNE
from sklearn.neighbors import NeighborhoodComponentsAnalysis

from .._compat import NONMETRIC
from .._parameters import bound
from ..errors import InputError
from .alignment import LLTSA, LTSA, HessianLLE, ModifiedLLE
from .clustering import SpectralClustering
from .costs import LFDA
from .discriminant import LDA
from .distances import ClassicalMDS, LandmarkMDS
from .external import External
from .geodesics import Isomap, LandmarkIsomap
from .laplacian import LPP, OLPP, LaplacianEigenmaps
from .links import SSDR
from .margins import DNE, LDE, MFA, SSDNE, SSMFA
from .propagation import SDACCCP, SODA
from .reconstruction import LLE, NPP, ONPP
from .sda import SDA
from .semisupervised import MMC, SELFDA, SSFDA, SSLFDA, SSMMC
from .supervised import RoweisDA, SupervisedPCA
from .unfolding import (
    MVU,
    SMVU1,
    SMVU2,
    ActionRespectingEmbedding,
    ColoredMVU,
    LandmarkMVU,
    LaplacianMVU,
    RelaxedMVU,
    SupervisedMVU,
)
from .variance import PCA, KernelPCA
from .walks import CommuteTimeEmbedding, DiffusionMap


@dataclass(frozen=True)
class Method:
    """One row of the table."""

    name: str
    family: str
    form: str
    unit: str
    basis: str
    supervision: str
    cost: str
    source: str
    build: Callable[..., Any]
    aliases: tuple[str, ...] = ()
    own: bool = True


def _external(cls: Any, **fixed: Any) -> Callable[..., Any]:
    """The class within `External`, with the parameters of both."""
    own = {name: inspect.signature(External).parameters[name] for name in ("n_neighbors", "n_jobs")}
    theirs = {name: p.replace(kind=p.KEYWORD_ONLY) for name, p in inspect.signature(cls).parameters.items()}
    theirs |= {name: theirs[name].replace(default=value) for name, value in fixed.items()}
    first = inspect.Parameter("n_components", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=2)
    signature = inspect.Signature([*(theirs | {"n_components": first} | own).values()])

    def build(*args: Any, **given: Any) -> External:
        values = bound(cls.__name__, signature, args, given).arguments
        return External(**{name: values.pop(name) for name in own}, estimator=cls(**values))

    build.__signature__ = signature  # type: ignore[attr-defined]
    return build


_SPARSE = "neighbours + sparse eigenproblem"
_DENSE_D = "neighbours + n D² + D³"

# fmt: off
TABLE: tuple[Method, ...] = (
    Method("PCA", "variance", "max centring", "projection", "linear", "none", "n D min(n, D)", "S0 eq. 22", PCA),
    Method("KernelPCA", "variance", "max Gram of a kernel", "embedding", "samples", "none", "n²", "S0 eq. 60", KernelPCA, ("kpca",)),
    Method("ClassicalMDS", "distances", "max −½HΔ²H", "embedding", "samples", "none", "n D min(n, D), else n²", "S0 eq. 27", ClassicalMDS, ("mds", "pcoa")),
    Method("LandmarkMDS", "distances", "max −½HΔ²H on landmarks", "embedding", "samples", "none", "n q", "S3 §4", LandmarkMDS),
    Method("Isomap", "distances", "max −½HΔ²H of geodesics", "embedding", "samples", "none", "n² log n", "S0 §4.2", Isomap),
    Method("LandmarkIsomap", "distances", "max −½HΔ²H of geodesics on landmarks", "embedding", "samples", "none", "q n log n", "S3 §4", LandmarkIsomap),
    Method("LaplacianEigenmaps", "laplacian", "min L", "degree", "samples", "none", _SPARSE, "S0 eq. 16", LaplacianEigenmaps, ("le", "eigenmaps", "spectralembedding")),
    Method("DiffusionMap", "laplacian", "min L of W_α", "degree", "samples", "none", _SPARSE, "S4 §2.2", DiffusionMap, ("diffusionmaps",)),
    Method("CommuteTimeEmbedding", "laplacian", "max L†", "embedding", "samples", "none", _SPARSE, "S3 §4", CommuteTimeEmbedding, ("commutetime",)),
    Method("SpectralClustering", "laplacian", "min L", "degree or embedding", "samples", "none", _SPARSE, "S0 eqs. 52, 54", SpectralClustering),
    Method("LPP", "laplacian", "min L", "degree", "linear or kernel", "optional", _DENSE_D, "S0 eq. 28", LPP),
    Method("OLPP", "laplacian", "min L", "projection", "linear or kernel", "optional", _DENSE_D, "S0 eq. 36", OLPP),
    Method("LLE", "reconstruction", "min (I−W)ᵀ(I−W)", "embedding", "samples", "none", _SPARSE, "S0 eq. 12", LLE),
    Method("NPP", "reconstruction", "min (I−W)ᵀ(I−W)", "embedding", "linear or kernel", "optional", _DENSE_D, "S0 eq. 34", NPP, ("npe",)),
    Method("ONPP", "reconstruction", "min (I−W)ᵀ(I−W)", "projection", "linear or kernel", "optional", _DENSE_D, "S0 eq. 32", ONPP),
    Method("ModifiedLLE", "alignment", "min Σ S N Nᵀ Sᵀ, several weight vectors", "embedding", "samples", "none", _SPARSE, "Zhang & Wang 2006", ModifiedLLE, ("mlle",)),
    Method("HessianLLE", "alignment", "min Σ S N Nᵀ Sᵀ, local Hessians", "embedding", "samples", "none", _SPARSE, "Donoho & Grimes 2003", HessianLLE, ("hlle", "hessianeigenmaps")),
    Method("LTSA", "alignment", "min Σ S N Nᵀ Sᵀ, tangent spaces", "embedding", "samples", "none", _SPARSE, "Zhang & Zha 2004", LTSA),
    Method("LLTSA", "alignment", "min Σ S N Nᵀ Sᵀ, tangent spaces", "embedding", "linear or kernel", "optional", _DENSE_D, "Zhang et al. 2007", LLTSA),
    Method("LDA", "discriminant", "max S_B", "total scatter", "linear or kernel", "labels", "n D min(n, D)", "S0 eqs. 38–45", LDA, ("fda", "kfda")),
    Method("LFDA", "discriminant", "min L of near pairs and −1/n across", "near pairs of a class", "linear or kernel", "labels", _DENSE_D, "S2 §2.1.1", LFDA),
    Method("MFA", "discriminant", "max L of rivals", "L of allies", "linear or kernel", "labels", _DENSE_D, "S2 §2.1.1", MFA),
    Method("DNE", "discriminant", "min L of allies − rivals", "projection", "linear or kernel", "labels", _DENSE_D, "S2 §2.1.1", DNE),
    Method("LDE", "discriminant", "max L of weighted rivals", "L of weighted allies", "linear or kernel", "labels", _DENSE_D, "Chen et al. 2005", LDE),
    Method("MMC", "discriminant", "max S_B − S_W", "projection", "linear or kernel", "labels", "n D² + D³", "S2 §3.2", MMC),
    Method("SupervisedPCA", "discriminant", "max H K_y H", "projection", "linear or kernel", "labels", "n D min(n, D)", "Barshan et al. 2011", SupervisedPCA, ("spca",)),
    Method("RoweisDA", "discriminant", "max r1 K_y + (1−r1) I", "r2 S_W + (1−r2) I", "linear or kernel", "labels", "n D min(n, D)", "Ghojogh et al. 2020", RoweisDA, ("rda",)),
    Method("SSLFDA", "semi-supervised", "LFDA + γ L of all points", "near pairs of a class", "linear or kernel", "some labels", "n² D, or " + _DENSE_D, "S2 §2.1.2", SSLFDA),
    Method("SSDNE", "semi-supervised", "DNE + γ L of all points", "projection", "linear or kernel", "some labels", "n² D, or " + _DENSE_D, "S2 §2.1.2", SSDNE),
    Method("SSMFA", "semi-supervised", "MFA + γ L of all points", "L of allies", "linear or kernel", "some labels", "n² D, or " + _DENSE_D, "S2 §2.1.2", SSMFA),
    Method("SSFDA", "semi-supervised", "min γ L of all points − S_B", "S_W", "linear or kernel", "some labels", "n² D, or " + _DENSE_D, "S2 §3.2", SSFDA),
    Method("SSMMC", "semi-supervised", "MMC − γ L of all points", "projection", "linear or kernel", "some labels", "n² D, or " + _DENSE_D, "S2 eq. 12", SSMMC),
    Method("SELFDA", "semi-supervised", "max (1−β) local S_B + β variance", "(1−β) local S_W + β I", "linear or kernel", "some labels", _DENSE_D, "S2 eq. 11", SELFDA, ("self",)),
    Method("SSDR", "semi-supervised", "max variance + α apart − β together", "projection", "linear or kernel", "some labels", "n D² + D³", "S0 eq. 46", SSDR),
    Method("SDA", "semi-supervised", "max S_B", "S_T + μ L", "linear or kernel", "some labels", _DENSE_D, "S0 eq. 47", SDA),
    Method("SDACCCP", "semi-supervised", "max S_B of labels found by CCCP", "total scatter", "linear or kernel", "some labels", "n D min(n, D)", "S0 §6.1", SDACCCP),
    Method("SODA", "semi-supervised", "max soft S_B / soft S_T", "projection", "linear or kernel", "some labels", _DENSE_D, "S0 §6.1", SODA),
    Method("MVU", "unfolding", "max tr K", "distances of neighbours", "samples", "none", "40 sparse factorisations of order n r", "S4 eq. 47", MVU, ("sde", "semidefiniteembedding")),
    Method("LandmarkMVU", "unfolding", "max tr QLQᵀ", "distances of neighbours", "samples", "none", "a sparse factorisation + q³ per step", "S4 eq. 89", LandmarkMVU, ("lmvu", "landmarksde")),
    Method("RelaxedMVU", "unfolding", "max tr K", "rescaled distances of near neighbours", "samples", "none", "as MVU", "S4 §8.2", RelaxedMVU),
    Method("LaplacianMVU", "unfolding", "max tr Y − ν Σ (v − d)²", "smooth embeddings", "samples", "none", "sparse eigenproblem + m⁶ per step", "Weinberger et al. 2007", LaplacianMVU),
    Method("ActionRespectingEmbedding", "unfolding", "max tr K", "distances of neighbours, equal under equal actions", "samples", "actions", "n³ + (nk)³ per step", "S4 eq. 79", ActionRespectingEmbedding, ("are",)),
    Method("SupervisedMVU", "unfolding", "max tr K, neighbours within classes", "distances of neighbours", "samples", "some labels", "as MVU", "S4 §6.1", SupervisedMVU),
    Method("SMVU1", "unfolding", "max tr K of each class, centred", "distances of neighbours and classes", "samples", "some labels", "n³ + (nk)³ per step", "S4 eq. 55", SMVU1),
    Method("SMVU2", "unfolding", "max c(σ_B − σ_W)", "distances of neighbours", "samples", "some labels", "n³ + (nk)³ per step", "S4 eq. 59", SMVU2, ("fishermvu",)),
    Method("ColoredMVU", "unfolding", "max tr(K H K_l H)", "distances of neighbours", "samples", "some labels", "n³ + (nk)³ per step", "S4 eq. 61", ColoredMVU, ("colouredmvu", "muhsic")),
    Method("FactorAnalysis", "external", "likelihood", "—", "linear", "none", "n D² per step", "scikit-learn", _external(FactorAnalysis), own=False),
    Method("FastICA", "external", "negentropy", "—", "linear", "none", "n D² per step", "scikit-learn", _external(FastICA, random_state=0), ("ica",), own=False),
    Method("NCA", "external", "leave-one-out accuracy", "—", "linear", "labels", "n² D per step", "scikit-learn", _external(NeighborhoodComponentsAnalysis, random_state=0), own=False),
    Method("TSNE", "external", "Kullback–Leibler", "—", "samples", "none", "n log n per step", "scikit-learn", _external(TSNE, random_state=0), ("t-sne",), own=False),
    Method("NonmetricMDS", "external", "stress of ranks", "—", "samples", "none", "n² per step", "scikit-learn", _external(MDS, **NONMETRIC, n_init=1, random_state=0), ("nmds",), own=False),
)
# fmt: on


def _key(name: str) -> str:
    if not isinstance(name, str):
        raise InputError(f"A method is known by its name, a string such as 'PCA'; got {name!r:.80}.")
    return name.lower().replace("-", "").replace("_", "").replace(" ", "")


_BY_NAME = {_key(alias): method for method in TABLE for alias in (method.name, *method.aliases)}


def methods() -> Any:
    """The table of methods, one row each: family, form, unit, basis, supervision, cost, source equation.

    Returns
    -------
    pandas.DataFrame
        Indexed by the name that `make` takes.

    Examples
    --------
    >>> import eigenspan
    >>> eigenspan.methods().loc["LPP", "form"]
    'min L'
    """
    import pandas as pd

    rows = [{k: v for k, v in asdict(method).items() if k not in ("build", "own")} for method in TABLE]
    table = pd.DataFrame(rows).set_index("name")
    table["aliases"] = [", ".join(aliases) for aliases in table["aliases"]]
    return table


def find(name: str) -> Method:
    """The table row of a method name or alias, upper or lower case, with or without hyphens."""
    method = _BY_NAME.get(_key(name))
    if method is None:
        near = difflib.get_close_matches(_key(name), _BY_NAME, n=1)
        hint = f" Did you mean {_BY_NAME[near[0]].name!r}?" if near else ""
        raise InputError(f"There is no method {name!r}.{hint} eigenspan.methods() lists all {len(TABLE)}.")
    return method


def make(name: str = "", /, *args: Any, **params: Any) -> Any:
    """An unfitted estimator by name.

    Parameters
    ----------
    name : str
        A name or alias of `methods`, upper or lower case.
    *args, **params
        Passed to the estimator.

    Returns
    -------
    estimator

    Examples
    --------
    >>> import eigenspan
    >>> eigenspan.make("lpp", 3, n_neighbors=5)
    LPP(n_components=3, n_neighbors=5)
    """
    return find(name).build(*args, **params)
