"""All estimators, and estimators from model files."""

import json
from pathlib import Path

import numpy as np

from ._base import Report
from ._command import LatentWarning
from ._factors import BayesianPCA, BinaryFeatures, FactorAnalysis
from ._mixtures import HiddenMarkov, LatentClasses, LatentMixture

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

MODELS = {"mixture": LatentMixture, "bernmix": LatentClasses} | {
    model._model: model for model in (HiddenMarkov, FactorAnalysis, BayesianPCA, BinaryFeatures)
}


def load(path):
    """Return the estimator of a model file, which ``save`` or ``latent fit --out`` wrote.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    estimator
        A fitted estimator with default parameters. A model file does not contain the page about its fit.
    """
    saved = Path(path).read_bytes()
    try:
        result = json.loads(saved)
        kind, columns = MODELS[result["model"]], result["columns"]
    except (ValueError, TypeError, KeyError):
        raise ValueError(f"{path} is not a model file of {', '.join(MODELS)}") from None
    if kind is LatentMixture and all(column["family"] == "categorical" for column in columns):
        kind = LatentClasses
    model = kind()
    model._saved, model._page, model._form, model._loaded = saved, None, "numpy", True
    model._texts = [column["name"] for column in columns if not _are_numbers(column.get("levels", []))]
    model._take(result)
    model.n_features_in_ = len(model.columns_)
    if model.columns_ != [f"x{j}" for j in range(len(model.columns_))]:
        model.feature_names_in_ = np.array(model.columns_, dtype=object)
    return model


def _are_numbers(levels):
    try:
        np.array(levels, dtype=float)
    except ValueError:
        return False
    return True
