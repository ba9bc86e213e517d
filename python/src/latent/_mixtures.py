"""Mixtures, latent classes and hidden Markov models."""

import numpy as np
from sklearn.base import DensityMixin
from sklearn.utils.validation import check_is_fitted

from ._base import Criteria, Estimator


class _Components:
    """Parameters of components, or of states."""

    def _take(self, result):
        super()._take(result)
        components = result["components"]
        self.weights_ = np.array([component["weight"] for component in components])
        families = {column["family"].partition("-")[0] for column in result["columns"]}
        values = [[column["values"] for column in component["columns"]] for component in components]
        vars(self).pop("means_", None)  # of an earlier fit
        vars(self).pop("covariances_", None)
        if families <= {"gaussian", "student"}:
            self.means_ = np.array([[one["mean"] for one in columns] for columns in values])
        if families == {"gaussian"}:
            self._take_covariances(result, values)

    def _take_covariances(self, result, values):
        self.covariances_ = np.array([np.diag([one["sd"] ** 2 for one in columns]) for columns in values])
        for block in result.get("covariances", []):
            at = [self.columns_.index(name) for name in block["names"]]
            k = block["component"] - 1 if "component" in block else slice(None)
            self.covariances_[k, np.array(at)[:, None], at] = block["values"]


class _Mixture(_Components, Criteria, DensityMixin, Estimator):
    """Mixtures of distributions."""

    def fit(self, X, y=None):
        """Fit the model. Find the number of components unless it is given.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Columns of a frame may be texts. Missing values (NaN, None) are integrated out.
        y : ignored

        Returns
        -------
        self
        """
        return self._fit(X)

    def predict(self, X):
        """Return the most probable component of each row.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
            Components from 0, in descending order of weight; the command counts from 1.
        """
        return self._labels(X)

    def fit_predict(self, X, y=None):
        """Fit the model, and return the component of each row.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self.fit(X).predict(X)

    def predict_proba(self, X):
        """Return the probability of each component for each row.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_components_)
        """
        return self._probabilities(X)

    def sample(self, n_samples=1, random_state=None):
        """Draw rows from the fitted model.

        Parameters
        ----------
        n_samples : int, default=1
        random_state : int, RandomState instance, optional
            Default: the estimator's `random_state`.

        Returns
        -------
        X : ndarray or frame of shape (n_samples, n_features)
            Of the same type as the X of the fit.
        y : ndarray of shape (n_samples,)
            The component that each row was drawn from.
        """
        return self._sample(n_samples, random_state, labels=True)


class LatentMixture(_Mixture):
    """A mixture of distributions that finds its number of components.

    Parameters
    ----------
    n_components : int, optional
        Number of components. By default the fit finds it, up to `max_components`.
    family : str, optional
        ``"gaussian"``, ``"student-t"``, ``"poisson"``, ``"categorical"``, … or ``"auto"``, which chooses a family for
        each column. Default: ``"gaussian"``, compared with ``"student-t"``, if all columns are measurements; otherwise
        ``"auto"``.
    covariance : str or list of str, optional
        ``"full"``, ``"tied"``, ``"diag"``, ``"spherical"``, the name of a structure in mclust, or a list to compare.
        By default the fit compares six structures.
    columns : dict, optional
        Families of single columns, by column name, if they differ from `family`.
    noise : bool, default=False
        Add a component with constant density, for outliers.
    unseen : {"error", "missing"}, default="error"
        In predictions, whether a level of a categorical column that the fit has not seen is an error or missing.
    max_components : int, optional
        Largest number of components that the fit may find. Default: 10, doubled while the largest tried are not
        clearly worse.
    n_init : int, optional
        Independent starts. Default: 10 for small tables, otherwise 1.
    method : str, optional
        ``"gfab"``, ``"fab"``, ``"em"``, ``"map"``, ``"vb"`` or ``"cvb0"``. By default the command chooses by the table.
    criterion : str, optional
        Criterion that compares fits: ``"evidence"``, ``"gfic"``, ``"bic"``, ``"icl"``, … Default: the method's own.
    start : str, optional
        Initialisation: ``"kmeans"``, ``"random"``, ``"rows"``, … Default: several in turn.
    tol : float, optional
        Stop when an iteration changes the criterion by less than this, in nats a row. Default: 1e-9.
    max_iter : int, optional
        Largest number of iterations. Default: 10000.
    random_state : int, RandomState instance or None, default=1
        Seed of the starts. None draws one from NumPy's global generator.
    n_jobs : int, optional
        Number of threads, which does not affect results. Default: one for each processor.
    options : dict, optional
        Further flags of ``latent fit``, by flag name, such as ``{"gate": ["age"]}``.

    Attributes
    ----------
    n_components_ : int
        Number of components.
    weights_ : ndarray of shape (n_components_,)
        Weights of the components, the largest first.
    means_ : ndarray of shape (n_components_, n_columns)
        Means; only for Gaussian and Student-t components.
    covariances_ : ndarray of shape (n_components_, n_columns, n_columns)
        Covariances, as full matrices; only for Gaussian components.
    columns_ : list of str
        The columns that the model describes, in the order of the parameters. Columns that identify rows and, with
        ``"auto"``, columns with a single value are left out with a warning. If `family` names a family, all columns are
        kept.
    criteria_ : dict
        Every criterion of this fit that needs at most one pass over the rows, in nats; larger is better.
    evidence_, gfic_ : float or None
        Two of these criteria.
    converged_ : bool
        Whether the best start converged.
    n_iter_ : int
        Iterations of the best start; 1 for a closed form.
    result_ : dict
        The output of ``latent fit --format json``.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns, if X is a frame.

    Examples
    --------
    >>> from latent import LatentMixture
    >>> from sklearn.datasets import load_iris
    >>> LatentMixture(n_init=3).fit(load_iris().data).n_components_
    2
    """

    _model = "mixture"

    def __init__(
        self,
        n_components=None,
        *,
        family=None,
        covariance=None,
        columns=None,
        noise=False,
        unseen="error",
        max_components=None,
        n_init=None,
        method=None,
        criterion=None,
        start=None,
        tol=None,
        max_iter=None,
        random_state=1,
        n_jobs=None,
        options=None,
    ):
        self.n_components = n_components
        self.family = family
        self.covariance = covariance
        self.columns = columns
        self.noise = noise
        self.unseen = unseen
        self.max_components = max_components
        self.n_init = n_init
        self.method = method
        self.criterion = criterion
        self.start = start
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.options = options


class LatentClasses(_Mixture):
    """Latent class analysis of codes or answers, which finds the number of classes.

    Parameters
    ----------
    n_components : int, optional
        Number of classes. By default the fit finds it, up to `max_components`.
    family : str, default="categorical"
        ``"categorical"``, ``"ordinal"`` (numbers as ordered levels), ``"bernoulli"``, or ``"auto"``, which chooses a
        family for each column.
    columns : dict, optional
        Families of single columns, by column name, if they differ from `family`.
    unseen : {"error", "missing"}, default="error"
        In predictions, whether a level that the fit has not seen is an error or missing.
    max_components : int, optional
        Largest number of classes that the fit may find. Default: 10, doubled while the largest tried are not
        clearly worse.
    n_init : int, optional
        Independent starts. Default: 10 for small tables, otherwise 1; 3 with method ``"cvb0"``.
    method : str, optional
        ``"cvb0"``, ``"gfab"``, ``"fab"``, ``"em"``, ``"map"`` or ``"vb"``. By default the command chooses by the table.
    criterion : str, optional
        Criterion that compares fits: ``"evidence"``, ``"exacticl"``, ``"dnml"``, ``"bic"``, … Default: the method's
        own.
    tol : float, optional
        Stop when an iteration changes the criterion by less than this, in nats a row. Default: 1e-9.
    max_iter : int, optional
        Largest number of iterations. Default: 10000.
    random_state : int, RandomState instance or None, default=1
        Seed of the starts. None draws one from NumPy's global generator.
    n_jobs : int, optional
        Number of threads, which does not affect results. Default: one for each processor.
    options : dict, optional
        Further flags of ``latent fit``, by flag name, such as ``{"weights": "count"}``.

    Attributes
    ----------
    n_components_ : int
        Number of classes.
    weights_ : ndarray of shape (n_components_,)
        Shares of the classes, the largest first.
    levels_ : dict
        The levels of each categorical column, by its name.
    level_probabilities_ : dict
        For each column name, the probability of each level in each class, of shape (n_components_, n_levels).
    columns_, criteria_, evidence_, gfic_, converged_, n_iter_, result_, n_features_in_, feature_names_in_
        As in :class:`LatentMixture`.
    """

    _model = "mixture"

    def __init__(
        self,
        n_components=None,
        *,
        family="categorical",
        columns=None,
        unseen="error",
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
        self.family = family
        self.columns = columns
        self.unseen = unseen
        self.max_components = max_components
        self.n_init = n_init
        self.method = method
        self.criterion = criterion
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.options = options

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags

    def _take(self, result):
        super()._take(result)
        self.levels_, self.level_probabilities_ = {}, {}
        for j, column in enumerate(result["columns"]):
            if column["family"] == "categorical":
                values = [component["columns"][j]["values"] for component in result["components"]]
                self.levels_[column["name"]] = column["levels"]
                self.level_probabilities_[column["name"]] = np.array(
                    [[one[level] for level in column["levels"]] for one in values]
                )


def _refuse_lengths(X, y):
    """Reject lengths passed as y, by position, as in hmmlearn: fewer numbers than rows, with the rows as their sum."""
    rows = np.shape(X)[0]
    if y is not None and len(y) < rows and np.sum(y) == rows:
        raise ValueError(f"y has {len(y)} numbers, but X has {rows} rows: pass lengths by keyword, lengths=[...]")


class HiddenMarkov(_Components, DensityMixin, Estimator):
    """A hidden Markov model of rows that follow one another, which finds the number of states.

    Parameters
    ----------
    n_components : int, optional
        Number of states. By default the fit finds it, up to `max_components`.
    family : str, optional
        Family of the states: ``"gaussian"``, ``"poisson"``, ``"categorical"``, … or ``"auto"``, which chooses a family
        for each column. Default: ``"gaussian"`` if all columns are measurements, otherwise ``"auto"``.
    covariance : str or list of str, optional
        ``"full"``, ``"tied"``, ``"diag"``, ``"spherical"``, the name of a structure in mclust, or a list to compare.
    columns : dict, optional
        Families of single columns, by column name, if they differ from `family`.
    left_right : int, optional
        Allow only moves to the same state or up to so many states further, never back.
    unseen : {"error", "missing"}, default="error"
        In predictions, whether a level of a categorical column that the fit has not seen is an error or missing.
    max_components : int, optional
        Largest number of states that the fit may find. Default: 10, doubled while the largest tried are not clearly worse.
    n_init : int, optional
        Independent starts. Default: 10 for small tables, otherwise 1.
    method : str, optional
        ``"gfab"``, ``"fab"``, ``"em"``, ``"map"`` or ``"vb"``. Default: ``"gfab"``.
    criterion : str, optional
        Criterion that compares fits: ``"evidence"``, ``"gfic"``, ``"bic"``, … Default: the method's own.
    start : str, optional
        Initialisation of the states and, after a comma, the assumption about the first state: ``"free"``,
        ``"uniform"``, ``"stationary"`` or ``"first"``.
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
    n_components_ : int
        Number of states.
    startprob_ : ndarray of shape (n_components_,)
        Probabilities of the first state.
    transmat_ : ndarray of shape (n_components_, n_components_)
        Entry i, j is the probability of state j after state i.
    weights_ : ndarray of shape (n_components_,)
        Expected share of the rows in each state, the largest first.
    means_, covariances_, columns_, criteria_, evidence_, gfic_, converged_, n_iter_, result_
        As in :class:`LatentMixture`.
    n_features_in_, feature_names_in_
        As in :class:`LatentMixture`.

    Notes
    -----
    `lengths` gives the number of rows of each sequence, as in hmmlearn: X has the sequences one below the other.
    Without `lengths`, X is one sequence.
    """

    _model = "hmm"

    def __init__(
        self,
        n_components=None,
        *,
        family=None,
        covariance=None,
        columns=None,
        left_right=None,
        unseen="error",
        max_components=None,
        n_init=None,
        method=None,
        criterion=None,
        start=None,
        tol=None,
        max_iter=None,
        random_state=1,
        n_jobs=None,
        options=None,
    ):
        self.n_components = n_components
        self.family = family
        self.covariance = covariance
        self.columns = columns
        self.left_right = left_right
        self.unseen = unseen
        self.max_components = max_components
        self.n_init = n_init
        self.method = method
        self.criterion = criterion
        self.start = start
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.options = options

    def _take(self, result):
        super()._take(result)
        self.startprob_ = np.array(result["params"]["start"])
        self.transmat_ = np.array(result["params"]["transitions"])

    def fit(self, X, y=None, lengths=None):
        """Fit the model. Find the number of states unless it is given.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Columns of a frame may be texts. Missing values (NaN, None) are integrated out.
        y : ignored
        lengths : array-like of int, optional
            Number of rows of each sequence. Default: X is one sequence.

        Returns
        -------
        self
        """
        _refuse_lengths(X, y)
        return self._fit(X, lengths)

    def predict(self, X, lengths=None):
        """Return the states on the most probable path (Viterbi).

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
        lengths : array-like of int, optional

        Returns
        -------
        ndarray of shape (n_samples,)
            States from 0; the command counts from 1.
        """
        return self._labels(X, lengths)

    def predict_proba(self, X, lengths=None):
        """Return the probability of each state for each row, given the whole sequence.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
        lengths : array-like of int, optional

        Returns
        -------
        ndarray of shape (n_samples, n_components_)
        """
        return self._probabilities(X, lengths)

    def score_samples(self, X, lengths=None):
        """Return the log-likelihood of each row given the previous rows of its sequence.

        The sum over the rows is the log-likelihood of the sequences.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
        lengths : array-like of int, optional

        Returns
        -------
        ndarray of shape (n_samples,)
            In nats.
        """
        return self._scores(X, lengths)

    def score(self, X, y=None, lengths=None):
        """Return the mean log-likelihood of a row, as scikit-learn's mixtures do; hmmlearn returns the sum.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
        y : ignored
        lengths : array-like of int, optional

        Returns
        -------
        float
            In nats a row.
        """
        _refuse_lengths(X, y)
        return float(np.mean(self._scores(X, lengths)))

    def bic(self, X=None, lengths=None):
        """Return BIC as hmmlearn does, −2 ln L + d ln N: lower is better.

        Parameters
        ----------
        X : array-like or frame, optional
            Default: the rows of the fit; transitions and start are then charged by their own numbers.
        lengths : array-like of int, optional

        Returns
        -------
        float
        """
        check_is_fitted(self)
        return self._criterion("bic", np.log, None if X is None else self._scores(X, lengths))

    def aic(self, X=None, lengths=None):
        """Return AIC as hmmlearn does, −2 ln L + 2 d: lower is better.

        Parameters
        ----------
        X : array-like or frame, optional
            Default: the rows of the fit.
        lengths : array-like of int, optional

        Returns
        -------
        float
        """
        check_is_fitted(self)
        return self._criterion("aic", lambda n: 2, None if X is None else self._scores(X, lengths))

    def sample(self, n_samples=1, random_state=None):
        """Draw a sequence from the fitted model.

        Parameters
        ----------
        n_samples : int, default=1
        random_state : int, RandomState instance, optional
            Default: the estimator's `random_state`.

        Returns
        -------
        X : ndarray or frame of shape (n_samples, n_features)
            Of the same type as the X of the fit.
        y : ndarray of shape (n_samples,)
            The state that each row was drawn from.
        """
        return self._sample(n_samples, random_state, labels=True)
