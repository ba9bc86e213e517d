"""The base of all estimators: a fit by the command, and calls of the saved model."""

import csv
import html
import io
import json
import os
import re
import tempfile
import zlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _command

# Flags that are called otherwise than the parameters.
FLAGS = {"n_components": "k", "max_components": "kmax", "n_init": "restarts", "covariance": "cov", "rotation": "rotate"}
PARAMETERS = {flag: name for name, flag in FLAGS.items()} | {"seed": "random_state", "workers": "n_jobs"}


def _flag(name, value):
    """Arguments that set a flag to a value; none if the value is None or False."""
    if value is None or value is False:
        return []
    flag = "--" + FLAGS.get(name, name).replace("_", "-")
    if value is True:
        return [flag]
    if isinstance(value, dict):
        value = [f"{_item(key)}={one}" for key, one in value.items()]
    elif isinstance(value, (list, tuple)):
        value = [_item(one) for one in value]
    else:
        value = [str(value)]
    return [f"{flag}={','.join(value)}"]


def _item(name):
    """A name for a list of names, with its commas escaped."""
    return str(name).replace("\\", "\\\\").replace(",", "\\,")


def _check_options(options, parameters):
    """Reject options that the estimator itself sets."""
    if not isinstance(options, dict):
        raise ValueError(f"options is of type {type(options).__name__}; must be a dict of flags by name")
    for name in options:
        flag = str(name).replace("-", "_")
        if PARAMETERS.get(flag, flag) in parameters:
            raise ValueError(f"options: set {name!r} by the parameter {PARAMETERS.get(flag, flag)}")
        if flag in ("data", "format", "out", "report", "model", "sequence", "quiet", "help"):
            raise ValueError(f"options: the estimator sets {name!r}: leave it out")


def _check_table(X):
    """Reject what is not a table, and say what to do."""
    advice = None
    if isinstance(X, (str, os.PathLike)):
        advice = "read the table first, for example by pandas.read_csv"
    elif type(X) is dict:
        advice = "pass pandas.DataFrame(X)"
    elif hasattr(X, "to_frame") and not hasattr(X, "columns"):
        advice = "pass X.to_frame(), or X.to_frame().T if it is a row"
    if advice:
        raise ValueError(f"X is of type {type(X).__name__}; must be a table of rows and columns: {advice}")
    names = _columns_of(X)
    for name in names or ():
        if names.count(name) > 1:
            raise ValueError(f"X: two columns are called {name!r}: rename one")


def _columns_of(X):
    """The names of the columns of a frame, if all are texts."""
    names = list(getattr(X, "column_names", getattr(X, "columns", ())))
    return names if names and all(isinstance(name, str) for name in names) else None


def _seed(random_state):
    if not isinstance(random_state, (int, np.integer)):
        random_state = check_random_state(random_state).randint(2**31 - 1)
    return _flag("seed", random_state)


def _is_text(kind):
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


class Report:
    """A page about a fit, or about how rows compare with those of the fit. A notebook shows it.

    Attributes
    ----------
    html : str
        The page. It needs no other file and no network.
    """

    def __init__(self, html):
        self.html = html

    def save(self, path):
        """Write the page to a file."""
        Path(path).write_text(self.html, encoding="utf-8")

    def _repr_html_(self):
        page = html.escape(self.html, quote=True)
        return f'<iframe srcdoc="{page}" title="latent" sandbox="allow-scripts" width="100%" height="800"></iframe>'


class Estimator(BaseEstimator):
    """The base of all models: a fit by the command. It keeps the model file as bytes."""

    _least_features = 1
    _gaps = True  # missing values are integrated out

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._gaps
        return tags

    def _table(self, X, fits):
        """X as an Arrow table."""
        _check_table(X)
        names = None if fits else self._part(X)
        if hasattr(X, "__arrow_c_stream__") or hasattr(X, "__dataframe__"):
            if names is None:
                validate_data(self, X, reset=fits, skip_check_array=True)
            table = self._of_frame(X, names)
        else:
            checks = {
                "dtype": None,
                "ensure_all_finite": "allow-nan" if self._gaps else True,
                "ensure_min_samples": 2 if fits else 1,
                "ensure_min_features": self._least_features if fits else 1,
            }
            X = validate_data(self, X, reset=fits, **checks) if names is None else check_array(X, **checks)
            names = names or self._names(X.shape[1])
            table = pa.table([_column(X[:, j]) for j in range(X.shape[1])], names=names)
        for name, column in zip(table.column_names, table.columns):
            if pa.types.is_floating(column.type) and pa.compute.any(pa.compute.is_inf(column)).as_py():
                raise ValueError(f"Input X contains infinity, in column {name!r}.")
        return table

    def _part(self, X):
        """Names for the columns of X, if they differ from those of the fit but include all that the model describes."""
        described = [name for name in self._names(self.n_features_in_) if name in self.columns_]
        names = _columns_of(X)
        if names and hasattr(self, "feature_names_in_"):
            used = [name for name in names if name in described]
            if self._loaded:  # from a file, which does not say what else the table had, and in which order
                return names if set(used) == set(described) else None
            known = names != list(self.feature_names_in_) and set(names) <= set(self.feature_names_in_)
            return names if known and used in (described, self.columns_) else None
        shape = getattr(X, "shape", ())
        width = shape[1] if len(shape) == 2 else self.n_features_in_
        if width == self.n_features_in_:
            return None
        if width == len(described):
            return described
        all_names = [f"x{j}" for j in range(width)]  # of an array
        return all_names if self._loaded and set(described) <= set(all_names) else None

    def _of_frame(self, X, names):
        try:
            if type(X).__module__.startswith("pandas"):
                table = pa.Table.from_pandas(X, preserve_index=False)
            else:
                table = pa.table(X)
        except (pa.ArrowException, TypeError) as error:
            for name, values in X.items() if hasattr(X, "items") else ():
                kinds = sorted({type(value).__name__ for value in values if value is not None and value == value})
                if values.dtype == object and len(kinds) > 1:
                    raise ValueError(
                        f"X: column {name!r} has values of several types ({', '.join(kinds)}): convert it, by "
                        "X[column].astype(str) or pandas.to_numeric"
                    ) from error
            raise ValueError(f"X: {': '.join(map(str, error.args))}") from error
        return table.rename_columns(names or self._names(table.num_columns))

    def _names(self, n):
        """Names of the columns on the pipe."""
        return list(getattr(self, "feature_names_in_", [f"x{j}" for j in range(n)]))

    def _with_sequences(self, table, lengths):
        """The table with an added column that says which sequence a row belongs to, and the flag that names it."""
        if lengths is None:
            return table, []
        lengths = np.asarray(lengths)
        if lengths.ndim != 1 or lengths.dtype.kind not in "iu" or (lengths < 1).any() or lengths.sum() != len(table):
            raise ValueError(
                f"lengths are {lengths}; must be positive integers with the sum {len(table)}, the number of rows of X"
            )
        name = "sequence"
        while name in table.column_names:
            name += "_"
        return table.append_column(name, pa.array(np.repeat(np.arange(len(lengths)), lengths))), _flag("sequence", name)

    def _fit(self, X, lengths=None):
        table = self._table(X, fits=True)
        parameters = self.get_params()
        seed, jobs = parameters.pop("random_state"), parameters.pop("n_jobs")
        options = parameters.pop("options") or {}
        _check_options(options, self.get_params())
        parameters.pop("unseen", None)
        if self.n_components is not None:
            parameters.pop("max_components")
        flags = [*_seed(seed), *_flag("workers", None if jobs is None else max(jobs, 0)), *_flag("model", self._model)]
        for name, value in {**parameters, **options}.items():
            flags += _flag(name, value)
        selects = _flag("select", table.column_names)
        if not hasattr(self, "feature_names_in_") and len(selects[0]) < 2**14:  # systems bound the length of arguments
            flags += selects  # else measurements that identify rows are left out
        sent, sequence = self._with_sequences(table, lengths)
        with tempfile.TemporaryDirectory() as folder:
            model, report = os.path.join(folder, "model.json"), os.path.join(folder, "report")
            wrote = _command.run(
                ["fit", "--data=-", "--format=json", f"--out={model}", f"--report={report}", *flags, *sequence], sent
            )
            self._saved = Path(model).read_bytes()
            self._page = zlib.compress(Path(report, "index.html").read_bytes())
        self._texts = [field.name for field in table.schema if _is_text(field.type)]
        self._loaded = False
        self._form = type(X).__module__.partition(".")[0] if hasattr(X, "columns") else "numpy"
        self._take(json.loads(wrote))
        return self

    def _take(self, result):
        """Set the attributes from the command's description of a fit."""
        self.result_ = result
        self.columns_ = [column["name"] for column in result["columns"]]
        self.n_components_ = result["k"]
        self.converged_ = result["converged"]
        self.n_iter_ = max(result["iterations"], 1)
        self.criteria_ = result["criteria"]
        self.evidence_ = result["criteria"].get("evidence")
        self.gfic_ = result["criteria"].get("gfic")

    def _run(self, command, *args, table=None):
        """The output of a command for the saved model."""
        with tempfile.TemporaryDirectory() as folder:
            model = os.path.join(folder, "model.json")
            Path(model).write_bytes(self._saved)
            try:
                return _command.run([command, model, "--quiet", *args], table)
            except ValueError as error:
                raise ValueError(str(error).replace(model, "the model")) from None

    def _predict(self, pattern, X, lengths=None, *args):
        """The columns of the command's predictions whose names match the pattern, as an array."""
        check_is_fitted(self)
        table, sequence = self._with_sequences(self._table(X, fits=False), lengths)
        unseen = _flag("unseen", getattr(self, "unseen", None))
        wrote = self._run("predict", "--data=-", *sequence, *unseen, *args, table=table)
        head = next(csv.reader(io.TextIOWrapper(io.BytesIO(wrote), "utf-8")))
        names = [name for name in head if re.fullmatch(pattern, name)]
        of = pa.csv.ConvertOptions(include_columns=names, column_types={name: pa.float64() for name in names})
        predicted = pa.csv.read_csv(io.BytesIO(wrote), convert_options=of)
        return np.column_stack([column.to_numpy() for column in predicted.columns])

    def _labels(self, X, lengths=None):
        return self._predict("label|state", X, lengths).ravel().astype(int) - 1

    def _probabilities(self, X, lengths=None):
        return self._predict(r"p\d+", X, lengths)

    def _scores(self, X, lengths=None):
        return self._predict("log_(likelihood|likelihood_bound|predictive)", X, lengths).ravel()

    def _sample(self, n_samples, random_state, labels):
        """Rows of the same type as those of the fit, and the components that they were drawn from."""
        check_is_fitted(self)
        seed = _seed(self.random_state if random_state is None else random_state)
        drawn = self._run("sample", *_flag("rows", n_samples), *seed, *_flag("labels", labels))
        types = {name: pa.string() for name in self._texts}
        table = pa.csv.read_csv(io.BytesIO(drawn), convert_options=pa.csv.ConvertOptions(column_types=types))
        y = table.column(table.num_columns - 1).to_numpy() - 1 if labels else None
        X = table.select([name for name in self._names(self.n_features_in_) if name in self.columns_])
        if self._form == "pandas":
            return X.to_pandas(), y
        if self._form == "numpy":
            kind = object if any(_is_text(column.type) for column in X.columns) else float
            return np.column_stack([column.to_numpy().astype(kind) for column in X.columns]), y
        return X, y

    def _criterion(self, name, penalty, scores):
        if self.result_[name] is None:
            raise ValueError(f"{name} is not available with method {self.result_['method']}: see criteria_")
        if scores is None:
            return -2 * self.result_[name]
        return -2 * scores.sum() + self.result_["df"] * penalty(len(scores))

    def report(self, X=None):
        """Return a page about the fit or, with X, about how its rows compare with those of the fit.

        A notebook shows the page.

        Parameters
        ----------
        X : array-like or frame, optional

        Returns
        -------
        Report
        """
        check_is_fitted(self)
        if X is None:
            if self._page is None:
                raise ValueError("a model file has no page about its fit: pass X, or fit again")
            return Report(zlib.decompress(self._page).decode())
        with tempfile.TemporaryDirectory() as folder:
            self._predict("", X, None, f"--report={folder}")
            return Report(Path(folder, "index.html").read_text(encoding="utf-8"))

    def save(self, path):
        """Write the model file, for ``latent predict`` and :func:`latent.load`.

        Parameters
        ----------
        path : str or path
        """
        check_is_fitted(self)
        Path(path).write_bytes(self._saved)


def _column(values):
    """A column of an array: as texts if it has any, otherwise as numbers."""
    if values.dtype.kind in "OUS":
        values = [np.nan if value is None else value for value in values.tolist()]
        try:
            values = [float(value) for value in values]
        except ValueError:
            return pa.array([None if value != value else str(value) for value in values], pa.string())
    return pa.array(np.asarray(values, dtype=np.float64), from_pandas=True)


class Criteria:
    """Criteria as scikit-learn defines them, for models whose rows are independent."""

    def bic(self, X=None):
        """Return BIC as scikit-learn does, −2 ln L + d ln N: lower is better. ``criteria_`` has −½ times this.

        Parameters
        ----------
        X : array-like or frame, optional
            Default: the rows of the fit.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        return self._criterion("bic", np.log, None if X is None else self._scores(X))

    def aic(self, X=None):
        """Return AIC as scikit-learn does, −2 ln L + 2 d: lower is better. ``criteria_`` has −½ times this.

        Parameters
        ----------
        X : array-like or frame, optional
            Default: the rows of the fit.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        return self._criterion("aic", lambda n: 2, None if X is None else self._scores(X))

    def score_samples(self, X):
        """Return the log-likelihood of each row.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
            In nats.
        """
        return self._scores(X)

    def score(self, X, y=None):
        """Return the mean log-likelihood of the rows.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        float
            In nats a row.
        """
        return float(np.mean(self._scores(X)))
