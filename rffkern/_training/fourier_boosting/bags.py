"""All bags of a model: their training side by side on threads, and what is done after each round."""

import copy
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np

from ..._estimator.monitor import RoundInfo, TimeLimit, current_listener
from ..._rows.threads import check_n_threads
from .base_learners import learners_of
from .boosting import Bag, BagState, add_term, boost_bag
from .eval_metric import ValidationMetric
from .parameters import Hyperparameters
from .training_rows import BaggedRows, Columns, Losses

Callback = Callable[[RoundInfo], Any]

# Seconds after which the main thread looks at signals while bags are trained beside it, and seconds that it waits for
# them to end after one.  A thread ends after its round, which may take longer on many rows.
_SIGNAL_SECONDS, _JOIN_SECONDS = 0.1, 0.2

# Shortest time between two calls of the progress listener, and the parts of the work that it hears of.
_REPORT_SECONDS, _REPORT_PARTS = 0.1, 1000

_MANY_ROWS = 1 << 62  # for which all threads are worth starting


def train_bags(model: Any, columns: Columns, sizes: Hyperparameters, states: Sequence[BagState],
               open_rows: Callable[[int, int], tuple[BaggedRows, Sequence[Any]]], callback: Callback | None,
               limit: TimeLimit, save: Callable[[Callable[[], Sequence[BagState]], bool], None] | None = None,
               one_by_one: bool = False, metrics: Sequence[ValidationMetric | None] = ()) -> tuple[list[Bag], bool]:
    """Train all bags, each from its state, and return whether the callback has ended the fit.

    Bags are trained side by side, one a thread; threads beyond their number share the rows of each bag.  Each bag may
    take an equal share of the time that is left.  Bags that this ends go on from their states with the time that others
    have left over.

    Parameters
    ----------
    states : sequence of BagState, one for each bag
    open_rows : callable of (index of a bag, number of threads)
        Returns the rows of the bag, and those of additional evaluation sets.
    save : callable of (a function that makes the states of all bags, whether the bag has ended), or None
        Called after each round.
    one_by_one : bool
        Whether bags are trained one after the other, and none goes on later: rows in partitions have the scores of one
        bag at a time.
    metrics : sequence of ValidationMetric, one for each bag, or none
        Early stopping is by these in place of the validation loss.
    """
    n_threads, n_all_threads = 1, check_n_threads(model.n_jobs, _MANY_ROWS)
    if not one_by_one and callback is None and not metrics:  # whose code need not know of threads
        n_threads = min(len(states), n_all_threads)
    monitor = BagMonitor(model, states, callback, save, metrics)

    def train(bag: int, n_waiting: int) -> Bag:
        """Train a bag from its latest state on; `n_waiting` bags, this one included, share the time that is left."""
        rows, evaluation_sets = open_rows(bag, n_all_threads // n_threads)
        learners = learners_of(model, columns, sizes, rows, trees_alone=bag >= len(states) - sizes.n_tree_bags)
        end, metric = limit.share(-(-n_waiting // n_threads)), monitor.metric_of(bag)
        trained = boost_bag(rows, evaluation_sets, learners, model.n_estimators, sizes.patience, monitor.states[bag],
                            partial(monitor.after_round, bag, end), metric, sizes.least_fall if metric is None else 0.0)
        return monitor.after_bag(bag, trained)

    bags = dict[int, Bag]()
    unfinished = list(range(len(states)))
    while unfinished:
        jobs = [partial(train, bag, len(unfinished) - place) for place, bag in enumerate(unfinished)]
        bags |= dict(zip(unfinished, run_in_threads(jobs, n_threads, monitor.stop), strict=True))
        unfinished = [bag for bag in unfinished if not bags[bag].is_complete]
        if monitor.stop.is_set() or limit.is_over() or one_by_one:
            break
    if model.verbose and unfinished and not monitor.stop.is_set():
        print(f"max_seconds has ended {len(unfinished)} of {len(states)} bags", file=sys.stderr)
    return [bags[bag] for bag in range(len(states))], monitor.stop.is_set()


class BagMonitor:
    """Callback, checkpoint, progress and lines of `verbose` after each round of any bag, and the latest states of all.

    Bags call it from their threads.  `stop` tells all of them to end: the callback has said so, or one has failed.
    """

    def __init__(self, model: Any, states: Sequence[BagState], callback: Callback | None,
                 save: Callable[[Callable[[], Sequence[BagState]], bool], None] | None,
                 metrics: Sequence[ValidationMetric | None]) -> None:
        self._model, self._callback, self._save, self._metrics = model, callback, save, metrics
        self.states, self.stop = [*states], threading.Event()
        self._measured = [""] * len(states)  # the latest value of the metric of each bag, to be printed
        self._lock, self._started = threading.Lock(), time.perf_counter()
        self._progress = ProgressReporter(len(states), model.n_estimators)

    def metric_of(self, bag: int) -> Callable[[Any], float] | None:
        """The metric by which early stopping of a bag is, lower being better; None where it is by the loss."""
        metric = self._metrics[bag] if self._metrics else None
        if metric is None:
            return None

        def measure(scores: Any) -> float:
            name, value, least = metric(scores)
            self._measured[bag] = f"  {name} {value:.6g}"
            return least

        return measure

    def after_round(self, bag: int, end: TimeLimit, n_rounds: int, losses: Losses,
                    state_now: Callable[[], BagState]) -> bool:
        """Report, save and print a round; return whether the bag goes on."""
        def states_now() -> Sequence[BagState]:
            self.states[bag] = state_now()
            return [*self.states]

        self._progress.round_done(bag, n_rounds, losses)
        if self._save is not None:
            self._save(states_now, False)
        seconds, n_estimators = time.perf_counter() - self._started, self._model.n_estimators
        if self._callback is not None and self._callback(
                RoundInfo(n_rounds, n_estimators, losses.train, losses.validation, seconds, bag)):
            self.stop.set()
        if self._model.verbose and n_rounds % self._model.verbose == 0:
            with self._lock:
                print(f"bag {bag + 1}/{len(self.states)}  round {n_rounds}/{n_estimators}  train loss "
                      f"{losses.train:.6g}  eval loss {losses.validation:.6g}{self._measured[bag]}  {seconds:.1f} s",
                      file=sys.stderr)
        return not (self.stop.is_set() or end.is_over())

    def after_bag(self, bag: int, trained: Bag) -> Bag:
        """Keep and report a bag that has ended; without its state, unless more rounds may follow."""
        if trained.state is not None and (self._save is not None or not trained.is_complete):
            self.states[bag] = trained.state
        if self._save is not None:
            self._save(lambda: [*self.states], True)
        if trained.is_complete:
            self._progress.bag_done(bag)
        return trained if self._model.warm_start or not trained.is_complete else trained._replace(state=None)


def refit_bags(model: Any, columns: Columns, sizes: Hyperparameters, bags: Sequence[Bag],
               open_rows: Callable[["np.random.Generator", int], BaggedRows], limit: TimeLimit) -> list[Bag]:
    """Train bags again on all rows, which `open_rows` makes, by as many rounds of the same base learners.

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
                         add_term(rows, learners[type(term)], rng, is_first=not steps)[:2])
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
