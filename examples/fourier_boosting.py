"""Fourier boosting in a hundred lines of NumPy: docs/hundred_lines.md explains it.

Trains FourierBoostingRegressor(n_estimators, n_bags=1, base_learners=("fourier",), columns=None, kernel_ridge=False) on
up to 1,000 rows: from the same seed the same model, to rounding.
"""

import numpy as np


def fit(X, y, n_rounds, seed, patience=100):
    """Return the function that predicts rows."""
    rng, n = np.random.default_rng(seed), len(y)
    bag_seed = rng.integers(1 << 63, size=1)[0]
    order, folds = np.lexsort((rng.random(n), y)), np.empty(n, int)  # five folds of like targets
    folds[order] = (np.arange(n) + rng.integers(5)) % 5
    train, valid = rng.permutation(np.flatnonzero(folds != 0)), np.flatnonzero(folds == 0)
    mean, std = X.mean(axis=0), X.std(axis=0)
    Z, rng = ((X - mean) / std).astype(np.float32), np.random.default_rng(bag_seed)
    H, terms, losses, relevances = np.full(n, y.mean()), [], [np.mean((y[valid] - y.mean()) ** 2)], np.zeros(X.shape[1])
    while len(terms) < n_rounds and len(terms) - np.argmin(losses) < patience:
        omega, a, c = fourier_term(Z[train], y[train] - H[train], relevances, len(terms), n, rng)
        rate = 0.15 * min(1 + len(terms) / 150, 4)
        relevances += rate**2 * (a**2 + c**2) * omega**2
        terms.append((omega, rate * a, rate * c))
        H = H + value(terms[-1:], Z)
        losses.append(np.mean((y[valid] - H[valid]) ** 2))
    best, low, high = terms[: np.argmin(losses)], X.min(axis=0), X.max(axis=0)
    return lambda rows: y.mean() + value(best, (rows.clip(low, high) - mean) / std)


def value(terms, Z):
    """Sum of a cos(omega . z) + c sin(omega . z)."""
    return sum(a * np.cos(Z @ omega) + c * np.sin(Z @ omega) for omega, a, c in terms)


def fourier_term(Z, g, relevances, n_terms, n, rng):
    """The best of ten random frequencies, improved by descent, with its amplitudes, for a gradient g."""
    drawn = [draw_frequency(relevances, n_terms, rng) for _ in range(10)]
    rng.random(2)  # where the blocks of rows for choice and descent begin: up to 1,024 rows all are used
    penalties = [0.6 / n / scale for _, scale in drawn]
    k = np.argmin([objective(drawn[k][0], Z, g, penalties[k])[0] for k in range(10)])
    omega, used = drawn[k][0], drawn[k][0] != 0
    omega[used] = minimise(lambda w: objective(w, Z[:, used], g, penalties[k])[:2], omega[used])
    return omega, *objective(omega, Z, g, 0)[2]


def draw_frequency(relevances, n_terms, rng):
    """A frequency, normal over some columns, of any scale; columns by what they have been good for."""
    d = len(relevances)
    chance = 0.1 / d + 0.9 * relevances / relevances.sum() if n_terms >= 10 else np.full(d, 1 / d)
    times = 1.5 * np.exp(rng.random() * np.log(d + 1))
    first = np.searchsorted(chance.cumsum(), rng.random() * chance.sum(), side="right")
    used = rng.random(d) < 1 - np.exp(-times * chance)
    used[first] = True
    scale = 2 ** (rng.uniform(-3, 6) / 2)
    lengths, angles = rng.random((-(-used.sum() // 2), 2)).T  # two normal numbers each, by Box and Muller's method
    normal = np.sqrt(-2 * np.log(1 - lengths)) * np.exp(2j * np.pi * angles)
    omega = np.zeros(d)
    omega[used] = normal.view(float)[: used.sum()] * scale * np.sqrt(2 / used.sum())
    return omega, scale


def objective(omega, Z, g, penalty):
    """The share of g that the best amplitudes leave, with penalties; its gradient; the amplitudes."""
    C = np.array([np.cos(Z @ omega), np.sin(Z @ omega)])
    centred, r = C - C.mean(axis=1, keepdims=True), g - g.mean()
    a, c = np.linalg.solve(centred @ centred.T + 0.05 * len(g) * np.eye(2), centred @ r)
    left = r - a * centred[0] - c * centred[1]
    share = 1 - (a * centred[0] + c * centred[1]) @ r / (r @ r) + penalty * omega @ omega
    return share, -2 / (r @ r) * (left * (c * C[0] - a * C[1])) @ Z + 2 * penalty * omega, (a, c)


def minimise(function, x, n_iterations=10):
    """L-BFGS (Nocedal and Wright, Numerical Optimization, algorithms 7.4, 3.5 and 3.6)."""
    (loss, gradient), first_length, steps, changes = function(x), 0.1 * np.linalg.norm(x), [], []
    steepest = abs(gradient).max()
    for _ in range(n_iterations):
        direction, factors = -gradient, []
        for s, y in zip(steps[::-1], changes[::-1], strict=True):
            factors.append(s @ direction / (s @ y))
            direction = direction - factors[-1] * y
        direction = direction * (steps[-1] @ changes[-1] / (changes[-1] @ changes[-1]) if steps else 1)
        for s, y, factor in zip(steps, changes, factors[::-1], strict=True):
            direction = direction + (factor - y @ direction / (s @ y)) * s
        length = 1.0 if steps else first_length / np.linalg.norm(direction)
        step, new_loss, new_gradient = search(function, x, loss, gradient, direction, length)
        steps, changes, before = [*steps, step * direction], [*changes, new_gradient - gradient], loss
        x, loss, gradient = x + step * direction, new_loss, new_gradient
        if step == 0 or before - loss <= 1e-7 * abs(before) or abs(gradient).max() <= 1e-5 * steepest:
            break
    return x


def search(function, x, loss, gradient, direction, step):
    """A step by the strong conditions of Wolfe, with the loss and the gradient there."""
    noise, slope = 1e-6 * abs(loss), gradient @ direction
    low, high, found = (0.0, loss, slope), None, gradient
    for _ in range(20):
        new, new_gradient = function(x + step * direction)
        trial = step, new, new_gradient @ direction
        if new > loss + 1e-4 * step * slope + noise or new > low[1] + noise:
            high = trial
        else:
            high = low if trial[2] * (high[0] - low[0] if high else 1) >= 0 else high
            low, found = trial, new_gradient
            if abs(trial[2]) <= -0.9 * slope:
                break
        if high is None:  # further, by the secant rule
            rise = low[2] - slope
            step = np.clip(low[0] * (-slope / rise if rise > 0 else 5), 2 * low[0], 5 * low[0])
        else:  # within the bracket, by cubic interpolation
            width = high[0] - low[0]
            d = low[2] + high[2] - 3 * (high[1] - low[1]) / width
            root = np.sign(width) * np.sqrt(max(d * d - low[2] * high[2], 0))
            step = low[0] + np.clip(1 - (high[2] + root - d) / (high[2] - low[2] + 2 * root), 0.1, 0.9) * width
    return low[0], low[1], found


if __name__ == "__main__":
    import rffkern

    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (300, 3))
    y = np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2] + rng.normal(0, 0.1, 300)
    rows = rng.uniform(-3, 3, (5, 3))
    model = rffkern.FourierBoostingRegressor(50, n_bags=1, base_learners=("fourier",), columns=None,
                                             kernel_ridge=False, random_state=0).fit(X, y)
    print(fit(X, y, 50, seed=0)(rows))
    print(model.predict(rows))
