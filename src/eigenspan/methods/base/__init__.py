"""The contract of estimators, and what families of methods share."""
