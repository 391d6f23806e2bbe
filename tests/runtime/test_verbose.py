"""Stages are printed when they begin."""

import pytest
from sklearn.datasets import make_swiss_roll

from eigenspan import LLE, LPP, MVU, SpectralClustering


@pytest.mark.parametrize(
    "estimator", [LLE(2), LPP(2), MVU(2, tol=0.2), SpectralClustering(3)], ids=lambda e: type(e).__name__
)
def test_stages_are_printed_when_asked_for(estimator, capsys):
    X = make_swiss_roll(120, random_state=0)[0]
    quiet = estimator.fit(X).embedding_.copy()
    assert capsys.readouterr().out == ""
    told = estimator.set_params(verbose=1).fit(X)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"[{type(estimator).__name__}]")
    assert any("neighbours" in line for line in lines)
    assert any("eigenproblem" in line for line in lines)
    assert (told.embedding_ == quiet).all()
