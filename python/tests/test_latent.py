"""The estimators: scikit-learn's checks, the command's numbers, formulas written once more, and what is refused."""

import csv
import html
import io
import json
import os
import pickle
import re
import subprocess
import sys
import warnings
from pathlib import Path

os.environ["SCIPY_ARRAY_API"] = "1"  # before SciPy is imported: else a check is skipped

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import check_estimator

import latent
from latent import _command
from latent import BayesianPCA, BinaryFeatures, FactorAnalysis, HiddenMarkov, LatentClasses, LatentMixture

TWO = "the covariance matrix of two columns identifies no factor"
CHECKED = [
    (LatentMixture(n_init=1), {}),
    (LatentMixture(2, family="auto", n_init=1), {}),
    (LatentClasses(), {}),
    (
        HiddenMarkov(n_init=1),
        {},
    ),  # the checks about the order of rows set n_components to 1, where rows are independent
    (
        FactorAnalysis(),
        {
            "check_estimators_overwrite_params": TWO,
            "check_estimators_fit_returns_self": TWO,
            "check_readonly_memmap_input": TWO,
            "check_fit_idempotent": TWO,
            "check_fit_check_is_fitted": TWO,
            "check_n_features_in": TWO,
        },
    ),
    (BayesianPCA(), {}),
    (BinaryFeatures(n_init=1, max_components=3), {}),
]


@pytest.mark.parametrize("estimator, inapplicable", CHECKED, ids=[str(estimator) for estimator, _ in CHECKED])
def test_estimator_passes_the_checks_of_scikit_learn(estimator, inapplicable):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(estimator, expected_failed_checks=inapplicable, on_skip=None)
    assert {r["check_name"] for r in results if r["status"] == "xfail"} == set(inapplicable)
    assert {r["status"] for r in results} <= {"passed", "xfail"}
    assert len(results) >= 40


def blobs(n=300, columns=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, columns)) + 4 * (np.arange(n) % 2)[:, None] * np.arange(1, columns + 1) / columns


def answers(n=400):
    """Rows of two classes, in columns of all kinds, with gaps."""
    rng = np.random.default_rng(1)
    kind = rng.integers(2, size=n)
    frame = pd.DataFrame(
        {
            "person": np.arange(1, n + 1),
            "visits": rng.poisson(2 + 8 * kind),
            "paid": np.where(rng.random(n) < 0.2 + 0.6 * kind, "yes", "no"),
            "minutes": 20 + 30 * kind + 3 * rng.normal(size=n),
        }
    )
    frame.loc[3, "minutes"] = np.nan
    frame.loc[5, "paid"] = None
    return frame, kind


def latent_command(*args):
    return subprocess.run([_command.PATH, *args], check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize(
    "estimator, flags",
    [
        (LatentMixture(random_state=7), []),
        (
            LatentMixture(3, covariance=["EEE", "VVV"], n_init=2, random_state=7),
            ["--k=3", "--cov=EEE,VVV", "--restarts=2"],
        ),
        (
            LatentMixture(
                columns={"b, c": "lognormal"},
                max_components=4,
                criterion="bic",
                method="em",
                n_init=1,
                random_state=7,
                n_jobs=1,
            ),
            [r"--columns=b\, c=lognormal", "--kmax=4", "--criterion=bic", "--method=em", "--restarts=1", "--workers=1"],
        ),
        (HiddenMarkov(options={"prior": {"rows": 2}}, random_state=7), ["--model=hmm", "--prior=rows=2"]),
        (FactorAnalysis(1, rotation="varimax", random_state=7), ["--model=factor", "--k=1", "--rotate=varimax"]),
        (
            BinaryFeatures(noise="isotropic", n_init=2, random_state=7),
            ["--model=features", "--noise=isotropic", "--restarts=2"],
        ),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, list) else "",
)
def test_values_are_those_of_the_command(estimator, flags, tmp_path):
    frame = pd.DataFrame(np.exp(blobs() / 4), columns=["a", "b, c", "d"])
    table, model = tmp_path / "table.csv", tmp_path / "model.json"
    frame.to_csv(table, index=False)
    report = json.loads(latent_command("fit", f"--data={table}", f"--out={model}", "--seed=7", "--format=json", *flags))
    estimator.fit(frame)
    for result in report, estimator.result_:
        result.pop("seconds")
        result.pop("warnings")  # which have the name of the table
    assert estimator.result_ == report
    estimator.save(tmp_path / "saved.json")
    without_warnings = [
        re.sub(r'"warnings":\[.*?\]|"checksum":"\w+"', "", (tmp_path / name).read_text())
        for name in ("saved.json", "model.json")
    ]
    assert without_warnings[0] == without_warnings[1]

    lines = csv.DictReader(io.StringIO(latent_command("predict", str(model), f"--data={table}")))
    predicted = pd.DataFrame(list(lines)).map(float)
    assert (estimator.score_samples(frame) == predicted.filter(regex="^log_").iloc[:, 0]).all()
    if hasattr(estimator, "predict"):
        assert (estimator.predict_proba(frame) == predicted.filter(regex=r"^p\d")).all(axis=None)
        assert (estimator.predict(frame) + 1 == predicted.filter(regex="label|state").iloc[:, 0]).all()
    else:
        assert (estimator.transform(frame) == predicted.filter(regex=r"^(z|feature)\d")).all(axis=None)


@pytest.mark.parametrize("covariance", [None, "full", "tied", "diag", "spherical", "VVE"])
def test_densities_are_those_of_scikit_learn(covariance):
    X = blobs()
    model = LatentMixture(covariance=covariance).fit(X)
    other = GaussianMixture(model.n_components_)
    other.weights_, other.means_, other.covariances_ = model.weights_, model.means_, model.covariances_
    other.precisions_cholesky_ = np.linalg.cholesky(np.linalg.inv(model.covariances_))
    np.testing.assert_allclose(model.score_samples(X), other.score_samples(X), rtol=1e-10)
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), atol=1e-10)
    np.testing.assert_array_equal(model.predict(X), other.predict(X))
    assert model.score(X) == pytest.approx(other.score(X))
    assert model.n_components_ == 2
    if covariance == "full":  # else they count other parameters
        assert model.bic(X) == pytest.approx(other.bic(X))
        assert model.aic(X) == pytest.approx(other.aic(X))
        assert model.bic() == pytest.approx(model.bic(X))
        assert model.aic() == pytest.approx(model.aic(X))


def forward(model, X):
    """ln p(x_t | x_1 … x_{t−1}), and where the chain is at the end."""
    density = np.array([multivariate_normal(m, c).pdf(X) for m, c in zip(model.means_, model.covariances_)]).T
    state, scores = model.startprob_, []
    for row in density:
        joint = state * row
        scores.append(np.log(joint.sum()))
        state = joint / joint.sum() @ model.transmat_
    return scores


def test_sequences_of_a_markov_chain_are_apart():
    rng = np.random.default_rng(2)
    states = np.repeat(rng.integers(2, size=40), 10)
    X = rng.normal(size=(400, 2)) + 3 * states[:, None]
    model = HiddenMarkov(random_state=3).fit(X, lengths=[150, 250])
    assert model.n_components_ == 2
    scores = model.score_samples(X, lengths=[150, 250])
    np.testing.assert_allclose(scores, forward(model, X[:150]) + forward(model, X[150:]), rtol=1e-9)
    assert scores.sum() == pytest.approx(model.result_["loglik"])
    assert model.score(X, lengths=[150, 250]) == pytest.approx(scores.mean())
    assert model.bic(X, [150, 250]) == pytest.approx(-2 * scores.sum() + model.result_["df"] * np.log(400))
    assert model.aic(X, [150, 250]) == pytest.approx(model.aic())
    parts = [model.predict_proba(part) for part in (X[:150], X[150:])]
    np.testing.assert_array_equal(model.predict_proba(X, lengths=[150, 250]), np.concatenate(parts))
    parts = [model.predict(part) for part in (X[:150], X[150:])]
    np.testing.assert_array_equal(model.predict(X, lengths=[150, 250]), np.concatenate(parts))
    assert np.mean(model.predict(X) == states) in (pytest.approx(0, abs=0.03), pytest.approx(1, abs=0.03))
    named = pd.DataFrame(X, columns=["sequence", "sequence_"])  # of columns of the data
    assert HiddenMarkov(2).fit(named, lengths=[150, 250]).result_["loglik"] == pytest.approx(
        HiddenMarkov(2).fit(X, lengths=[150, 250]).result_["loglik"]
    )
    for lengths in ([150], [0, 400], [150.0, 250.0], [[150, 250]], "abc"):
        with pytest.raises(ValueError, match="positive integers with the sum 400"):
            model.predict(X, lengths=lengths)


@pytest.mark.parametrize("estimator", [FactorAnalysis(), FactorAnalysis(2, noise="isotropic"), BayesianPCA()])
def test_factors_are_those_of_the_formulas(estimator):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(300, 2)) @ rng.normal(size=(2, 6)) + 0.5 * rng.normal(size=(300, 6)) + 10
    model = clone(estimator).fit(X)
    assert model.n_components_ == 2
    covariance = model.components_.T @ model.components_ + np.diag(model.noise_variance_)
    np.testing.assert_allclose(
        model.score_samples(X), multivariate_normal(model.mean_, covariance).logpdf(X), rtol=1e-9
    )
    scores = (X - model.mean_) @ np.linalg.solve(covariance, model.components_.T)
    np.testing.assert_allclose(model.transform(X), scores, atol=1e-9)
    assert model.explained_variance_ratio_.sum() > 0.5
    frame = model.set_output(transform="pandas").transform(X)
    assert list(frame.columns) == [f"{type(model).__name__.lower()}{k}" for k in range(2)]
    drawn = model.sample(20_000, random_state=1)
    np.testing.assert_allclose(np.cov(drawn.T), covariance, atol=0.1 * covariance.max())


def test_binary_features_are_those_of_the_formulas():
    rng = np.random.default_rng(5)
    X = (
        5 * rng.integers(2, size=(300, 1)) * [1, 1, 0]
        + 5 * rng.integers(2, size=(300, 1)) * [0, 1, -1]
        + rng.normal(size=(300, 3))
    )
    model = BinaryFeatures(n_init=2, noise="isotropic").fit(X)
    assert model.n_components_ == 2
    joint = []
    for on in np.ndindex(2, 2):
        prior = np.prod(np.where(on, model.weights_, 1 - model.weights_))
        noise = np.broadcast_to(model.result_["params"]["noise"], 3)
        joint.append(prior * multivariate_normal(model.offset_ + on @ model.components_, np.diag(noise)).pdf(X))
    joint = np.array(joint)
    np.testing.assert_allclose(model.score_samples(X), np.log(joint.sum(0)), rtol=1e-9)
    has = np.array([joint[2] + joint[3], joint[1] + joint[3]]) / joint.sum(0)
    np.testing.assert_allclose(model.transform(X), has.T, atol=1e-9)


def test_frames_have_texts_gaps_and_identifiers(tmp_path):
    frame, kind = answers()
    with pytest.warns(latent.LatentWarning, match='left out as numbers of the rows: "person"'):
        model = LatentMixture().fit(frame)
    assert model.n_components_ == 2
    assert model.columns_ == ["visits", "paid", "minutes"]
    assert list(model.feature_names_in_) == list(frame.columns)
    assert np.mean(model.predict(frame) == kind) in (pytest.approx(0, abs=0.02), pytest.approx(1, abs=0.02))
    drawn, labels = model.sample(50, random_state=2)
    assert list(drawn.columns) == model.columns_ and set(drawn.paid) == {"yes", "no"}
    assert drawn.visits.dtype == np.int64 and drawn.minutes.dtype == np.float64
    assert labels.shape == (50,) and set(labels) == {0, 1}
    pd.testing.assert_frame_equal(drawn, model.sample(50, random_state=2)[0])
    assert not drawn.equals(model.sample(50, random_state=3)[0])

    proba = model.predict_proba(frame)  # which needs no column that was left out
    assert model.predict(drawn).shape == (50,)
    np.testing.assert_array_equal(model.predict_proba(frame[model.columns_]), proba)
    np.testing.assert_array_equal(model.predict_proba(frame[model.columns_[::-1]].iloc[:, ::-1]), proba)
    for other in frame.drop(columns="paid"), frame.assign(more=1):
        with pytest.raises(ValueError, match="feature names"):
            model.predict(other)
    model.save(tmp_path / "model.json")
    loaded = latent.load(tmp_path / "model.json")
    for other in frame, frame[frame.columns[::-1]], frame[model.columns_], drawn:
        assert (loaded.predict(other) >= 0).all()
    np.testing.assert_array_equal(loaded.predict_proba(frame), proba)
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame.drop(columns="paid"))

    array = frame.to_numpy()
    with pytest.warns(latent.LatentWarning):
        of_array = LatentMixture().fit(array)
    np.testing.assert_allclose(of_array.predict_proba(array), proba)
    assert of_array.predict(of_array.sample(5)[0]).shape == (5,)
    of_array.save(tmp_path / "array.json")
    np.testing.assert_allclose(latent.load(tmp_path / "array.json").predict_proba(array), proba)

    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    with pytest.warns(latent.LatentWarning):
        other = LatentMixture().fit(arrow)
    np.testing.assert_array_equal(other.predict_proba(arrow), model.predict_proba(frame))
    assert isinstance(other.sample(2)[0], pa.Table)

    plain = pd.DataFrame({"a": np.arange(30.0) % 7, "b": np.arange(30.0) % 5})
    with pytest.warns(latent.LatentWarning):
        assert hasattr(LatentMixture().fit(plain), "means_")
        assert not hasattr(LatentMixture().fit(plain).fit(frame), "means_")

    category = frame.assign(paid=frame.paid.astype("category"), visits=frame.visits.astype("float32"))
    np.testing.assert_allclose(model.predict_proba(category), model.predict_proba(frame))


@pytest.mark.filterwarnings("ignore::latent.LatentWarning")
def test_classes_of_codes_and_of_texts():
    rng = np.random.default_rng(6)
    kind = rng.integers(2, size=500)
    codes = (rng.random((500, 5)) < np.where(kind, 0.85, 0.1)[:, None]).astype(float)
    model = LatentClasses().fit(codes)
    assert model.n_components_ == 2
    assert model.levels_["x0"] == ["0", "1"]
    np.testing.assert_allclose([one.sum(axis=1) for one in model.level_probabilities_.values()], 1)
    np.testing.assert_array_equal(model.predict(codes.astype(int)), model.predict(codes))
    assert model.sample(10)[0].dtype == np.float64
    codes[3, 2] = np.nan
    assert model.predict(codes).shape == (500,)

    texts = np.where(codes == 1, "yes", "no").astype(object)
    texts[3, 2] = None
    of_texts = LatentClasses().fit(texts)
    assert of_texts.levels_["x4"] == ["no", "yes"]
    assert set(of_texts.sample(30)[0].ravel()) == {"no", "yes"}
    of_codes = LatentClasses().fit(codes)
    np.testing.assert_array_equal(of_texts.predict_proba(texts), of_codes.predict_proba(codes))

    frame = pd.DataFrame(texts, columns=list("abcde"))
    of_frame = LatentClasses().fit(frame)
    np.testing.assert_array_equal(of_frame.predict_proba(frame), of_codes.predict_proba(codes))
    unseen = frame.assign(a="perhaps")
    with pytest.raises(ValueError, match='column "a" is "perhaps"'):
        of_frame.predict(unseen)
    assert of_frame.set_params(unseen="missing").predict(unseen).shape == (500,)


def test_models_are_kept(tmp_path):
    X = blobs()
    model = LatentMixture(2).fit(X)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.report().html == model.report().html
    with pytest.raises(NotFittedError):
        clone(model).predict(X)
    model.save(tmp_path / "model.json")
    loaded = latent.load(tmp_path / "model.json")
    assert isinstance(loaded, LatentMixture)
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(loaded.covariances_, model.covariances_)
    with pytest.raises(ValueError, match="a model file has no page about its fit"):
        loaded.report()

    latent_command("fit", "--data=housevotes84", "--method=em", "--k=2", f"--out={tmp_path / 'votes.json'}")
    votes = latent.load(tmp_path / "votes.json")
    assert votes.n_features_in_ == len(votes.feature_names_in_) == 16
    drawn, labels = votes.sample(5)
    assert set(drawn.ravel()) <= {"y", "n"} and len(labels) == 5
    latent_command("fit", "--data=housevotes84", "--model=bernmix", "--k=2", f"--out={tmp_path / 'yes.json'}")
    assert isinstance(latent.load(tmp_path / "yes.json"), LatentClasses)
    for name, text in {
        "part.json": '{"model": "mixture"}',
        "empty.json": "",
        "list.json": "[]",
        "other.json": '{"model": "topics"}',
    }.items():
        (tmp_path / name).write_text(text)
        with pytest.raises(ValueError, match=f"{name} is not a model file of mixture"):
            latent.load(tmp_path / name)


def test_reports_are_the_pages_of_the_command(tmp_path):
    X = blobs()
    model = LatentMixture(2).fit(X)
    page = model.report()
    assert page.html.startswith("<!DOCTYPE html>")
    frame = re.fullmatch(
        r'<iframe srcdoc="([^"]*)" title="latent" sandbox="allow-scripts"[^>]*></iframe>', page._repr_html_()
    )
    assert html.unescape(frame[1]) == page.html
    page.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page.html
    assert model.report(X + 1).html != page.html


def test_wide_arrays_have_all_columns():
    X = np.random.default_rng(9).normal(size=(20, 3000))
    assert LatentMixture(1, covariance="diag", n_init=1).fit(X).means_.shape == (1, 3000)


def test_criteria_are_in_nats_and_cross_validation_works():
    X = blobs()
    model = LatentMixture(2, covariance="full").fit(X)
    assert model.bic() == -2 * model.criteria_["bic"]
    assert model.evidence_ == model.criteria_["evidence"] and model.gfic_ == model.criteria_["gfic"]
    assert model.converged_ and model.n_iter_ > 1
    scores = [cross_val_score(LatentMixture(k, covariance="full", n_init=1), X, cv=3).mean() for k in (1, 2)]
    assert scores[1] > scores[0]


def test_seeds_are_drawn_where_none_is_given():
    X = blobs(60)
    np.random.seed(1)
    first = LatentMixture(2, random_state=None, n_init=1).fit(X).result_["seed"]
    assert LatentMixture(2, random_state=np.random.RandomState(1), n_init=1).fit(X).result_["seed"] == first
    assert LatentMixture(2, random_state=None, n_init=1).fit(X).result_["seed"] != first


X = blobs()


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: LatentMixture(family="nonsense").fit(X), 'unknown family "nonsense"'),
        (lambda: LatentMixture(n_components=500).fit(X), "500 components for 300 rows"),
        (lambda: LatentMixture(options={"nonsense": 1}).fit(X), "unknown flag --nonsense"),
        (lambda: LatentMixture(options={"nonsense": 1}).fit(np.zeros((200_000, 20))), "unknown flag --nonsense"),
        (lambda: LatentMixture(covariance="spherical").fit([[1, np.nan], [2, 3], [3, 4]]), "X: row 1 of column"),
        (lambda: LatentMixture().fit(np.ones((5, 2))), "X: every column is constant"),
        (lambda: LatentMixture().fit(pd.DataFrame({"a": [1.0, np.inf]})), "infinity, in column 'a'"),
        (lambda: LatentMixture().fit(pd.DataFrame({"a": [[1], [2]], "b": [1, 2]})), 'X: column "a" is of type list'),
        (lambda: LatentMixture().fit(pd.DataFrame({"a": [1j, 2], "b": [1, 2]})), "column a with type complex128"),
        (
            lambda: LatentMixture().fit(pd.DataFrame({"a": [1, "x"], "b": [1, 2]})),
            r"column 'a' has values of several types \(int, str\)",
        ),
        (lambda: LatentMixture().fit(pd.Series([1.0, 2])), r"X is of type Series; .*: pass X.to_frame\(\)"),
        (lambda: LatentMixture().fit({"a": [1.0, 2]}), r"X is of type dict; .*: pass pandas.DataFrame\(X\)"),
        (lambda: LatentMixture().fit("a.csv"), "X is of type str; .*: read the table first"),
        (lambda: LatentMixture().fit(pd.DataFrame([[1, 2]], columns=["a", "a"])), "two columns are called 'a'"),
        (lambda: LatentMixture(options={"data": "a.csv"}).fit(X), "options: the estimator sets 'data'"),
        (lambda: LatentMixture(options={"k": 2}).fit(X), "options: set 'k' by the parameter n_components"),
        (lambda: LatentMixture(options="k=2").fit(X), "options is of type str; must be a dict of flags"),
        (lambda: LatentMixture().fit(X).predict(X[:, :2]), "X has 2 features, but LatentMixture is expecting 3"),
        (lambda: LatentMixture(2, method="vb", n_init=1).fit(X).bic(), "bic is not available with method vb"),
        (
            lambda: LatentMixture(2, options={"gate": "x2"}, n_init=1).fit(X).sample(),
            '^the model does not describe its columns "x2"',
        ),
        (lambda: BayesianPCA().fit([[1, np.nan], [2, 3], [3, 4]]), "Input X contains NaN"),
    ],
)
@pytest.mark.filterwarnings("ignore::latent.LatentWarning")
def test_what_cannot_be_is_a_value_error(call, message):
    with pytest.raises(ValueError, match=message) as raised:
        call()
    assert "latent: " not in str(raised.value)


def test_the_environment_has_the_command():
    command = Path(sys.executable).with_name("latent.exe" if os.name == "nt" else "latent")
    assert (
        subprocess.run([command, "version"], check=True, capture_output=True).stdout
        == latent_command("version").encode()
    )
    failed = subprocess.run([command, "fit", "--k=0"], capture_output=True, text=True)
    assert failed.returncode == 2 and failed.stderr == "latent: --k is 0; must be at least 1\n"


def test_lengths_by_place_are_refused():
    x = np.random.default_rng(1).normal(size=(40, 2))
    model = latent.HiddenMarkov(2, n_init=1)
    with pytest.raises(ValueError, match="pass lengths by keyword"):
        model.fit(x, [20, 20])
    with pytest.raises(ValueError, match="pass lengths by keyword"):
        model.fit(x, lengths=[20, 20]).score(x, [20, 20])


def test_columns_of_none_are_missing():
    x = np.random.default_rng(1).normal(size=40)
    frame = pd.DataFrame({"x": x, "kind": ["a", "b"] * 20})
    model = latent.LatentMixture(2, n_init=1).fit(frame)
    assert np.isfinite(model.score_samples(frame.head(2).assign(kind=None))).all()
    assert np.isfinite(model.score_samples(pd.DataFrame([{"x": None, "kind": "a"}]))).all()
