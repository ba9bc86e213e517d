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
        """Fit the model, and find the number of components unless it is given.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Columns of frames may be texts. Missing values (NaN, None) are integrated out.
        y : ignored

        Returns
        -------
        self
        """
        return self._fit(X)

    def predict(self, X):
        """The most probable component of each row.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
            From 0, the heaviest component first; the command counts from 1.
        """
        return self._labels(X)

    def fit_predict(self, X, y=None):
        """Fit the model, and predict the component of each row.

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
        """The probability of each component for each row.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_components_)
        """
        return self._probabilities(X)

    def sample(self, n_samples=1, random_state=None):
        """Draw rows.

        Parameters
        ----------
        n_samples : int, default=1
        random_state : int, RandomState instance, optional
            Default: that of the estimator.

        Returns
        -------
        X : ndarray or frame of shape (n_samples, n_features)
            In the form of the rows of the fit.
        y : ndarray of shape (n_samples,)
            The components that they are drawn from.
        """
        return self._sample(n_samples, random_state, labels=True)


class LatentMixture(_Mixture):
    """A mixture of distributions whose number of components is found.

    Parameters
    ----------
    n_components : int, optional
        Number of components. Default: it is found, up to `max_components`.
    family : str, optional
        ``"gaussian"``, ``"student-t"``, ``"poisson"``, ``"categorical"``, … or ``"auto"``: each column by its kind.
        Default: ``"gaussian"`` if all columns are measurements, with Student-t components compared; else ``"auto"``.
    covariance : str or list of str, optional
        ``"full"``, ``"tied"``, ``"diag"``, ``"spherical"``, a structure by its name in mclust, or several to be
        compared. Default: six structures are compared.
    columns : dict, optional
        Families of single columns by their names, where they differ from `family`.
    noise : bool, default=False
        Add a component of the same density everywhere, for outliers.
    unseen : {"error", "missing"}, default="error"
        What becomes of levels of categorical columns that the fit has not seen when components are predicted.
    max_components : int, optional
        Largest number of components, where it is found. Default: 10, twice as many while more than half of them are
        found.
    n_init : int, optional
        Independent starts. Default: 10 of small tables, else 1.
    method : str, optional
        ``"gfab"``, ``"fab"``, ``"em"``, ``"map"``, ``"vb"`` or ``"cvb0"``. Default: the command's for the table.
    criterion : str, optional
        Score that fits are compared by: ``"evidence"``, ``"gfic"``, ``"bic"``, ``"icl"``, … Default: the method's own.
    start : str, optional
        Initialisation: ``"kmeans"``, ``"random"``, ``"rows"``, … Default: several in turn.
    tol : float, optional
        Stop when an iteration changes the criterion by less, in nats a row. Default: 1e-9.
    max_iter : int, optional
        Largest number of iterations. Default: 10000.
    random_state : int, RandomState instance or None, default=1
        Seed of the starts. None draws one from NumPy's global generator.
    n_jobs : int, optional
        Threads. Default: one for each processor. Results do not depend on it.
    options : dict, optional
        Further flags of ``latent fit`` by their names, such as ``{"gate": ["age"]}``.

    Attributes
    ----------
    n_components_ : int
        Number of components.
    weights_ : ndarray of shape (n_components_,)
        Weights of the components, the largest first.
    means_ : ndarray of shape (n_components_, n_columns)
        Means; of Gaussian and Student-t components only.
    covariances_ : ndarray of shape (n_components_, n_columns, n_columns)
        Covariances, as full matrices; of Gaussian components only.
    columns_ : list of str
        The columns that the model describes, in the order of the parameters. Columns that identify rows, and of
        ``"auto"`` those of a single value, are left out with a warning; a `family` by its name keeps all.
    criteria_ : dict
        Every criterion of this fit that takes at most one pass, in nats; larger is better.
    evidence_, gfic_ : float or None
        Two of them.
    converged_ : bool
        Whether the best start converged.
    n_iter_ : int
        Iterations of the best start; 1 for a closed form.
    result_ : dict
        What ``latent fit --format json`` writes.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of str
        Their names, of frames.

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
    """Latent class analysis: classes of rows of codes or answers, whose number is found.

    Parameters
    ----------
    n_components : int, optional
        Number of classes. Default: it is found, up to `max_components`.
    family : str, default="categorical"
        ``"categorical"``, ``"ordinal"`` (numbers as ordered levels), ``"bernoulli"``, or ``"auto"``: each column by its
        kind.
    columns : dict, optional
        Families of single columns by their names, where they differ from `family`.
    unseen : {"error", "missing"}, default="error"
        What becomes of levels that the fit has not seen when classes are predicted.
    max_components : int, optional
        Largest number of classes, where it is found. Default: 10, twice as many while more than half of them are found.
    n_init : int, optional
        Independent starts. Default: 10 of small tables, else 1; 3 of method ``"cvb0"``.
    method : str, optional
        ``"cvb0"``, ``"gfab"``, ``"fab"``, ``"em"``, ``"map"`` or ``"vb"``. Default: the command's for the table.
    criterion : str, optional
        Score that fits are compared by: ``"evidence"``, ``"exacticl"``, ``"dnml"``, ``"bic"``, … Default: the method's
        own.
    tol : float, optional
        Stop when an iteration changes the criterion by less, in nats a row. Default: 1e-9.
    max_iter : int, optional
        Largest number of iterations. Default: 10000.
    random_state : int, RandomState instance or None, default=1
        Seed of the starts. None draws one from NumPy's global generator.
    n_jobs : int, optional
        Threads. Default: one for each processor. Results do not depend on it.
    options : dict, optional
        Further flags of ``latent fit`` by their names, such as ``{"weights": "count"}``.

    Attributes
    ----------
    n_components_ : int
        Number of classes.
    weights_ : ndarray of shape (n_components_,)
        Shares of the classes, the largest first.
    levels_ : dict
        The levels of each categorical column, by its name.
    level_probabilities_ : dict
        The probability of each level in each class, of shape (n_components_, n_levels), by the name of the column.
    columns_, criteria_, evidence_, gfic_, converged_, n_iter_, result_, n_features_in_, feature_names_in_
        As of :class:`LatentMixture`.
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
    """Numbers that add up to the rows of X, and are fewer, are lengths that were given by place, as of hmmlearn."""
    rows = np.shape(X)[0]
    if y is not None and len(y) < rows and np.sum(y) == rows:
        raise ValueError(f"y has {len(y)} numbers, and X {rows} rows: lengths go by keyword, lengths=[...]")


class HiddenMarkov(_Components, DensityMixin, Estimator):
    """A hidden Markov model whose number of states is found: rows that follow one another.

    Parameters
    ----------
    n_components : int, optional
        Number of states. Default: it is found, up to `max_components`.
    family : str, optional
        Family of the states: ``"gaussian"``, ``"poisson"``, ``"categorical"``, … or ``"auto"``: each column by its
        kind. Default: ``"gaussian"`` if all columns are measurements; else ``"auto"``.
    covariance : str or list of str, optional
        ``"full"``, ``"tied"``, ``"diag"``, ``"spherical"``, a structure by its name in mclust, or several to be
        compared.
    columns : dict, optional
        Families of single columns by their names, where they differ from `family`.
    left_right : int, optional
        Moves lead to the same state or up to so many states further, and never back.
    unseen : {"error", "missing"}, default="error"
        What becomes of levels of categorical columns that the fit has not seen when states are predicted.
    max_components : int, optional
        Largest number of states, where it is found. Default: 10, twice as many while more than half of them are found.
    n_init : int, optional
        Independent starts. Default: 10 of small tables, else 1.
    method : str, optional
        ``"gfab"``, ``"fab"``, ``"em"``, ``"map"`` or ``"vb"``. Default: ``"gfab"``.
    criterion : str, optional
        Score that fits are compared by: ``"evidence"``, ``"gfic"``, ``"bic"``, … Default: the method's own.
    start : str, optional
        Initialisation of the states, and after a comma what is assumed of the first state: ``"free"``, ``"uniform"``,
        ``"stationary"`` or ``"first"``.
    tol : float, optional
        Stop when an iteration changes the criterion by less, in nats a row. Default: 1e-9.
    max_iter : int, optional
        Largest number of iterations. Default: 10000.
    random_state : int, RandomState instance or None, default=1
        Seed of the starts. None draws one from NumPy's global generator.
    n_jobs : int, optional
        Threads. Default: one for each processor. Results do not depend on it.
    options : dict, optional
        Further flags of ``latent fit`` by their names.

    Attributes
    ----------
    n_components_ : int
        Number of states.
    startprob_ : ndarray of shape (n_components_,)
        Probabilities of the first state.
    transmat_ : ndarray of shape (n_components_, n_components_)
        Entry i, j is the probability of state j after state i.
    weights_ : ndarray of shape (n_components_,)
        Expected shares of the rows, the largest first.
    means_, covariances_, columns_, criteria_, evidence_, gfic_, converged_, n_iter_, result_
        As of :class:`LatentMixture`.
    n_features_in_, feature_names_in_
        As of :class:`LatentMixture`.

    Notes
    -----
    `lengths` are those of the sequences, as in hmmlearn: X has one below the other. Without them X is one sequence.
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
        """Fit the model, and find the number of states unless it is given.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Columns of frames may be texts. Missing values (NaN, None) are integrated out.
        y : ignored
        lengths : array-like of int, optional
            Rows of each sequence. Default: all rows are one.

        Returns
        -------
        self
        """
        _refuse_lengths(X, y)
        return self._fit(X, lengths)

    def predict(self, X, lengths=None):
        """The states on the most probable path (Viterbi).

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
        lengths : array-like of int, optional

        Returns
        -------
        ndarray of shape (n_samples,)
            From 0; the command counts from 1.
        """
        return self._labels(X, lengths)

    def predict_proba(self, X, lengths=None):
        """The probability of each state for each row, given its sequence.

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
        """Log-likelihood of each row given those before it in its sequence; the sum is that of the sequences.

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
        """Mean log-likelihood of the rows, as of scikit-learn's mixtures; hmmlearn's is the sum.

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
        """BIC in the form of hmmlearn, −2 ln L + d ln N: lower is better.

        Parameters
        ----------
        X : array-like or frame, optional
            Default: the rows of the fit; N of the transitions and of the start are their numbers then.
        lengths : array-like of int, optional

        Returns
        -------
        float
        """
        check_is_fitted(self)
        return self._criterion("bic", np.log, None if X is None else self._scores(X, lengths))

    def aic(self, X=None, lengths=None):
        """AIC in the form of hmmlearn, −2 ln L + 2 d: lower is better.

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
        """Draw a sequence.

        Parameters
        ----------
        n_samples : int, default=1
        random_state : int, RandomState instance, optional
            Default: that of the estimator.

        Returns
        -------
        X : ndarray or frame of shape (n_samples, n_features)
            In the form of the rows of the fit.
        y : ndarray of shape (n_samples,)
            The states that they are drawn from.
        """
        return self._sample(n_samples, random_state, labels=True)
