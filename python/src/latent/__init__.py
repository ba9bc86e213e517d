"""Latent variable models that choose their own size: mixtures, latent classes, hidden Markov models, factors.

The estimators have scikit-learn's methods. They call the command ``latent``, which the package contains: tables go to
it by Arrow on a pipe, and results are those of the command.
"""

import importlib

__all__ = [
    "BayesianPCA",
    "BinaryFeatures",
    "FactorAnalysis",
    "HiddenMarkov",
    "LatentClasses",
    "LatentMixture",
    "LatentWarning",
    "Report",
    "load",
]


def __getattr__(name):  # scikit-learn is imported when it is needed, and not by the command
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("._models", __name__), name)


def __dir__():
    return __all__
