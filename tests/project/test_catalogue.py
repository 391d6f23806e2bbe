"""The table of methods has every method of the papers, and every public estimator except general tools."""

from __future__ import annotations

import inspect

import pytest

import eigenspan as es
from eigenspan.methods.base.table import Method
from eigenspan.methods.registry import all_rows, row_of

#: Estimators that are not methods: they work with any classifier or parameters.
TOOLS = {"LabelledOnly", "RegularizedSearch"}

#: Names of the methods in the papers, by section; parameters of the method are in brackets.
PUBLISHED = {
    "local": """Laplacian eigenmaps; LPP; OLPP; LLE; NPP; NPE; ONPP; modified LLE; Hessian LLE; LTSA; LLTSA; diffusion map; spectral
        clustering; commute-time embedding; conformal eigenmaps; LPP (kernel); OLPP (kernel); NPP (kernel); ONPP (kernel);
        LPP (weights); geodesic nullspace analysis; Laplacian eigenmaps (unit); eigenmap regressor; eigenmap classifier""",
    "global": """PCA; PPCA; mixture PPCA; classical MDS; landmark MDS; kernel PCA; kernel PCA (landmarks); Isomap; landmark Isomap;
        Isomap (conformal); kernel Isomap; ordinal Isomap; factor analysis; fast ICA; NCA; t-SNE; non-metric MDS; PDDP""",
    "supervised": """LDA; LDA (criterion); LDA (shrinkage); kFDA; LPP (graph); OLPP (graph); NPP (graph); ONPP (graph); MMC; LFDA; MFA; DNE;
        LDE; supervised PCA; supervised PCA (kernel); Roweis DA; oriented PCA; distortion discriminant analysis;
        supervised nonlinear local embedding""",
    "semi-supervised": """SS-LFDA; SS-DNE; SS-MFA; SS-FDA; SS-MMC; SELF; SDA; SDA (weights); SSDR; SODA; SDA-CCCP; anchored""",
    "two views": "CCA; kernel CCA; multiview CCA",
    "sufficient": """SIR; SAVE; pHd; directional regression; contour regression; LAD; KDR; gKDR; manifold KDR; contingency SDR""",
    "kernels": """MVU; MVU (constraint); supervised MVU; SMVU1; SMVU2; coloured MVU; action respecting embedding; relaxed MVU; landmark MVU;
        Laplacian MVU; maximum covariance unfolding; kernel learner; affinity learner""",
}


@pytest.mark.parametrize("field", PUBLISHED)
def test_every_published_method_is_in_the_table(field: str) -> None:
    for entry in (" ".join(part.split()) for part in PUBLISHED[field].split(";")):
        name, _, parameter = entry.rstrip(")").partition(" (")
        row = row_of(name)
        assert not parameter or parameter in inspect.signature(row.build).parameters, entry


def test_every_public_estimator_is_in_the_table() -> None:
    public = {name: getattr(es, name) for name in es.__all__}
    fitted = {name for name, thing in public.items() if inspect.isclass(thing) and hasattr(thing, "fit")}
    listed = [row.name for row in all_rows()]
    assert len(set(listed)) == len(listed)
    assert {public[name].__name__ for name in fitted} - set(listed) == TOOLS
    assert {row.name for row in all_rows() if row.own} <= fitted  # the table has only public names


def test_a_name_means_one_method() -> None:
    for row in all_rows():
        assert all(row_of(name) is row for name in (row.name, *row.aliases)), row.name


@pytest.mark.parametrize("row", all_rows(), ids=lambda row: row.name)
def test_every_row_has_a_title_of_its_own(row: Method) -> None:
    advice = f'{row.name} has no title: below @method write @known_as("Full name of the method", "other names; separated so")'
    assert row.title, advice
    assert row.title[0].isupper() or row.title[1] == "-", (
        f"{row.name}: the title {row.title!r} begins with a capital letter"
    )
    assert not row.title.endswith("."), f"{row.name}: the title {row.title!r} ends without a full stop"
    same = [other.name for other in all_rows() if other.title == row.title and other is not row]
    assert same == [], f"{row.name} has the title of {same}"


def test_facts_of_rows_that_state_them() -> None:
    """Rows that state basis and supervision explicitly agree with the class and its input, if these determine them."""
    for name in ("PDDP", "EigenmapRegressor", "EigenmapClassifier"):
        row = row_of(name)
        cls = row.build
        kind = cls._input.y.kind if cls._input.y is not None else "none"
        assert row.supervision.endswith(kind), name
        assert (row.basis == "linear") == (cls._input.linear is True), name
