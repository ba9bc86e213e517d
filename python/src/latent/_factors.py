"""Factors, principal components and binary features: models with latent numbers for each row, not a component."""

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from ._base import Criteria, Estimator


class _Scored(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Criteria, Estimator):
    """Models with latent numbers for each row, not a component."""

    @property
    def _n_features_out(self):
        return self.n_components_

    def fit(self, X, y=None):
        """Fit the model. Find its size unless it is given.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        return self._fit(X)

    def transform(self, X):
        """Return the expected latent variables of each row.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_components_)
            For factors and principal components, their means given the row; for binary features, their probabilities.
        """
        return self._predict(r"(z|feature)\d+", X)

    def sample(self, n_samples=1, random_state=None):
        """Draw rows from the fitted model.

        Parameters
        ----------
        n_samples : int, default=1
        random_state : int, RandomState instance, optional
            Default: the estimator's `random_state`.

        Returns
        -------
        ndarray or frame of shape (n_samples, n_features)
            Of the same type as the X of the fit.
        """
        return self._sample(n_samples, random_state, labels=False)[0]


class _Linear(_Scored):
    """Gaussian factors of the columns."""

    def _take(self, result):
        super()._take(result)
        p = result["params"]
        self.mean_ = np.array(p["mean"])
        self.components_ = np.reshape(p["loadings"], (p["d"], p["k"])).T
        vars(self).pop("noise_variance_", None)  # of an earlier fit
        if np.size(p["noise"]) in (1, p["d"]):  # else there are blocks
            self.noise_variance_ = np.broadcast_to(p["noise"], p["d"]).astype(float)
        self.explained_variance_ratio_ = np.array(result["explained"])


class FactorAnalysis(_Linear):
    """Factor analysis that finds the number of factors.

    Parameters
    ----------
    n_components : int, optional
        Number of factors. By default the fit finds it, up to `max_components`.
    noise : {"diagonal", "isotropic"}, optional
        Variance of the noise: one for each column, or one for all. Default: ``"diagonal"``.
    rotation : {"varimax", "promax", "oblimin"}, optional
        Rotation of the loadings. Default: none; the factors are those of maximum likelihood.
    max_components : int, optional
        Largest number of factors that the fit may find. Default: as many as the covariance matrix identifies.
    method : str, optional
        ``"closed-form"``, ``"gfab"``, ``"fab"`` or ``"em"``. Default: ``"closed-form"``, or ``"gfab"`` if values
        are missing.
    criterion : str, optional
        Criterion that compares fits: ``"evidence"``, ``"gfic"``, ``"bic"``, … Default: the method's own.
    random_state : int, RandomState instance or None, default=1
        Seed of the starts. None draws one from NumPy's global generator.
    n_jobs : int, optional
        Number of threads, which does not affect results. Default: one for each processor.
    options : dict, optional
        Further flags of ``latent fit``, by flag name, such as ``{"tol": 1e-7}`` for methods that iterate.

    Attributes
    ----------
    n_components_ : int
        Number of factors.
    components_ : ndarray of shape (n_components_, n_columns)
        Loadings, in the units of the columns.
    noise_variance_ : ndarray of shape (n_columns,)
        Variances of the noise; absent with blocks of columns.
    mean_ : ndarray of shape (n_columns,)
    explained_variance_ratio_ : ndarray of shape (n_components_,)
        Share of the variance along each factor, for columns divided by their standard deviations.
    columns_, criteria_, evidence_, gfic_, converged_, n_iter_, result_, n_features_in_, feature_names_in_
        As in :class:`LatentMixture`.
    """

    _model = "factor"
    _least_features = 3  # a covariance matrix of two columns identifies no factor

    def __init__(
        self,
        n_components=None,
        *,
        noise=None,
        rotation=None,
        max_components=None,
        method=None,
        criterion=None,
        random_state=1,
        n_jobs=None,
        options=None,
    ):
        self.n_components = n_components
        self.noise = noise
        self.rotation = rotation
        self.max_components = max_components
        self.method = method
        self.criterion = criterion
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.options = options


class BayesianPCA(_Linear):
    """Bayesian principal component analysis that finds the number of components.

    Parameters
    ----------
    n_components : int, optional
        Number of components. By default the fit finds it, up to `max_components`.
    max_components : int, optional
        Largest number of components that the fit may find.
    method : str, optional
        ``"gfab"``, ``"fab"``, ``"em"``, ``"vb"`` or ``"closed-form"``. Default: ``"gfab"``.
    criterion : str, optional
        Criterion that compares fits: ``"gfic"``, ``"bic"``, … Default: the method's own.
    random_state : int, RandomState instance or None, default=1
        Seed of the starts. None draws one from NumPy's global generator.
    n_jobs : int, optional
        Number of threads, which does not affect results. Default: one for each processor.
    options : dict, optional
        Further flags of ``latent fit``, by flag name.

    Attributes
    ----------
    components_, noise_variance_, mean_, explained_variance_ratio_
        As in :class:`FactorAnalysis`, with one variance of the noise for all columns.
    n_components_, columns_, criteria_, evidence_, gfic_, converged_, n_iter_, result_, n_features_in_,
    feature_names_in_
        As in :class:`LatentMixture`.
    """

    _model = "bpca"
    _gaps = False
    _least_features = 2

    def __init__(
        self,
        n_components=None,
        *,
        max_components=None,
        method=None,
        criterion=None,
        random_state=1,
        n_jobs=None,
        options=None,
    ):
        self.n_components = n_components
        self.max_components = max_components
        self.method = method
        self.criterion = criterion
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.options = options


class BinaryFeatures(_Scored):
    """Binary features: each row has some of them, and each adds to the columns. The fit finds their number.

    Parameters
    ----------
    n_components : int, optional
        Number of features. By default the fit finds it, up to `max_components`.
    noise : {"diagonal", "isotropic"}, optional
        Variance of the noise: one for each column, or one for all. Default: ``"diagonal"``.
    max_components : int, optional
        Largest number of features that the fit may find.
    n_init : int, optional
        Independent starts. Default: 5.
    method : str, optional
        ``"gfab"``, ``"fab"`` or ``"em"``. Default: ``"gfab"``.
    criterion : str, optional
        Criterion that compares fits: ``"evidence"``, ``"gfic"``, ``"bic"``, … Default: the method's own.
    tol : float, optional
        Stop when an iteration changes the criterion by less than this, in nats a row. Default: 1e-9.
    max_iter : int, optional
        Largest number of iterations. Default: 10000.
    random_state : int, RandomState instance or None, default=1
        Seed of the starts. None draws one from NumPy's global generator.
    n_jobs : int, optional
        Number of threads, which does not affect results. Default: one for each processor.
    options : dict, optional
        Further flags of ``latent fit``, by flag name.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_columns)
        What each feature adds to the columns.
    offset_ : ndarray of shape (n_columns,)
        The mean of a row without features.
    weights_ : ndarray of shape (n_components_,)
        Share of the rows that have each feature.
    n_components_, columns_, criteria_, evidence_, gfic_, converged_, n_iter_, result_, n_features_in_,
    feature_names_in_
        As in :class:`LatentMixture`.
    """

    _model = "features"
    _gaps = False

    def __init__(
        self,
        n_components=None,
        *,
        noise=None,
        max_components=None,
        n_init=None,
        method=None,
        criterion=None,
        tol=None,
        max_iter=None,
        random_state=1,
        n_jobs=None,
        options=None,
    ):
        self.n_components = n_components
        self.noise = noise
        self.max_components = max_components
        self.n_init = n_init
        self.method = method
        self.criterion = criterion
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.options = options

    def _take(self, result):
        super()._take(result)
        p = result["params"]
        self.components_ = np.reshape(p["loadings"], (p["d"], p["k"])).T
        self.offset_ = np.array(p["offset"])
        self.weights_ = np.array(p["on"])
