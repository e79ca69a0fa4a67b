"""Time of training RFFNet, against a twin in PyTorch that trains as the authors do."""

import importlib.util
import statistics
import sys
import time

import numpy as np
from common.measure import result, show
from common.protocols import load, permuted_split, standardised

from rffnet.protocols import SYNTHETIC
from rffnet.twin import TWINS, JointTwin

BATCH_SIZE = 32
SIZES = [5000, 50_000]
SETS = ["ailerons", "cpu_act"]
TIMED_EPOCHS = 3  # of rffkern in a turn
STEPS_PER_EPOCH = 32  # at least: an epoch of rffkern passes over few rows several times

# Trained to the end with the defaults of the authors' code, and with what they chose for SE1 and SE2.
RACES = {**{form: (form, {}) for form in TWINS},
         "tuned": ("joint", {"n_components": 300, "reg_lambda": 0.1, "batch_size": 128})}


def n_components(n_samples):
    """The paper's number of random features."""
    return int(np.sqrt(n_samples) * np.log(n_samples))


def epoch_timer(X, y, **params):
    """A function that trains for a few epochs and returns the CPU seconds of one pass over the rows."""
    from rffkern import RFFNetRegressor

    model = RFFNetRegressor(n_components(len(y)), max_epochs=1 + TIMED_EPOCHS, early_stopping_rounds=None,
                            validation_fraction=0, random_state=0, n_jobs=1, **params)

    def measure():
        times = []
        model.fit(X, y, callback=lambda _: times.append(time.process_time()))
        n_batches = -(-len(y) // model.batch_size)
        passes = -(-STEPS_PER_EPOCH // n_batches)
        return (times[-1] - times[0]) / (len(times) - 1) / passes

    return measure


def twin_timer(X, y, make_twin, **params):
    """A function that passes over the rows once and returns the CPU seconds."""
    twin = make_twin(n_components(len(y)), batch_size=BATCH_SIZE, **params).prepare(X, y)

    def measure():
        started = time.process_time()
        twin.epoch()
        return time.process_time() - started

    return measure


def epochs(name, n_samples, repetitions):
    """Seconds of one pass over the rows, medians, all in turn after a first round that does not count."""
    from rffkern import RFFNetRegressor

    X, y = SYNTHETIC[name].draw(n_samples, np.random.default_rng(0))
    default = RFFNetRegressor().batch_size
    measures = {"rffkern": epoch_timer(X, y, batch_size=BATCH_SIZE),
                "rffkern joint": epoch_timer(X, y, batch_size=BATCH_SIZE, solver="joint")}
    if default != BATCH_SIZE:
        measures[f"rffkern batch {default}"] = epoch_timer(X, y)
    measures |= {f"twin {form}": twin_timer(X, y, make_twin) for form, make_twin in TWINS.items()}
    measures["twin joint, loader"] = twin_timer(X, y, JointTwin, loader=True)
    times = {name: [] for name in measures}
    for turn in range(1 + repetitions):
        for label, measure in measures.items():
            seconds = measure()
            if turn:
                times[label].append(seconds)
    return result(f"epoch {name} p = {X.shape[1]} s = {n_components(n_samples)} batch {BATCH_SIZE}", n_samples,
                  {label: statistics.median(values) for label, values in times.items()})


def rows_of(name, n_samples, folder, seed):
    """Training and validation rows: generated ones as they are; real rows and their targets are standardised."""
    if name in SYNTHETIC:
        X, y = SYNTHETIC[name].draw(n_samples, np.random.default_rng(seed))
        return permuted_split(X, y, seed, n_samples // 10)
    X, y = load(folder, name)
    X, X_eval, y, y_eval = permuted_split(np.asarray(X, float), np.asarray(y, float), seed, len(y) // 10)
    return *standardised(X, X_eval), *standardised(y, y_eval)


def learning_curve(X, X_eval, y, y_eval, seed, level):
    """Validation MSE and CPU seconds after each epoch, with defaults, until the loss is as low."""
    from rffkern import RFFNetRegressor

    losses, seconds, variance = [], [], y.var()

    def watch(info):
        losses.append(variance * info.eval_loss)  # which is in units of the variance of y
        seconds.append(time.process_time() - started)
        return losses[-1] <= level

    started = time.process_time()
    RFFNetRegressor(random_state=seed, n_jobs=1).fit(X, y, eval_set=(X_eval, y_eval), callback=watch)
    return np.array(losses), np.array(seconds)


def race(name, n_samples, folder, seed):
    """For each twin: CPU seconds until rffkern and until the twin reach the twin's lowest validation loss."""
    X, X_eval, y, y_eval = rows = rows_of(name, n_samples, folder, seed)
    common = {"n_components": n_components(len(y)), "seed": seed}
    twins = {label: TWINS[form](**common | params).fit(X, y, X_eval, y_eval) for label, (form, params) in RACES.items()}
    losses, seconds = learning_curve(*rows, seed, min(twin.eval_loss.min() for twin in twins.values()))
    found = {}
    for label, twin in twins.items():
        level, reached = twin.eval_loss.min(), np.flatnonzero(losses <= twin.eval_loss.min())
        ours = seconds[reached[0]] if reached.size else np.inf
        found[label] = ours, twin.seconds[twin.best]
        print(f"  seed {seed}, twin {label}: loss {level:.5g} ({level / y_eval.var():.3f} of the variance) in epoch "
              f"{twin.best + 1} of {len(twin.eval_loss)}, {twin.seconds[-1]:.1f} s in all; rffkern "
              + (f"in epoch {reached[0] + 1}" if reached.size
                 else f"does not get below {losses.min():.5g}, in {seconds[-1]:.1f} s"), flush=True)
    return found


def races(name, n_samples, folder, repetitions, limit):
    """Medians over seeds, until their time is used up; prints the ratio of each seed, 0 if the loss is not reached."""
    started, found = time.process_time(), []
    for seed in range(repetitions):
        found.append(race(name, n_samples, folder, seed))
        if time.process_time() - started > limit:
            break
    for label in RACES:
        ours, twin = np.transpose([pairs[label] for pairs in found])
        print(f"  ratios to twin {label}: " + ", ".join(f"{ratio:.1f}" for ratio in twin / ours))
        yield result(f"{name} to the loss of twin {label}", n_samples,
                     {"rffkern": float(np.median(ours)), "twin": float(np.median(twin))})


def rffnet(arguments):
    """One pass over the rows, then whole trainings to equal validation loss."""
    if importlib.util.find_spec("torch") is None:
        sys.exit("rffnet compares with PyTorch, which is not installed: pip install torch")
    for make_twin in TWINS.values():  # loads what PyTorch loads late
        make_twin(2).prepare(np.eye(BATCH_SIZE), np.ones(BATCH_SIZE)).epoch()
    problems = [(name, n) for n in arguments.sizes or SIZES for name in SYNTHETIC]
    results = [show(epochs(name, n, arguments.repeat)) for name, n in problems]
    if arguments.data:
        problems += [(name, len(load(arguments.data, name)[1])) for name in SETS]
    for name, n in problems:
        results += map(show, races(name, n, arguments.data, arguments.repeat, arguments.limit))
    return results


COMMANDS = {"rffnet": rffnet}
