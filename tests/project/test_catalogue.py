"""The table of methods names every method of the papers, and every public estimator but the tools around them."""

from __future__ import annotations

import inspect

import pytest

import eigenspan as es
from eigenspan.methods.registry import all_rows, find

#: Fitted, and no methods: any form, any reducer of another library, any classifier, any parameters.
TOOLS = {"TraceReducer", "External", "LabelledOnly", "RegularizedSearch"}

#: The methods of the papers as people write them, by the section of the field; what stands in brackets is a parameter of the method.
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
        row = find(name)
        assert not parameter or parameter in inspect.signature(row.build).parameters, entry


def test_every_public_estimator_is_in_the_table() -> None:
    public = {name: getattr(es, name) for name in es.__all__}
    fitted = {name for name, thing in public.items() if inspect.isclass(thing) and hasattr(thing, "fit")}
    listed = [row.name for row in all_rows()]
    assert len(set(listed)) == len(listed)
    assert {public[name].__name__ for name in fitted} - set(listed) == TOOLS
    assert {row.name for row in all_rows() if row.own} <= fitted  # nothing that is not public


def test_a_name_means_one_method() -> None:
    for row in all_rows():
        assert all(find(name) is row for name in (row.name, *row.aliases)), row.name


def test_facts_of_rows_that_state_them() -> None:
    """Of what the contract does not fit, where class and input say basis and supervision they agree with the row."""
    for name in ("PDDP", "EigenmapRegressor", "EigenmapClassifier"):
        row = find(name)
        cls = row.build
        kind = cls._input.y.kind if cls._input.y is not None else "none"
        assert row.supervision.endswith(kind), name
        assert (row.basis == "linear") == (cls._input.linear is True), name
