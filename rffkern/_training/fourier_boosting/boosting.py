"""The rounds of one bag, and all bags on threads."""

import copy
import itertools
import math
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

import numpy as np

from ..._estimator.monitor import RoundInfo, TimeLimit, current_listener
from ..._native import boosting
from ..._native.array_types import Double
from ..._rows.threads import check_n_threads
from .base_learners import LEAF_RIDGE, LEARNERS, BaseLearner, LinearLearner, TreeLearner
from .eval_metric import ValidationMetric
from .parameters import Hyperparameters
from .sparse_columns import SparseLinearLearner
from .training_rows import BaggedRows, Columns, Losses

Callback = Callable[[RoundInfo], Any]
Steps = Sequence[tuple[Any, float]]  # of each round its term, None where the base learner has found none, and the step

# Rounds at the start in which the base learners take turns, all but trees twice as often.
_TURNS = 30

# Least chance of the base learner of the cheapest rounds, in units of that of the best, and rounds without a gain after
# which it is half.
_LEAST_CHANCE, _MISSES = 0.1, 5

# Mean training loss below which more rounds would fit rounding errors.
_LOSS_FLOOR = 1e-12

# Share by which a step of Newton's method may raise the training loss, and halvings until it does not.
_LARGEST_RISE, _MOST_HALVINGS = 0.01, 10

# Seconds after which the main thread looks at signals while bags are trained beside it, and seconds that it waits for
# them to end after one.  A thread ends after its round, which may take longer on many rows.
_SIGNAL_SECONDS, _JOIN_SECONDS = 0.1, 0.2

# Shortest time between two calls of the progress listener, and the parts of the work that it hears of.
_REPORT_SECONDS, _REPORT_PARTS = 0.1, 1000

# Training rows for each column from which on there is no screening: chances then follow what columns have gained.
_SCREENED_ROWS_PER_COLUMN = 5

# The best threshold on the best of d columns of noise gains 2 (log d + this) degrees of freedom in up to nine tables of
# a hundred.
_SCREENING_CUTS = 4.0

_MANY_ROWS = 1 << 62  # for which all threads are worth starting


class BagState(NamedTuple):
    """All that later rounds of a bag depend on; it is never changed."""

    rng: "np.random.Generator"
    steps: Steps = ()  # of all rounds
    losses: Sequence[Losses] = ()  # before the first round and after each
    best_round: int = 0  # number of rounds up to the lowest validation loss
    validation_scores: Any = None  # (n_outputs, n_validation) after these
    unseen: "UnseenScores | None" = None
    learners: Mapping[str, tuple[Any, ...]] = {}  # histories of base learners by name
    scores: Any = None  # (n_outputs, n_rows) after all rounds; None before the first
    evaluation_scores: Sequence[Any] = ()  # the same of additional evaluation sets


class UnseenScores(NamedTuple):
    """Scores of validation rows after rounds that they have not chosen: those up to the lowest loss of the other half.

    After the rounds that all have chosen, few validation rows have lower losses than new rows.
    """

    scores: Any  # (n_outputs, n_validation), padding too
    lowest: tuple[float, float]  # losses of both halves

    def after_round(self, rows: BaggedRows) -> "UnseenScores":
        """Those after one more round, by its losses."""
        scores, lowest = self.scores, [*self.lowest]
        for half, loss in enumerate(rows.half_sums):
            if loss < lowest[half]:
                lowest[half] = loss
                scores = np.where(rows.halves == bool(half), scores, rows.validation_scores())
        return self if scores is self.scores else UnseenScores(scores, (lowest[0], lowest[1]))


class Bag(NamedTuple):
    """A boosted model: the rounds that are kept."""

    steps: Steps
    losses: Sequence[Losses]  # before the first round and after each
    gain_shares: dict[str, float]  # shares of the base learners in the improvement of the validation loss
    relevances: dict[str, Double]  # of columns, by base learner, sum 1
    validation_scores: Any  # (n_outputs, n_validation) after the rounds kept
    unseen_scores: Any = None  # `UnseenScores.scores`; None where `validation_scores` are as good
    state: BagState | None = None  # for more rounds
    is_complete: bool = True  # False where its time or the callback has ended it
    choices: Mapping[str, Mapping[str, Any]] = {}  # of base learners by name
    rng: "np.random.Generator | None" = None  # after all rounds


def boost_bag(rows: BaggedRows, evaluation_sets: Sequence[Any], learners: Sequence[BaseLearner],
              n_rounds: int, patience: int | None, state: BagState,
              after_round: Callable[[int, Losses, Callable[[], BagState]], bool],
              metric: Callable[[Any], float] | None = None, least_fall: float = 0.0) -> Bag:
    """Boost up to so many rounds in all, from a state on.

    With patience, rounds end that many after the lowest validation loss, or `metric` of the validation scores where
    there is one, and those up to it are kept; or where the lowest loss has fallen in as many rounds by less than
    `least_fall`, a share of the first loss.  A state where they have ended has no more.  `evaluation_sets` decide
    nothing.  `after_round` says whether to go on; it may call its last argument for a state.
    """
    rng, steps, best = copy.deepcopy(state.rng), [*state.steps], state.best_round
    validation_scores, unseen = state.validation_scores, state.unseen
    if state.scores is not None:
        for each, scores in zip((rows, *evaluation_sets), (state.scores, *state.evaluation_scores),
                                strict=True):
            each.restore(scores)
        for learner in learners:
            learner.restore(state.learners[learner.name])
    else:
        validation_scores = rows.validation_scores()
        if rows.halves is not None and patience is not None and metric is None:
            unseen = UnseenScores(validation_scores, rows.half_sums)
    curve = [*state.losses] or [_with_evaluation(rows.losses, evaluation_sets)]
    lowest = curve[best].validation if metric is None else metric(validation_scores)
    lows = [*itertools.accumulate((losses.validation for losses in curve), min)]

    def has_ended() -> bool:
        """Whether more rounds would not help."""
        if patience is not None and len(steps) >= patience and (
                len(steps) - best >= patience or lows[-1 - patience] - lows[-1] < least_fall * lows[0]):
            return True
        return len(steps) > 0 and rows.losses.train < _LOSS_FLOOR

    def state_of(scores: Any, others: Sequence[Any]) -> BagState:
        return BagState(copy.deepcopy(rng), [*steps], [*curve], best, validation_scores, unseen,
                        {learner.name: learner.history() for learner in learners}, scores, others)

    def state_now() -> BagState:
        return state_of(rows.scores.copy(), [each.scores.copy() for each in evaluation_sets])

    while len(steps) < n_rounds and not has_ended():
        learner = _sample_learner(learners, len(steps), rng)
        before = rows.losses
        term, step, after = _add_term(rows, learner, rng, is_first=not steps)
        if term is not None:
            for each in evaluation_sets:
                each.set_direction(term)
                each.add_step(step)
        learner.record_gain(before.validation - after.validation)
        steps.append((term, step))
        curve.append(_with_evaluation(after, evaluation_sets))
        lows.append(min(lows[-1], after.validation))
        value = after.validation if metric is None else metric(rows.validation_scores())
        if value < lowest:
            lowest, best, validation_scores = value, len(steps), rows.validation_scores()
        unseen = None if unseen is None else unseen.after_round(rows)
        if not after_round(len(steps), after, state_now):
            break

    is_complete = len(steps) >= n_rounds or has_ended()
    state = state_of(rows.scores, [each.scores for each in evaluation_sets])
    n_kept = best
    if patience is None:
        n_kept, validation_scores = len(steps), rows.validation_scores()
    gains = {learner.name: max(learner.total_gain, 0.0) for learner in learners}
    total = sum(gains.values())
    gain_shares = {name: gain / total if total else 1 / len(gains) for name, gain in gains.items()}
    relevances = {learner.name: learner.relevance_shares for learner in learners}
    return Bag(steps[:n_kept], curve[: n_kept + 1], gain_shares, relevances, validation_scores,
               None if unseen is None or patience is None else unseen.scores, state, is_complete,
               {learner.name: learner.choices for learner in learners}, rng)


def _add_term(rows: BaggedRows, learner: BaseLearner, rng: "np.random.Generator",
              is_first: bool) -> tuple[Any, float, Losses]:
    """Fit a term and add it to the scores: the term, None where there is none, its step, and the losses after it."""
    term, step, before = learner.fit(rows, rng), 0.0, rows.losses
    is_least_squares = rows.has_unit_hessian and learner.facts.takes_best_step
    if term is not None:
        if is_first and learner.is_first:
            step = 1.0  # with which the validation loss falls, as the learner has tried
        elif is_least_squares or not learner.facts.takes_best_step:
            step = learner.rate
        else:
            step = learner.rate * rows.best_step()
    after = rows.add_step(step)
    if not is_least_squares:
        # Newton's method goes too far in leaves where the Hessian is small, and along terms that are large in few rows
        # where the loss has exponentials: halve until it rises little.
        for _ in range(_MOST_HALVINGS):
            if after.train <= (1 + _LARGEST_RISE) * before.train:
                break
            step *= 0.5
            after = rows.add_step(-step)
    if term is not None:
        learner.record_term(term, step)
    return term, step, after


def _sample_learner(learners: Sequence[BaseLearner], round_index: int, rng: "np.random.Generator") -> BaseLearner:
    """The base learner of a round: in turns at first, then by recent improvement of the validation loss.

    One whose rounds are dear, or lower the loss no more, is asked ever more rarely.
    """
    if round_index == 0 and any(learner.is_first for learner in learners):
        return next(learner for learner in learners if learner.is_first)
    if len(learners) == 1:
        return learners[0]
    if round_index < _TURNS:
        turns = [each for each in learners for _ in range(2 if each.facts.takes_best_step else 1)]
        return turns[round_index % len(turns)]
    largest = max([learner.mean_gain for learner in learners])
    least = _LEAST_CHANCE * (largest if largest > 0 else 1.0) * min([learner.mean_cost for learner in learners])
    chances = [max(learner.mean_gain, 0.0) + least / (learner.mean_cost * (1 + learner.n_misses / _MISSES))
               for learner in learners]
    place = rng.random() * sum(chances)
    for learner, chance in zip(learners, chances, strict=True):
        place -= chance
        if place < 0:
            return learner
    return learners[-1]  # by rounding


def _with_evaluation(losses: Losses, evaluation_sets: Sequence[Any]) -> Losses:
    if not evaluation_sets:
        return losses
    return losses._replace(evaluation=tuple(each.losses.validation for each in evaluation_sets))


def train_bags(model: Any, columns: Columns, sizes: Hyperparameters, states: Sequence[BagState],
               open_rows: Callable[[int, int], tuple[BaggedRows, Sequence[Any]]], callback: Callback | None,
               limit: TimeLimit, save: Callable[[Callable[[], Sequence[BagState]], bool], None] | None = None,
               one_by_one: bool = False, metrics: Sequence[ValidationMetric | None] = ()) -> tuple[list[Bag], bool]:
    """Train all bags, each from its state, and say whether the callback has ended the fit.

    `open_rows` makes the rows of a bag by its index, and those of additional evaluation sets, for a number of threads:
    bags are trained side by side, and threads that are left over share the rows of each.  A bag gets an equal share of
    the time that is left for those that have not begun.  Those that it ends go on from their states
    with what others have left over; not `one_by_one`, of rows in partitions, which keep no scores.  `metrics` of their
    validation rows, if there are any, end bags in place of the loss.  `save` is called
    after each round with a function that makes states of all bags, and whether the bag has ended.
    """
    stop, lock, started = threading.Event(), threading.Lock(), time.perf_counter()
    progress = ProgressReporter(len(states), model.n_estimators)
    n_threads, n_all_threads = 1, check_n_threads(model.n_jobs, _MANY_ROWS)
    if not one_by_one and callback is None and not metrics:  # whose code need not know of threads
        n_threads = min(len(states), n_all_threads)
    latest = [*states]  # of each bag

    def train(bag: int, n_waiting: int) -> Bag:
        """Train a bag from its latest state on; so many, this one too, have their time before them."""
        rows, evaluation_sets = open_rows(bag, n_all_threads // n_threads)
        learners = learners_of(model, columns, sizes, rows, trees_alone=bag >= len(states) - sizes.n_tree_bags)
        end, metric, measured = limit.share(-(-n_waiting // n_threads)), metrics[bag] if metrics else None, ""

        def measure(scores: Any) -> float:
            nonlocal measured
            assert metric is not None
            name, value, least = metric(scores)
            measured = f"  {name} {value:.6g}"
            return least

        def after_round(n_rounds: int, losses: Losses, state_now: Callable[[], BagState]) -> bool:
            def states_now() -> Sequence[BagState]:
                latest[bag] = state_now()
                return [*latest]

            progress.round_done(bag, n_rounds, losses)
            if save is not None:
                save(states_now, False)
            seconds = time.perf_counter() - started
            if callback is not None and callback(
                    RoundInfo(n_rounds, model.n_estimators, losses.train, losses.validation, seconds, bag)):
                stop.set()
            if model.verbose and n_rounds % model.verbose == 0:
                with lock:
                    print(f"bag {bag + 1}/{len(states)}  round {n_rounds}/{model.n_estimators}  train loss "
                          f"{losses.train:.6g}  eval loss {losses.validation:.6g}{measured}  {seconds:.1f} s",
                          file=sys.stderr)
            return not (stop.is_set() or end.is_over())

        trained = boost_bag(rows, evaluation_sets, learners, model.n_estimators, sizes.patience, latest[bag],
                            after_round, None if metric is None else measure,
                            sizes.least_fall if metric is None else 0.0)
        if trained.state is not None and (save is not None or not trained.is_complete):
            latest[bag] = trained.state
        if save is not None:
            save(lambda: [*latest], True)
        if trained.is_complete:
            progress.bag_done(bag)
        return trained if model.warm_start or not trained.is_complete else trained._replace(state=None)

    bags = dict[int, Bag]()
    unfinished = list(range(len(states)))
    while unfinished:
        jobs = [partial(train, bag, len(unfinished) - place) for place, bag in enumerate(unfinished)]
        bags |= dict(zip(unfinished, run_in_threads(jobs, n_threads, stop), strict=True))
        unfinished = [bag for bag in unfinished if not bags[bag].is_complete]
        if stop.is_set() or limit.is_over() or one_by_one:
            break
    if model.verbose and unfinished and not stop.is_set():
        print(f"max_seconds has ended {len(unfinished)} of {len(states)} bags", file=sys.stderr)
    return [bags[bag] for bag in range(len(states))], stop.is_set()


def learners_of(model: Any, columns: Columns, sizes: Hyperparameters, rows: BaggedRows, trees_alone: bool = False,
                choices: Mapping[str, Mapping[str, Any]] | None = None) -> list[BaseLearner]:
    """The base learners of a bag: all of a model, or where all columns have an order those that keep it.

    Of sparse rows a linear function of all columns is one of them in any case: no other reads them.  `choices` are
    those of an earlier bag, by the names of its base learners.
    """
    classes = [LEARNERS[name] for name in model.base_learners]
    if columns.sparse is not None:
        classes = [*(learner for learner in classes if learner is not LinearLearner), SparseLinearLearner]
    elif columns.constraints is not None and columns.constraints.ordered.all():
        classes = [learner for learner in classes if learner.facts.keeps_order]
    if trees_alone:
        classes = [TreeLearner]
    screened = screened_chances(columns, rows)
    return [learner(columns, sizes, rows, screened, **{} if choices is None else choices[learner.name])
            for learner in classes if choices is None or learner.name in choices]


def screened_chances(columns: Columns, rows: BaggedRows) -> Double | None:
    """Chances of raw columns by the gain of their best threshold, (n_sources,), sum 1; None where rows are many.

    Of 300 columns of which one matters, sets drawn without regard hardly ever have it, and terms of the others fit
    noise until nothing of the gradient is left.  Columns that gain more than noise would share what is not spread
    evenly; how much is spread evenly grows with the number of rows, for columns that matter together alone.
    """
    sample, n_columns = rows.sample, columns.n_sources
    share = np.count_nonzero(sample.weight[: sample.n_train]) / (_SCREENED_ROWS_PER_COLUMN * n_columns)
    if share >= 1:
        return None
    n_outputs, gradient, hessian, n_train = len(sample.scores), sample.gradient, sample.hessian, sample.n_train
    bin_counts, sources, signs = columns.bin_counts, columns.sources[columns.binned], columns.signs[columns.binned]
    column, threshold = np.empty((2, 1), dtype=np.intp)
    gain, values = np.zeros(1), np.empty((2, n_outputs))
    scratch = np.empty(boosting.store_size(n_train, n_outputs, 1, 1))
    gains = np.zeros(n_columns)
    for candidate, source in enumerate(sources):
        boosting.grow_tree(sample.bins, bin_counts, signs, gradient, hessian, np.array([candidate]), 1, LEAF_RIDGE,
                           n_train, column, threshold, gain, values, scratch, 1)
        gains[source] = max(gains[source], gain[0])
    # What a degree of freedom gains by chance.
    squares = np.einsum("kn,kn->k", gradient[:, :n_train], gradient[:, :n_train], dtype=np.float64)
    unit = (squares / np.maximum(hessian[:, :n_train].sum(axis=1, dtype=np.float64), 1e-30)).sum()
    passes = gains > 2 * (math.log(n_columns) + _SCREENING_CUTS) * unit
    if not passes.any():
        return np.full(n_columns, 1 / n_columns)
    return share / n_columns + (1 - share) / passes.sum() * passes


def train_again(model: Any, columns: Columns, sizes: Hyperparameters, bags: Sequence[Bag],
                open_rows: Callable[["np.random.Generator", int], BaggedRows], limit: TimeLimit) -> list[Bag]:
    """Train bags once more on all rows, which `open_rows` makes: their rounds have the base learners that they had.

    A bag whose time ends before its last round stays as it was.
    """
    stop = threading.Event()
    n_threads = min(len(bags), n_all_threads := check_n_threads(model.n_jobs, _MANY_ROWS))

    def train(bag: Bag) -> Bag:
        rng = copy.deepcopy(bag.rng)
        assert rng is not None
        rows = open_rows(rng, n_all_threads // n_threads)
        learners = {each.term: each for each in learners_of(model, columns, sizes, rows, choices=bag.choices)}
        steps: list[tuple[Any, float]] = []
        for term, _ in bag.steps:
            if limit.is_over() or stop.is_set():
                return bag
            steps.append((None, 0.0) if term is None else
                         _add_term(rows, learners[type(term)], rng, is_first=not steps)[:2])
        return bag._replace(steps=steps,
                            relevances={each.name: each.relevance_shares for each in learners.values()})

    return run_in_threads([partial(train, bag) for bag in bags], n_threads, stop)


def run_in_threads(jobs: Sequence[Callable[[], Bag]], n_threads: int, stop: threading.Event) -> list[Bag]:
    """Results of the jobs, in their order.  Where one fails, or a signal comes, `stop` tells the others to end.

    On fewer threads where the system lets no more be started.
    """
    if n_threads == 1 or len(jobs) == 1:
        return [job() for job in jobs]
    waiting, results, threads = deque(enumerate(jobs)), dict[int, Bag](), list[threading.Thread]()
    done: SimpleQueue[tuple[int, Bag | BaseException]] = SimpleQueue()
    try:
        for _ in range(n_threads):
            thread = threading.Thread(target=_work_off, args=(waiting, done))
            try:
                thread.start()
            except RuntimeError:
                break
            threads.append(thread)
        if not threads:
            return [job() for job in jobs]
        while len(results) < len(jobs):
            try:
                index, result = done.get(timeout=_SIGNAL_SECONDS)
            except Empty:
                continue
            if isinstance(result, BaseException):
                try:
                    raise result
                finally:
                    del result  # it refers to this frame
            results[index] = result
        return [results[index] for index in range(len(jobs))]
    except BaseException:
        stop.set()
        waiting.clear()
        latest = time.monotonic() + _JOIN_SECONDS
        for thread in threads:
            thread.join(max(0.0, latest - time.monotonic()))
        raise


def _work_off(waiting: deque[tuple[int, Callable[[], Bag]]],
              done: SimpleQueue[tuple[int, Bag | BaseException]]) -> None:
    """Do jobs until none is left."""
    while True:
        try:
            index, job = waiting.popleft()
        except IndexError:
            return
        try:
            done.put((index, job()))
        except BaseException as error:
            done.put((index, error))


class ProgressReporter:
    """Tells the listener of the thread that makes it how far bags are, from any thread, one thread at a time.

    Bags end early, nobody knows when: a bag is expected to take the mean of those that have ended.
    """

    def __init__(self, n_bags: int, n_estimators: int) -> None:
        self._listener, self._lock = current_listener(), threading.Lock()
        self._n_rounds, self._n_estimators, self._ended = [0] * n_bags, n_estimators, set[int]()
        self._shown, self._due = 0, 0.0

    def round_done(self, bag: int, n_rounds: int, losses: Losses) -> None:
        """Report that a bag has trained so many rounds."""
        self._n_rounds[bag] = n_rounds
        if self._listener is None or time.monotonic() < self._due:
            return
        with self._lock:
            if time.monotonic() < self._due:
                return
            lengths = [self._n_rounds[ended] for ended in self._ended]
            expected = max(1.0, sum(lengths) / len(lengths)) if lengths else float(self._n_estimators)
            done = [1.0 if each in self._ended else min(1.0, length / expected)
                    for each, length in enumerate(self._n_rounds)]
            self._shown = max(self._shown, round(_REPORT_PARTS * (sum(done) / len(done))))
            self._listener("training", self._shown, _REPORT_PARTS,
                           f"{len(self._ended)} of {len(self._n_rounds)} bags  train loss {losses.train:.4g}  "
                           f"validation loss {losses.validation:.4g}")
            self._due = time.monotonic() + _REPORT_SECONDS

    def bag_done(self, bag: int) -> None:
        """Report that a bag is trained."""
        with self._lock:
            self._ended.add(bag)
