"""Boosted models on a cluster of Dask: two worker processes on this machine."""

import inspect
import os
import signal
import time

import numpy as np
import pytest
from helpers.partitions import LocalPartitions, cut, same
from helpers.processes import wait_until

import rffkern
from rffkern import (
    GBRFF1Classifier,
    GBRFF2Classifier,
    GBRFFRegressor,
    InvalidInputError,
    NotFittedError,
    TrainingStateError,
)
from rffkern._estimator.monitor import listening
from rffkern._training.fourier_boosting import stacking
from rffkern._training.fourier_boosting.distributed import fit_partitions as fit_boosting
from rffkern._training.gbrff.partitions import fit_partitions as fit_gbrff

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")
import dask.array as da  # noqa: E402

from rffkern import dask as on_dask  # noqa: E402
from rffkern._training.distributed import dask_workers  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]  # those of the cluster are its own

N_ROWS, EDGES = 1200, [0, 300, 301, 800, 1200]
CHUNKS = tuple(np.diff(EDGES).tolist())


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None,
               "local_directory": str(tmp_path_factory.mktemp("workers"))}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture
def table(rng):
    X = rng.standard_normal((N_ROWS, 3))
    return X, np.where(np.sin(2 * X[:, 0]) + X[:, 1] > 0, "yes", "no")


def on_cluster(X, y, weights=None):
    found = [da.from_array(X, chunks=(CHUNKS, X.shape[1])), da.from_array(y, chunks=CHUNKS)]
    return found if weights is None else [*found, da.from_array(weights, chunks=CHUNKS)]


def kill_worker(client):
    """Kill one that its nanny starts again, as none that dies while it starts; return its process."""
    def running():
        return [nanny.pid for nanny in client.cluster.workers.values()
                if nanny.process is not None and nanny.process.status.name == "running"]

    pid, *_ = wait_until(running)
    os.kill(pid, signal.SIGKILL)
    return pid


def killer(client, n_rounds):
    """A callback that kills a worker after so many rounds, and the list of those that it has killed."""
    killed = []

    def kill(info):
        if info.n_rounds == n_rounds and not killed:
            killed.append(kill_worker(client))

    return killed, kill


def fitted_here(model, *columns):
    fit = fit_boosting if model.family.startswith("fourier_boosting") else fit_gbrff
    fit(model, LocalPartitions(cut(EDGES, *columns), has_labels=model._has_labels), {}, None)
    return model


def test_fourier_boosting_on_a_cluster_takes_its_own_defaults(client, table):
    model = on_dask.DaskFourierBoostingClassifier(30, n_bags=1, random_state=0, client=client)
    params = model.get_params()
    assert (params["max_samples"], params["columns"], params["kernel_ridge"]) == (16384, "auto", "auto")
    assert type(model)(**params).get_params() == params
    X, y = table
    dX, dy = on_cluster(X, y)
    model.fit(dX, dy, eval_set={"fresh": (dX, dy)})
    assert list(model.eval_losses_) == ["fresh"]
    assert (model.predict(dX).compute() == y).mean() > 0.9


BOOSTING = {"n_bags": 2, "max_samples": 256, "columns": None}


@pytest.mark.parametrize(("here", "n_rounds", "params"), [
    ("FourierBoostingClassifier", 12, BOOSTING),
    ("FourierBoostingRegressor", 12, BOOSTING),
    ("GBRFF1Classifier", 4, {"max_samples": 256}),
    ("GBRFF2Classifier", 4, {"max_samples": 256, "class_weight": "balanced"}),
    ("GBRFFClassifier", 4, {}),
    ("GBRFFRegressor", 4, {"landmarks": "random"}),
])
def test_bits_are_those_of_the_partitions_here(client, rng, table, here, n_rounds, params):
    X, y = table
    y = X[:, 0] * X[:, 1] if here.endswith("Regressor") else y
    weights = rng.integers(0, 3, N_ROWS) * rng.uniform(0, 2, N_ROWS)
    model = getattr(on_dask, f"Dask{here}")(n_rounds, random_state=0, client=client, **params)
    model.fit(*on_cluster(X, y, weights))
    local = getattr(rffkern, here)(n_rounds, random_state=0, **params)
    assert type(model.to_local()) is type(local)
    assert same(model.to_local(), fitted_here(local, X, y, weights))


@pytest.mark.parametrize(("here", "n_rounds", "params"), [
    ("FourierBoostingClassifier", 20, BOOSTING | {"kernel_ridge": False}),
    ("GBRFF2Classifier", 8, {"max_samples": 256})])
def test_a_worker_that_dies_changes_no_bit(client, table, here, n_rounds, params):
    """Killed in the middle of the fit; the scheduler opens its partitions anew, from arrays that it can make again."""
    X, y = table
    killed, kill = killer(client, 3)
    model = getattr(on_dask, f"Dask{here}")(n_rounds, random_state=0, client=client, **params)
    model.fit(*on_cluster(X, y), callback=kill)
    assert len(killed) == 1
    assert same(model.to_local(), fitted_here(getattr(rffkern, here)(n_rounds, random_state=0, **params), X, y))


def use_too_much(block):
    """More than the memory of a worker, for long enough to be killed by its nanny."""
    if block.size:
        held = np.ones(1 << 26)
        time.sleep(20)
        del held
    return block


@pytest.mark.parametrize(("columns", "die", "limit"), [
    ("auto", lambda block: os._exit(1) if block.size else block, 0),
    (None, lambda block: os._exit(1) if block.size else block, 0),
    (None, use_too_much, "500MB")])
def test_a_partition_that_takes_its_workers_down_is_named(table, tmp_path, columns, die, limit):
    """The scheduler gives up after so many workers; that a few may die is a setting of Dask."""
    X, y = on_cluster(*table)
    first = X.blocks[0].map_blocks(die, dtype=X.dtype, meta=X._meta)
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}), \
            distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None, memory_limit=limit,
                                     local_directory=str(tmp_path)) as cluster, \
            distributed.Client(cluster, set_as_default=False) as client:
        model = on_dask.DaskGBRFF2Classifier(3, client=client, columns=columns)
        with pytest.raises(TrainingStateError, match=r"partition (0 )?of X was lost with each worker that held it: gi"):
            model.fit(da.concatenate([first, X.blocks[1:]]), y)
        assert not client.futures


def test_an_error_waits_for_nothing_that_cannot_end(client, monkeypatch):
    """As where the only worker has died, and its nanny does not start it again."""
    monkeypatch.setattr(dask_workers, "SECONDS_WITHOUT_WORK", 1.0)
    futures = [client.submit(divmod, 1, 0, pure=False), client.submit(int, workers=["tcp://127.0.0.1:1"], pure=False)]
    with pytest.raises(ZeroDivisionError):
        dask_workers.gather(client, futures)
    client.cancel(futures)


@pytest.mark.parametrize(("lost", "expected"), [
    ("scheduler", r"the scheduler .* was lost, and with it what its workers held: start a cluster"),
    ("workers", r"the scheduler .* has had no worker for 1\.0 s: start some, and run this again"),
    ("memory", r"the scheduler .* has 1 workers that have worked on nothing for 1\.0 s: give those that are paused")])
def test_a_cluster_that_ends_is_an_error(table, monkeypatch, lost, expected):
    """Dask waits for new workers without end, and for those that pause for want of memory."""
    monkeypatch.setattr(dask_workers, "SECONDS_WITHOUT_WORK", 1.0)
    with dask.config.set({"distributed.comm.timeouts.connect": "1s"}), \
            distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=None, memory_limit=0) as cluster, \
            distributed.Client(cluster, set_as_default=False) as client:

        def close(info):
            if lost != "memory":
                cluster.sync((cluster.scheduler if lost == "scheduler" else cluster.workers[0]).close)

        if lost == "memory":
            cluster.workers[0].status = distributed.Status.paused
        with pytest.raises(TrainingStateError, match=expected):
            on_dask.DaskGBRFF2Classifier(5, client=client, columns=None).fit(*on_cluster(*table), callback=close)


def test_workers_that_die_again_and_again_are_an_error(client, table, monkeypatch):
    """Queries that workers do not answer are asked by tasks, a few times in a row."""
    run, n_rounds, expected = client.run, [], f"workers have died during {dask_workers._MOST_DEATHS + 1} queries in a"
    monkeypatch.setattr(client, "run", lambda function, *rest, **options: run(function, *rest, **options)
                        if function is not dask_workers._answers else {"there": OSError()})
    with pytest.raises(TrainingStateError, match=expected):
        on_dask.DaskGBRFF2Classifier(40, client=client, columns=None).fit(
            *on_cluster(*table), callback=lambda info: n_rounds.append(1))
    assert n_rounds


def test_a_worker_of_another_version_is_named(client, table, monkeypatch):
    monkeypatch.setattr(dask_workers, "__version__", "9.9")
    with pytest.raises(InvalidInputError, match=r"the worker tcp://\S+ has rffkern \S+, and this process 9\.9; inst"):
        on_dask.DaskGBRFF2Classifier(3, client=client).fit(*on_cluster(*table))


def test_rounds_wait_for_no_tasks(client, table, monkeypatch):
    """A task takes ten times as long as a call of a worker; only the first question waits for partitions to open."""
    X, y = table
    submit, submitted, before_rounds = client.submit, [], []
    monkeypatch.setattr(client, "submit", lambda *args, **options: submitted.append(args) or submit(*args, **options))
    model = on_dask.DaskGBRFF2Classifier(4, random_state=0, max_samples=256, client=client)
    model.fit(*on_cluster(X, y), callback=lambda info: before_rounds.append(len(submitted)))
    assert before_rounds == [len(CHUNKS)] * 4


def test_partitions_that_have_moved_are_found(client, table, monkeypatch):
    """Told to be with the other worker, as when they move between the two questions."""
    X, y = table
    who_has, addresses = client.who_has, sorted(client.scheduler_info()["workers"])
    monkeypatch.setattr(client, "who_has", lambda futures: {
        key: [address for address in addresses if address not in holders] for key, holders in who_has(futures).items()})
    model = on_dask.DaskGBRFF2Classifier(3, random_state=0, max_samples=256, client=client).fit(*on_cluster(X, y))
    assert same(model.to_local(), fitted_here(GBRFF2Classifier(3, random_state=0, max_samples=256), X, y))


def test_scoring_waits_and_stays_in_partitions(client, table):
    X, y = table
    dX, dy = on_cluster(X, y)
    model = on_dask.DaskGBRFF2Classifier(4, random_state=0, client=client).fit(dX, dy)
    local = model.to_local()
    for name in ("predict", "predict_proba", "decision_function"):
        lazy = getattr(model, name)(dX)
        expected = getattr(local, name)(X)
        assert lazy.chunks[0] == CHUNKS
        assert lazy.dtype == expected.dtype
        np.testing.assert_array_equal(lazy.compute(), expected)
        np.testing.assert_array_equal(getattr(on_dask, name)(local, dX[dX[:, 0] > 0]).compute(),
                                      expected[X[:, 0] > 0])  # lengths unknown
    assert on_dask.predict(local, dX.rechunk((300, 2))).compute().tolist() == local.predict(X).tolist()


def test_any_model_scores_partitions(client, table):
    X, y = table
    dX, _ = on_cluster(X, y)
    targets = np.stack([X[:, 0], X[:, 1] ** 2], axis=1)
    for model in (rffkern.FourierBoostingClassifier(5, random_state=0).fit(X, y),
                  GBRFFRegressor(3, random_state=0).fit(X, targets),
                  GBRFF1Classifier(3, columns=rffkern.ColumnMap(("rank",)), random_state=0).fit(X, y)):
        np.testing.assert_array_equal(on_dask.predict(model, dX).compute(), model.predict(X))


@pytest.fixture(params=["DaskGBRFF2Classifier", "DaskFourierBoostingClassifier"])
def cls(request):
    return getattr(on_dask, request.param)


def test_data_frames(client, table, cls):
    pandas = pytest.importorskip("pandas")
    frames = pytest.importorskip("dask.dataframe")
    X, y = table
    frame = pandas.DataFrame(X, columns=["a", "b", "c"]).assign(y=y)
    dframe = frames.from_pandas(frame, npartitions=3)
    model = cls(4, random_state=0, client=client)
    model.fit(dframe[["a", "b", "c"]], dframe["y"])
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    predicted = model.predict(dframe[["a", "b", "c"]])
    proba = model.predict_proba(dframe[["a", "b", "c"]]).compute()
    expected = model.to_local().predict(frame[["a", "b", "c"]])
    assert isinstance(predicted.compute(), pandas.Series)
    assert predicted.divisions == dframe.divisions
    assert predicted.compute().tolist() == expected.tolist()
    assert proba.columns.tolist() == ["no", "yes"]
    assert proba.index.equals(frame.index)
    empty = dframe[dframe["a"] > 100]
    assert len(model.predict(empty[["a", "b", "c"]]).compute()) == 0
    model.set_params(columns=None)
    with pytest.raises(InvalidInputError, match="X of partition 0: The feature names"):
        model.fit(dframe[["a", "b", "c"]], dframe["y"], eval_set=(dframe[["c", "b", "a"]], dframe["y"]))


def frame_of_words(rng):
    """Numbers, words, dates, and missing values."""
    pandas = pytest.importorskip("pandas")
    size = rng.standard_normal(N_ROWS)
    colour = rng.choice(["red", "green", "blue"], N_ROWS)
    frame = pandas.DataFrame({"size": np.where(rng.random(N_ROWS) < 0.1, np.nan, size), "colour": colour,
                              "day": pandas.Timestamp("2024-01-01") + pandas.to_timedelta(np.arange(N_ROWS), unit="D")})
    frame["kind"] = pandas.Categorical(np.where(colour == "red", "warm", "cold"))
    return frame, pandas.Series(np.where(size + (colour == "red") > 0.5, "yes", "no"), name="y")


def test_words_dates_and_gaps(client, rng, cls):
    """One partition has the map here; of several the model is the same after the loss of a worker, tried with one."""
    frames = pytest.importorskip("dask.dataframe")
    frame, y = frame_of_words(rng)
    killed, kill = killer(client, 3)
    whole, pieces = ([frames.from_pandas(each, npartitions=n) for each in (frame, y)] for n in (1, 4))
    params = {"random_state": 0} | ({"n_bags": 2} if cls is on_dask.DaskFourierBoostingClassifier else {})
    model = cls(20, client=client, **params).fit(*whole)
    here = type(model.to_local())(20, **params).fit(frame, y)
    assert rffkern.dumps(model.column_map_) == rffkern.dumps(here.column_map_)
    models = [cls(20, client=client, **params).fit(*pieces, eval_set=tuple(pieces), callback=callback)
              for callback in ((None, kill) if cls is on_dask.DaskFourierBoostingClassifier else (None,))]
    assert len(killed) == len(models) - 1
    assert len({rffkern.dumps(model.to_local()) for model in models}) == 1
    predicted = models[0].predict(pieces[0]).compute()
    assert predicted.index.equals(frame.index)
    assert (predicted == y).mean() > 0.9
    assert models[0].predict_proba(pieces[0]).compute().columns.tolist() == ["no", "yes"]


@pytest.mark.parametrize("on", ["DaskKernelRidgeClassifier", "DaskKernelRidgeRegressor"])
def test_kernel_ridge_solves_regions_on_workers(client, rng, on):
    """The model is that of all rows here, with words, dates and gaps, also where a worker dies on the way."""
    frames = pytest.importorskip("dask.dataframe")
    frame, y = frame_of_words(rng)
    y = frame["size"].fillna(0.0) ** 2 if on.endswith("Regressor") else y
    weights = y * 0 + 1.0 if on.endswith("Regressor") else None
    params = {"region_size": 200, "length_scale": 3.0, "reg_lambda": 0.1, "random_state": 0}
    here = getattr(rffkern, on.removeprefix("Dask"))(**params).fit(frame, y, weights)
    assert here.expansion_.kernels.n_regions == 8
    killed = []

    def kill(work, done, total, note):
        if work == "regions" and done == 2 and not killed:
            killed.append(kill_worker(client))

    pieces = [None if each is None else frames.from_pandas(each, npartitions=4) for each in (frame, y, weights)]
    with listening(kill):
        model = getattr(on_dask, on)(client=client, **params).fit(*pieces)
    assert len(killed) == 1
    assert rffkern.dumps(model.to_local()) == rffkern.dumps(here)
    assert not client.futures
    assert model.predict(pieces[0]).compute().tolist() == here.predict(frame).tolist()


def test_kernel_ridge_beside_boosting_solves_regions_on_workers(client, monkeypatch):
    """The same bits as in this process, and where a worker dies on the way; to_local() is an ordinary model."""
    monkeypatch.setattr(stacking, "MOST_ROWS", 300)
    monkeypatch.setattr(stacking, "LARGEST_REGION", 200)
    X = np.random.default_rng(0).uniform(-2, 2, (1500, 2))
    y = np.where(np.floor(X).sum(axis=1) % 2 == 0, "black", "white")  # what few rounds do not learn
    params = {"n_bags": 2, "max_samples": 128, "columns": None, "random_state": 0}
    killed = []

    def kill(work, done, total, note):
        if work == "regions" and done == 2 and not killed:
            killed.append(kill_worker(client))

    models = []
    for listener in (lambda *_: None, kill):
        with listening(listener):
            pieces = [da.from_array(each, chunks=(400, *each.shape[1:])) for each in (X, y)]
            models.append(on_dask.DaskFourierBoostingClassifier(25, client=client, **params).fit(*pieces).to_local())
    assert len(killed) == 1
    here = rffkern.FourierBoostingClassifier(25, **params)
    fit_boosting(here, LocalPartitions(cut([0, 400, 800, 1200, 1500], X, y), has_labels=True), {}, None)
    assert len({rffkern.dumps(model) for model in (*models, here)}) == 1
    assert here.kernel_ridge_report_.kept
    assert here.expansion_.kernels.n_regions == 8
    assert not client.futures
    assert rffkern.loads(rffkern.dumps(models[0])).predict(X).tolist() == here.predict(X).tolist()


def test_kernel_ridge_says_how_many_rows_it_has_room_for(client, table, monkeypatch):
    monkeypatch.setattr(distributed.system, "MEMORY_LIMIT", 200_000)
    with pytest.raises(InvalidInputError, match=r"1200 rows, 3600 numbers, take 0\.000264 GB, and it"):
        on_dask.DaskKernelRidgeClassifier(client=client).fit(*on_cluster(*table))


def test_lengths_need_not_be_known(client, table, cls):
    X, y = table
    dX, dy = on_cluster(X, y)
    kept = dX[:, 2] > 0
    model = cls(3, random_state=0, client=client).fit(dX[kept], dy[kept])
    known = X[:, 2] > 0
    sizes = tuple(int(part.sum()) for part in np.split(known, EDGES[1:-1]) if part.any())
    X, y = X[known], y[known]
    other = cls(3, random_state=0, client=client)
    other.fit(da.from_array(X, chunks=(sizes, 3)), da.from_array(y, chunks=sizes))
    assert same(model.to_local(), other.to_local())


def test_rows_held_out_stop_early(client, rng, table):
    """Held-out labels that follow from nothing: soon each round makes their loss larger."""
    X, y = table
    dX, dy = on_cluster(X, np.concatenate([y[:800], rng.permutation(y[800:])]))
    model = on_dask.DaskGBRFF2Classifier(30, random_state=0, early_stopping_rounds=2, client=client)
    model.fit(dX[:800], dy[:800], eval_set={"fresh": (dX[800:], dy[800:])})
    assert list(model.eval_losses_) == ["fresh"]
    assert model.n_estimators_ == model.eval_loss_.argmin() < 30


def test_bad_partitions_are_named_and_nothing_is_left(client, table, cls):
    X, y = table
    X = X.copy()
    X[500, 1] = np.nan
    model = cls(3, client=client, columns=None)
    with pytest.raises(InvalidInputError, match=r"X of partition 2 must be finite .* got NaN at row 199, column 1"):
        model.fit(*on_cluster(X, y))
    with pytest.raises(NotFittedError):
        model.to_local()
    assert not client.futures


def test_an_interrupt_leaves_no_tasks(client, table, cls):
    def interrupt(info):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cls(50, client=client).fit(*on_cluster(*table), callback=interrupt)
    assert not client.futures
    assert wait_until(lambda: not client.run_on_scheduler(
        lambda dask_scheduler: [str(key) for key in dask_scheduler.tasks]))


def test_what_is_not_of_dask_is_refused(client, table):
    X, y = table
    dX, dy = on_cluster(X, y)
    model = on_dask.DaskGBRFF2Classifier(3, client=client)
    with pytest.raises(InvalidInputError, match="X must be a Dask array, data frame or series, got ndarray"):
        model.fit(X, dy)
    with pytest.raises(InvalidInputError, match=r"y must have as many partitions as X \(4\), got 1"):
        model.fit(dX, dy.rechunk(-1))
    with pytest.raises(InvalidInputError, match="eval_set must be a tuple"):
        model.fit(dX, dy, eval_set=[3])
    with pytest.raises(InvalidInputError, match=r"client must be a dask\.distributed\.Client or None, got int"):
        on_dask.DaskGBRFF2Classifier(3, client=3).fit(dX, dy)
    with pytest.raises(InvalidInputError, match="max_samples"):
        on_dask.DaskGBRFF2Classifier(3, client=client, max_samples=0).fit(dX, dy)
    with pytest.raises(InvalidInputError, match="X must be a Dask array or data frame, got ndarray"):
        on_dask.predict(rffkern.GBRFF2Classifier(2).fit(X, y), X)
    with pytest.raises(InvalidInputError, match="got 1D"):
        on_dask.predict(rffkern.GBRFF2Classifier(2).fit(X, y), dX[:, 0])
    with pytest.raises(NotFittedError):
        model.predict(dX)


@pytest.mark.parametrize("name", ["RFFNetClassifier", "RFFNetRegressor", "SparseKernelClassifier",
                                  "SparseKernelRegressor", "PBRFFClassifier"])
def test_a_family_that_is_not_there_says_what_to_do(name):
    with pytest.raises(ImportError, match=f"no Dask{name}: .* Train {name} on a sample of the rows"):
        getattr(on_dask, f"Dask{name}")
    assert hasattr(rffkern, name)


def test_what_is_no_name_is_no_attribute():
    assert not hasattr(on_dask, "DaskGBRFF3Classifier")


@pytest.mark.parametrize("name", [name for name in on_dask.__all__ if name.startswith("Dask")])
def test_help_names_the_ordinary_model(name):
    family = name.removeprefix("Dask")
    assert inspect.getdoc(getattr(on_dask, name)).startswith(f"`{family}`, trained on Dask collections.\n\nParameters")


def test_parameters_are_those_of_the_ordinary_model(client):
    model = on_dask.DaskGBRFF2Classifier(7, gamma=0.5, client=client)
    assert model.get_params() == GBRFF2Classifier(7, gamma=0.5).get_params() | {"client": client}
    assert model.set_params(gamma=1.0, client=None).get_params()["gamma"] == 1.0
    assert type(model)(**model.get_params()).gamma == 1.0
    assert repr(model) == "DaskGBRFF2Classifier(n_estimators=7, gamma=1.0)"
    with pytest.raises(InvalidInputError, match="Invalid parameter 'gama'"):
        model.set_params(gama=1.0)
    with pytest.raises(TypeError, match="gama"):
        on_dask.DaskGBRFF2Classifier(gama=1.0)
