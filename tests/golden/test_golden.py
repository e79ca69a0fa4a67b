"""Closed runs of the papers' authors' code, compared with ours: see README.md in this folder.

Each file of `data` is compared by every function below that is decorated with the name of its method, so that another
run of a known method needs no more than its file.
"""

import math
import pathlib

import numpy as np
import pytest
from helpers.packing import PackedRows, tiled

from rffkern import GBRFF1Classifier, PBRFFClassifier, PBRFFTransformer
from rffkern._native import gbrff, scoring, solvers
from rffkern._training.gbrff import losses

# So small that no sum over rows changes, and still larger than 0: a row of this weight may be drawn as a landmark.
NO_WEIGHT = 1e-300


class StoredDraws(np.random.Generator):
    """A generator that returns stored numbers, each draw once, in the shape that is asked for."""

    def __init__(self, normal, uniform=()):
        super().__init__(np.random.PCG64(0))
        self._normal, self._uniform = [normal], [uniform]

    def standard_normal(self, size=None, **_):
        """The stored normal numbers."""
        return np.array(self._normal.pop()).reshape(size)

    def random(self, size=None, **_):
        """The stored uniform numbers."""
        return np.array(self._uniform.pop()).reshape(size)


def stored_omegas(omegas, gamma, uniform=()):
    """Draws from which a family makes these omegas, which it scales by sqrt(2 gamma)."""
    return StoredDraws(omegas / math.sqrt(2 * gamma), uniform)


def drawing_rows(indices, n_samples):
    """Uniform numbers with which these rows are drawn, among rows of equal weight."""
    return (np.asarray(indices) + 0.5) / n_samples


def with_points(X, y, points):
    """Rows that stand before X and count for nothing, labels and weights of all, and uniform numbers that draw them.

    A family that takes rows as landmarks then takes these points, and learns from X alone.
    """
    n_points = len(points)
    weight = np.concatenate([np.full(n_points, NO_WEIGHT), np.ones(len(X))])
    labels = np.concatenate([np.resize([-1, 1], n_points), y])
    uniform = (np.arange(n_points) + 0.5) * (NO_WEIGHT / len(X))
    return np.concatenate([points, X]), labels, weight, uniform


FILES = sorted(pathlib.Path(__file__).parent.joinpath("data").glob("*.npz"))

ROUNDING = 1e-10  # of a run in double precision
FEATURE_ROUNDING = 1e-12
MACHINE_TOLERANCE = 1e-2  # of libsvm, which ends by its own
LOSS_TOLERANCE = 1e-6

# Runs in which fewer of our descents than asked end as low as theirs, and why.
SHORT_OF_THEIRS = {"gbrff1_learned_a": "three of twelve descents end in another, higher valley of the loss"}


def method_of(path):
    return path.stem.rpartition("_")[0]


def compared(*methods):
    """Run a test once for each file of these methods."""
    files = [path for path in FILES if method_of(path) in methods]
    assert files, f"no file of {methods}"
    METHODS.update(methods)
    return pytest.mark.parametrize("run", files, ids=lambda path: path.stem, indirect=True)


METHODS: set[str] = set()


@pytest.fixture
def run(request):
    """The arrays of a file, and its name."""
    with np.load(request.param, allow_pickle=False) as archive:
        return dict(archive) | {"name": request.param.stem}


@pytest.fixture
def unguarded(monkeypatch):
    """Steps by the printed formula.

    Ours adds 2^-26 of the total weight to numerator and denominator, which holds the step of a perfect learner finite
    and moves others by up to 1e-8: a departure of its own, which would hide all others below it.
    """
    monkeypatch.setattr(losses, "_STEP_GUARD", 0.0)


def replayed(run):
    """A fit that takes the omegas and landmarks of a run, and learns posterior and steps."""
    if "landmarks" in run:
        omegas, landmarks, beta = run["omegas"], run["landmarks"], float(run["beta"])
    else:  # a cosine is the kernel of the landmark whose projection on its omega is the phase
        omegas, beta = run["omegas"][:, None], 1.0
        landmarks = run["omegas"] * (run["phases"] / (run["omegas"] ** 2).sum(1))[:, None]
    gamma = float(run["gamma"])
    X, y, weight, uniform = with_points(run["X"], run["y"], landmarks)
    model = GBRFF1Classifier(len(omegas), n_components=omegas.shape[1], gamma=gamma, beta=beta, landmarks="random",
                             standardize=False, precision="double", random_state=stored_omegas(omegas, gamma, uniform))
    return model.fit(X, y, weight)


@compared("gbrff1_random", "gbrff1_learned", "gbrff2")
def test_boosting_from_given_terms(run, unguarded):
    """Posteriors, steps and margins after each round follow from omegas and landmarks or phases."""
    model = replayed(run)
    found = model.expansion_.fourier.amplitudes.reshape(len(run["alphas"]), -1)
    steps = found.sum(axis=1)
    np.testing.assert_allclose(steps, run["alphas"], rtol=0, atol=ROUNDING)
    if "posterior" in run:
        np.testing.assert_allclose(found / steps[:, None], run["posterior"], rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(model.expansion_.intercept, run["intercept"], rtol=0, atol=ROUNDING)
    margins = np.array(list(model.staged_decision_function(run["X"])))
    np.testing.assert_allclose(margins, run["margins_after_round"][1:], rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(model.decision_function(run["X_test"]), run["test_margins"], rtol=0, atol=ROUNDING)
    losses = np.exp(-run["y"] * run["margins_after_round"]).mean(axis=1)
    np.testing.assert_allclose(model.train_loss_, losses, rtol=0, atol=ROUNDING)


@compared("gbrff1_random", "gbrff1_learned", "gbrff2")
def test_guard_of_the_step(run):
    """What the guard of a perfect learner changes in the step of another, by its formula."""
    guard, mean = 2.0**-26, math.tanh(run["alphas"][0])
    step = replayed(run).expansion_.fourier.amplitudes.reshape(len(run["alphas"]), -1)[0].sum()
    assert step == pytest.approx(0.5 * math.log((1 + mean + guard) / (1 - mean + guard)), abs=ROUNDING)


def residuals_before_rounds(run):
    """The residuals y exp(-y margin) that each round of a run learns from."""
    return run["y"] * np.exp(-run["y"] * run["margins_after_round"][:-1])


def cosine_loss(X, r, omega, phase):
    """Mean of exp(-r cos(omega . x - phase))."""
    return np.exp(-r * np.cos(X @ omega - phase)).mean()


def packed_rows(X, r):
    """Rows of weight 1, and the residuals of one round, as kernels of the boosted families read them."""
    return PackedRows(X, np.ones(len(X)), np.float64, 1), tiled(r) / math.log(2)


def our_phase(X, r, omega):
    rows, r2 = packed_rows(X, r)
    return gbrff.search_phase(rows.tiles, r2, rows.weight, omega.copy(), rows.total_weight, np.abs(r).max(),
                              rows.cosine, rows.sine, rows.scaled, rows.circle, rows.partial, 1)


def our_omega(X, r, omega, phase, reg_lambda, first_length):
    (rows, r2), omega = packed_rows(X, r), omega.copy()
    gbrff.descend_omega(solvers.LBFGS(len(omega), 10, 2e-9, 1e-5, 1e-14), rows.tiles, r2, rows.weight, omega, phase,
                        reg_lambda, rows.total_weight, first_length, rows.scaled, rows.lanes, rows.partial, 1)
    return omega


@compared("gbrff2")
def test_phase_search(run):
    """From the drawn omega, our phase is never worse than theirs: it is the best of all."""
    for r, omega, theirs in zip(residuals_before_rounds(run), run["drawn_omegas"], run["phases"], strict=True):
        ours = our_phase(run["X"], r, omega)
        assert cosine_loss(run["X"], r, omega, ours) <= cosine_loss(run["X"], r, omega, theirs) + 1e-15


@compared("gbrff2")
def test_omega_descent(run):
    """From the drawn omega and their phase, ten iterations of ours come about as low as ten of theirs."""
    X, reg_lambda = run["X"], float(run["reg_lambda"])
    first_length = math.sqrt(float(run["gamma"]) * X.shape[1])

    def objective(r, omega, phase):
        return reg_lambda * omega @ omega + cosine_loss(X, r, omega, phase)

    excess = [objective(r, our_omega(X, r, drawn, phase, reg_lambda, first_length), phase) - objective(r, theirs, phase)
              for r, drawn, phase, theirs in zip(residuals_before_rounds(run), run["drawn_omegas"], run["phases"],
                                                 run["omegas"], strict=True)]
    assert max(excess) < 1e-4
    assert np.mean(excess) < 1e-5


def landmark_loss(X, r, omegas, phases):
    """Mean of exp(-r c), c the mean of the cosines of a landmark of these phases."""
    return np.exp(-r * np.cos(X @ omegas.T - phases).mean(axis=1)).mean()


def our_landmark_phases(X, r, omegas, gamma):
    """Phases of the landmark that ten iterations from 0 end at."""
    (rows, r2), (n_components, n_features) = packed_rows(X, r), omegas.shape
    rff = np.empty((rows.n_tiles, 2 * n_components, 128))
    gbrff.make_rff(rows.tiles, omegas, rff, np.zeros((-(-n_components // 4) * 4, n_features)), 1)
    over_phases = n_components <= n_features
    size = n_components if over_phases else n_features
    phases = np.zeros(-(-n_components // scoring.LANE_COUNT) * scoring.LANE_COUNT)
    basis = np.zeros((0 if over_phases else n_features, len(phases)))
    if not over_phases:
        basis[:, :n_components] = omegas.T
    gbrff.descend_landmark(
        solvers.LBFGS(size, 10, 2e-9, 1e-5, 1e-14), False, rff, r2, rows.weight, basis,
        np.zeros(size), rows.total_weight, math.sqrt(n_components) if over_phases else 1 / math.sqrt(2 * gamma), phases,
        np.zeros(2 * n_components), np.zeros((1, 2 * n_components * scoring.LANE_COUNT)),
        np.empty((len(rows.partial), 1 + 2 * n_components)), 1)
    return phases[:n_components]


def landmark_excess(run):
    """Loss of our landmark less that of theirs, for the residuals and omegas of each round."""
    X, gamma = run["X"], float(run["gamma"])
    return np.array([landmark_loss(X, r, omegas, our_landmark_phases(X, r, omegas, gamma))
                     - landmark_loss(X, r, omegas, omegas @ landmark)
                     for r, omegas, landmark in zip(residuals_before_rounds(run), run["omegas"], run["landmarks"],
                                                    strict=True)])


@compared("gbrff1_learned")
def test_landmark_descent(run, request):
    """From the same start, ours is as good in nine of ten rounds."""
    if run["name"] in SHORT_OF_THEIRS:
        request.applymarker(pytest.mark.xfail(raises=AssertionError, reason=SHORT_OF_THEIRS[run["name"]]))
    assert np.mean(landmark_excess(run) <= LOSS_TOLERANCE) >= 0.9


@compared("gbrff1_learned")
def test_landmark_descent_on_average(run):
    """Over the rounds of a run, ours is better."""
    assert landmark_excess(run).mean() < 0


def pbrff_settings(run, n_constant=0):
    """Number of landmarks and keywords of a PBRFF fit with the draws of a run.

    Landmarks whose omegas are 0 follow: their features are 1 for every row.
    """
    gamma, n_samples = float(run["gamma"]), len(run["X"])
    indices = np.abs(run["X"] - run["landmarks"][:, None]).max(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(run["X"][indices], run["landmarks"])
    omegas = np.concatenate([run["omegas"], np.zeros((n_constant, *run["omegas"].shape[1:]))])
    draws = stored_omegas(omegas, gamma, drawing_rows(np.append(indices, np.zeros(n_constant, int)), n_samples))
    return len(omegas), {"n_components": omegas.shape[1], "gamma": gamma, "beta": float(run["beta"]),
                         "standardize": False, "precision": "double", "random_state": draws}


@compared("pbrff")
def test_features(run):
    """Posterior and features follow from omegas and landmarks."""
    n_landmarks, settings = pbrff_settings(run)
    model = PBRFFTransformer(n_landmarks, **settings).fit(run["X"], run["y"])
    posterior = model.expansion_.fourier.amplitudes.reshape(run["posterior"].shape)
    np.testing.assert_allclose(posterior, run["posterior"], rtol=0, atol=FEATURE_ROUNDING)
    np.testing.assert_allclose(model.transform(run["X"]), run["features"], rtol=0, atol=FEATURE_ROUNDING)
    np.testing.assert_allclose(model.transform(run["X_test"]), run["test_features"], rtol=0, atol=FEATURE_ROUNDING)


def machine(run, n_constant=0):
    n_landmarks, settings = pbrff_settings(run, n_constant)
    return PBRFFClassifier(n_landmarks, C=float(run["C"]), loss="hinge", tol=1e-8, **settings).fit(run["X"], run["y"])


@compared("pbrff")
def test_machine(run):
    """Margins of the linear machine on those features.

    libsvm leaves the constant out of the penalty, and ours does not: shared by 1,000 features that are 1 for every row
    it costs a thousandth.
    """
    model = machine(run, n_constant=1000)
    np.testing.assert_allclose(model.decision_function(run["X_test"]), run["test_margins"], rtol=0,
                               atol=MACHINE_TOLERANCE)


@compared("pbrff")
def test_machine_with_a_penalty_on_the_constant(run):
    """As it stands, our machine is at least as good as theirs for the objective that ours minimises."""
    def objective(coef, intercept):
        hinge = np.maximum(0, 1 - run["y"] * (run["features"] @ coef + intercept)).sum()
        return 0.5 * (coef @ coef + intercept**2) + float(run["C"]) * hinge

    model = machine(run)
    coef = model.expansion_.fourier.amplitudes.reshape(run["posterior"].shape).sum(axis=1)
    ours, theirs = objective(coef, model.expansion_.intercept[0]), objective(run["coef"][0], run["intercept"][0])
    assert ours <= theirs


def test_every_file_is_compared():
    """A file of a method that no test is for would pass unseen."""
    assert {method_of(path) for path in FILES} <= METHODS
