"""Models with latent variables, fitted by expectation and maximisation: rows with gaps, and mixtures of planes."""
