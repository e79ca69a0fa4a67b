"""Fourier boosting in plain NumPy, for reading: docs/algorithms/fourier_boosting.md explains it step by step.

The whole of `FourierBoostingRegressor` (squared error) and of `FourierBoostingClassifier` (two classes) with
`columns=None, kernel_ridge=False`, rows of equal weight without copies, and enough patience; with the same seed it
trains the same model.
A term is a function of standardised rows Z (n_rows, n_columns).  A base learner returns a term, and a function that
gives the relevances of columns in it for a step.
"""

import numpy as np

from rffkern._native.solvers import minimize

TILE = 128  # rows; blocks of rows begin and end at tiles


def squared_error(F, y):  # loss of each row, g = -dloss/dF, h = d2loss/dF2
    return (y - F) ** 2 / 2, y - F, np.ones_like(F)


def log_loss(F, y):  # y is -1 or 1
    p = 1 / (1 + np.exp(y * F))
    return np.logaddexp(0, -y * F), y * p, p * (1 - p)


def fit(X, y, loss, n_rounds, n_bags, seed, max_samples=8192, sets=(), signs=None):
    """Train on rows X and targets y, with 1 and -1 for two classes; return the function that scores rows.

    `sets` of columns are those that may interact, none where all may; `signs` has 1 or -1 for a column, of one at most,
    along which scores rise or fall, and 0 for others.
    """
    rng, n = np.random.default_rng(seed), len(y)
    n_folds = round(5 * 2 ** np.clip(np.log10(n / 3000), 0, 1))  # 5 up to 3,000 rows, 10 from 30,000 on
    mean, std, low, high = X.mean(axis=0), X.std(axis=0), X.min(axis=0), X.max(axis=0)
    Z = ((X - mean) / std).astype(np.float32)
    edges = [bin_edges(column) for column in Z.T]
    F0 = y.mean() if loss is squared_error else np.log((y > 0).mean() / (y < 0).mean())
    seeds = rng.integers(1 << 63, size=n_bags)
    n_trees = n_bags // 2 if n_bags // 2 >= 0.8 * n_folds else 0  # bags of trees alone, the last ones
    bags, held_out, first = [], [], n_bags - n_trees
    for k in range(n_bags):
        if k >= first and n_trees < n_folds:
            valid = held_out[k - first]  # that rows are held out by bags of either kind
        else:
            if k % n_folds == 0:  # rows of like targets are spread evenly over the folds
                order, folds = np.lexsort((rng.random(n), y)), np.empty(n, int)
                folds[order] = (np.arange(n) + rng.integers(n_folds)) % n_folds
            valid = folds == k % n_folds
        train = rng.permutation(np.flatnonzero(~valid))
        bags.append(boost(Z, y, train, np.flatnonzero(valid), edges, loss, F0, n_rounds, max_samples,
                          np.random.default_rng(seeds[k]), [np.array(each) for each in sets],
                          np.zeros(X.shape[1], int) if signs is None else np.array(signs), trees_alone=k >= first))
        held_out.append(valid)

    def out_of_fold(some):
        """Mean scores of the rows that some of the bags have held out, NaN of others."""
        sums, counts = np.zeros(n), np.zeros(n)
        for k in some:
            sums[held_out[k]] += F0 + sum(step * h(Z[held_out[k]]) for step, h in bags[k])
            counts[held_out[k]] += 1
        return np.divide(sums, counts, out=np.full(n, np.nan), where=counts > 0)

    H, w = out_of_fold(range(first)), 0.0
    if n_trees:
        away = out_of_fold(range(first, n_bags)) - H
        w = share_of_trees(H, away, y, loss)
        H = H + w * away
    shares = np.repeat([(1 - w) / first, w / max(n_trees, 1)], [first, n_trees])
    seen = np.isfinite(H)
    factor = 1.0 if loss is squared_error else inverse_temperature(H[seen], y[seen], n - held_out[0].sum())
    shift = 0.0 if loss is squared_error else intercept_shift(factor * H[seen], y[seen])
    quartiles = np.quantile(Z, (0.25, 0.75), axis=0) * std
    margin = np.minimum((2 * (quartiles[1] - quartiles[0])) ** 2 / (high - low), high - low)

    def score(X):
        Z = (X.clip(low - margin, high + margin) - mean) / std
        return shift + factor * (F0 + sum(share * sum(step * h(Z) for step, h in terms)
                                          for share, terms in zip(shares, bags, strict=True)))

    return score


def boost(Z, y, train, valid, edges, loss, F0, n_rounds, max_samples, rng, sets, signs, trees_alone):
    """The rounds of one bag, up to that of the lowest validation loss: a list of (step, term)."""
    rows, n_train = np.concatenate([train, valid]), len(train)
    Z, y, F = Z[rows], y[rows], np.full(len(rows), F0)
    rising = np.clip(np.log(len(rows) / 1000) / np.log(30), 0, 1)  # 0 up to 1,000 rows, 1 from 30,000 on
    fourier_rate, tree_rate = 0.15 * (0.2 / 0.15) ** rising, 0.025 * (0.12 / 0.025) ** rising
    if loss is squared_error:
        fourier_rate, tree_rate = fourier_rate * 0.8**rising, tree_rate * 2 * (1.5 / 2) ** rising
    ridge = 0.05 if loss is squared_error else 0.01
    _, g, h = loss(F[:n_train], y[:n_train])
    chances = screened(Z[:n_train], g, h, edges) if n_train < 5 * Z.shape[1] else None
    constraints = {"sets": sets, "signs": signs}
    learners = [Fourier(fourier_rate, Z, chances, **constraints, ridge=ridge, reg_lambda=0.6 / len(rows),
                        n_tiles=max(1, max_samples // TILE)),
                Tree(tree_rate, Z, chances, **constraints, edges=edges,
                     depth=round(np.clip(7.2 + 1.5 * np.log2(len(rows) / 6000), 3, 12))),
                Linear(min(3 * fourier_rate, 1.0), Z, chances, **constraints)]
    begins = learners[2].choose_ridge(Z, y, F, n_train, loss, chances) < loss(F, y)[0][n_train:].mean() / 2
    if trees_alone:
        learners, begins = learners[1:2], False
    terms, best, validation = [], 0, [loss(F, y)[0][n_train:].mean()]
    for t in range(n_rounds):
        learner = learners[2] if begins and t == 0 else sample_learner(learners, t, rng)
        _, g, h = loss(F, y)
        term, relevances, cost = learner.fit(Z[:n_train], g[:n_train], h[:n_train], rng)
        direction, step = term(Z), learner.rate
        if loss is squared_error:
            step = min(step * min(1 + learner.n_rounds / 150, 4 ** (1 - rising)), max(step, 1.0))
        if begins and t == 0:
            step = 1.0
        elif not learner.searches_steps:
            step = shortened(step, F[:n_train], direction[:n_train], y[:n_train], loss)
        elif loss is not squared_error:
            step *= best_step(F[:n_train], direction[:n_train], y[:n_train], loss)
        F = F + step * direction
        learner.relevances += relevances(step)
        terms.append((step, term))
        validation.append(loss(F, y)[0][n_train:].mean())
        learner.count(validation[-2] - validation[-1], 64_000 + cost, begins and learner is learners[2])
        if validation[-1] < validation[best]:
            best = t + 1
    return terms[:best]


def screened(Z, g, h, edges):
    """Chances of columns by the gain of their best threshold, where columns are many for the rows."""
    (n, d), G, H, gains = Z.shape, g.sum(), h.sum(), []
    for column, of_column in zip(Z.T, edges, strict=True):
        above = column > of_column.astype(np.float32)[:, None]
        GR, HR = above @ g, above @ h
        gains.append((GR**2 / (HR + 1) + (G - GR) ** 2 / (H - HR + 1) - G**2 / (H + 1)).max())
    passes, share = np.array(gains) > 2 * (np.log(d) + 4) * (g @ g) / H, n / (5 * d)
    return share / d + (1 - share) * passes / passes.sum() if passes.any() else np.full(d, 1 / d)


def sample_learner(learners, t, rng):
    """In turns for 30 rounds, then in proportion to the recent improvement of the validation loss."""
    if t < 30 or len(learners) == 1:
        turns = [each for each in learners for _ in range(2 if each.searches_steps else 1)]
        return turns[t % len(turns)]
    gains, costs, misses = np.array([(max(each.gain, 0), each.cost, each.misses) for each in learners]).T
    reached = np.cumsum(gains / max(gains.max(), 1e-300) + 0.1 * costs.min() / costs / (1 + misses / 5))
    return learners[min(np.searchsorted(reached, rng.random() * reached[-1], side="right"), len(learners) - 1)]


class Learner:
    """A base learner of one bag: its shrinkage, what its rounds gained, and the relevances of columns."""

    def __init__(self, rate, Z, screened, **sizes):
        self.rate, self.n_rounds, self.gain, self.relevances = rate, 0, 0.0, np.zeros(Z.shape[1])
        self.cost, self.misses, self.screened = 0.0, 0, screened
        vars(self).update(sizes)

    def count(self, gain, cost, begins):
        """The first round of a learner that begins with a whole step does not count for its mean gain."""
        self.n_rounds, self.misses = self.n_rounds + 1, 0 if gain > 0 else self.misses + 1
        n_counted = self.n_rounds - begins
        weight = max(1 / max(n_counted, 1), 0.03)
        self.gain += weight * (gain - self.gain) * (n_counted > 0)
        self.cost += weight * (cost - self.cost)

    def draw_columns(self, rng):
        """A set of columns: one by its chance, and each further one as if drawn 1.5 to 1.5 (min(d, 32) + 1) times."""
        d, chance = len(self.relevances), np.full(len(self.relevances), 1 / len(self.relevances))
        if self.screened is not None:
            weight = 10 / (10 + self.n_rounds)
            evidence = weight * self.screened + (1 - weight) * self.relevances / max(self.relevances.sum(), 1e-300)
            chance = 0.1 / d + 0.9 * evidence / evidence.sum()
        elif self.n_rounds >= 10 and self.relevances.sum() > 0:
            chance = 0.1 / d + 0.9 * self.relevances / self.relevances.sum()
        if self.searches_steps:  # terms that keep no order
            chance[self.signs != 0] = 0
        if self.sets:  # one, by the sum of its chances
            reached = np.cumsum([chance[each].sum() for each in self.sets])
            own = self.sets[np.searchsorted(reached, rng.random() * reached[-1], side="right")]
            chance = np.where(np.isin(np.arange(d), own), chance, 0)
        chance = chance / chance.sum()
        times = 1.5 * np.exp(rng.random() * np.log(min(d, 32) + 1))
        first = np.searchsorted(chance.cumsum(), rng.random() * chance.sum(), side="right")
        chosen = rng.random(d) < 1 - np.exp(-times * chance)
        chosen[first] = True
        return chosen


class Fourier(Learner):
    """a cos(omega . z) + c sin(omega . z): the best of ten random omegas, improved by L-BFGS."""

    searches_steps = True

    def fit(self, Z, g, h, rng):
        omegas, reg_lambdas = zip(*[self.draw_candidate(rng) for _ in range(10)], strict=True)
        block = draw_block(len(Z), 8, rng)
        k = np.argmin([fourier_objective(omega, Z[block], g[block], reg_lambda, self.ridge)[0]
                       for omega, reg_lambda in zip(omegas, reg_lambdas, strict=True)])
        block, S, omega = draw_block(len(Z), self.n_tiles, rng), omegas[k] != 0, omegas[k][omegas[k] != 0]
        descended = (Z[block][:, S], g[block], reg_lambdas[k], self.ridge)
        omega, _, _ = minimize(lambda omega: fourier_objective(omega, *descended)[:2], omega, 10, loss_tolerance=1e-7,
                               gradient_tolerance=1e-5, noise=1e-6, first_length=0.1 * np.linalg.norm(omega))
        a, c = fourier_objective(omega, *descended)[2]
        tiles = -(-len(Z) // TILE)
        rows = TILE * (10 * min(8, tiles) + 24 * min(self.n_tiles, tiles) + tiles)  # multiply-adds: rows times columns
        return (lambda Z: a * np.cos(Z[:, S] @ omega) + c * np.sin(Z[:, S] @ omega),
                lambda step: np.bincount(np.flatnonzero(S), step**2 * (a**2 + c**2) * omega**2, len(S)),
                rows * (len(omega) + 32))

    def draw_candidate(self, rng):
        """Omega, normal over a set of columns, of any scale (Box and Muller's method), and its reg_lambda."""
        chosen, u = self.draw_columns(rng), rng.uniform(-3, 6)
        size, omega = chosen.sum(), np.zeros(len(chosen))
        lengths, angles = rng.random((-(-size // 2), 2)).T
        normal = np.sqrt(-2 * np.log(1 - lengths)) * np.exp(2j * np.pi * angles)
        omega[chosen] = normal.view(float)[:size] * np.sqrt(2 * 2**u / size)
        return omega, self.reg_lambda / 2 ** (u / 2)


def draw_block(n_rows, n_tiles, rng):
    """Adjacent tiles of the shuffled rows; the last tile may not be full."""
    there = -(-n_rows // TILE)
    n_tiles = min(n_tiles, there)
    first = int(rng.random() * (there - n_tiles + 1))
    return slice(first * TILE, (first + n_tiles) * TILE)


def fourier_objective(omega, Z, g, reg_lambda, ridge):
    """Share of the squares of g that the best amplitudes leave, with penalties; its gradient; the amplitudes."""
    cosines = np.array([np.cos(Z @ omega), np.sin(Z @ omega)])
    centred, r = cosines - cosines.mean(axis=1, keepdims=True), g - g.mean()
    amplitudes = np.linalg.solve(centred @ centred.T + ridge * len(g) * np.eye(2), centred @ r)
    value = 1 - amplitudes @ (centred @ r) / (r @ r) + reg_lambda * omega @ omega
    along = (r - amplitudes @ centred) * (amplitudes[1] * cosines[0] - amplitudes[0] * cosines[1])
    return value, -2 / (r @ r) * (along @ Z) + 2 * reg_lambda * omega, amplitudes


class Tree(Learner):
    """A symmetric tree: at each depth all rows are split by the same z_j > edge."""

    searches_steps = False

    def bins(self, Z, j):
        return np.searchsorted(self.edges[j].astype(np.float32), Z[:, j], side="left")

    def leaves(self, Z, splits):
        return sum((self.bins(Z, j) > b) << level for level, (j, b) in enumerate(splits))

    def fit(self, Z, g, h, rng):
        candidates, splits = np.flatnonzero(self.draw_columns(rng)), []
        gains, leaf = np.zeros(len(self.relevances)), np.zeros(len(Z), int)
        bins = {j: self.bins(Z, j) for j in candidates}
        for level in range(self.depth):
            G, H = (np.bincount(leaf, each, 1 << level)[:, None] for each in (g, h))
            best, split = 1e-6 * (G**2 / (H + 1)).sum(), None
            for j in candidates:  # histograms of all leaves at once
                n_bins = len(self.edges[j]) + 1
                GL, HL = (np.bincount(leaf * n_bins + bins[j], each, n_bins << level).reshape(-1, n_bins)
                          .cumsum(axis=1)[:, :-1] for each in (g, h))
                gain = GL**2 / (HL + 1) + (G - GL) ** 2 / (H - HL + 1) - G**2 / (H + 1)
                against = self.signs[j] * ((G - GL) / (H - HL + 1) - GL / (HL + 1)) < 0
                found = np.where(against, 0, gain).sum(axis=0)
                if len(found) and found.max() > best:
                    best, split = found.max(), (j, found.argmax())
                    whole = gain[:, split[1]].sum()
            if split is None:
                break
            splits.append(split)
            gains[split[0]] += whole
            leaf = self.leaves(Z, splits)
        H = np.bincount(leaf, h, 1 << self.depth) + 1
        values = self.in_order(np.bincount(leaf, g, 1 << self.depth) / H, H, splits)
        n, m = -(-len(Z) // TILE) * TILE, len(candidates)
        return (lambda Z: values[self.leaves(Z, splits)], lambda step: step * gains,
                n * self.depth * (8 * m + 32) + (128 << self.depth) * m)


    def in_order(self, values, weights, splits):
        """Values of leaves, those along the column with a sign by isotonic regression."""
        levels = sorted((b, level) for level, (j, b) in enumerate(splits) if self.signs[j])
        if not levels:
            return values
        values, (j, _) = values.copy(), splits[levels[0][1]]
        above = np.cumsum([0, *(1 << level for _, level in levels)])  # none of the thresholds, the lowest, two, ...
        for first in np.flatnonzero((np.arange(len(values)) & above[-1]) == 0):
            chain = (first + above)[:: self.signs[j]]
            blocks = []  # of adjacent violators: their mean, weight and number
            for value, weight in zip(values[chain], weights[chain], strict=True):
                blocks.append((value, weight, 1))
                while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
                    (a, u, m), (b, v, n) = blocks[-2:]
                    blocks[-2:] = [((u * a + v * b) / (u + v), u + v, m + n)]
            values[chain] = np.repeat([value for value, *_ in blocks], [n for *_, n in blocks])
        return values


class Linear(Learner):
    """coefficients . z over all columns without a sign, by ridge regression of g."""

    searches_steps = True

    def fit(self, Z, g, h, rng):
        free, coefficients = self.signs == 0, np.zeros(Z.shape[1])
        centred = (Z - Z.mean(axis=0, dtype=float))[:, free]
        products = centred.T @ centred + len(g) * np.diag(np.broadcast_to(self.ridge, Z.shape[1])[free])
        coefficients[free] = np.linalg.solve(products, centred.T @ g)
        n, d = -(-len(Z) // TILE) * TILE, free.sum()
        return lambda Z: Z @ coefficients, lambda step: step**2 * coefficients**2, d * (4 * n + d)

    def choose_ridge(self, Z, y, F, n_train, loss, chances):
        """The ridge of the lowest validation loss after a step of 1, one for all columns or smaller for likelier ones;
        and this loss."""
        def validation_loss(ridge):
            self.ridge = ridge
            term, *_ = self.fit(Z[:n_train], loss(F, y)[1][:n_train], None, None)
            return loss(F + term(Z), y)[0][n_train:].mean()

        ridges = [1e-4, 1e-3, 1e-2, 1e-1, 1.0]
        if chances is not None:
            ridges += [10.0, 100.0]
            ridges += [ridge / (0.1 + 0.9 * len(chances) * chances) for ridge in ridges]
        self.ridge = min(ridges, key=validation_loss)
        return validation_loss(self.ridge)


def best_step(F, direction, y, loss):
    """The step of lowest training loss, by at most six moves of Newton's method from 1."""
    step = 1.0
    for _ in range(6):
        _, g, h = loss(F + step * direction, y)
        move = np.clip(g @ direction / (h @ direction**2), -5, 5)
        step += move
        if abs(move) < 1e-3:
            break
    return step


def shortened(step, F, direction, y, loss):
    """The step of a tree, halved while the training loss rises by more than 1 %."""
    before = loss(F, y)[0].mean()
    for _ in range(10):
        if loss(F + step * direction, y)[0].mean() <= 1.01 * before:
            break
        step /= 2
    return step


def bin_edges(column):
    """Halfway between neighbouring values, or between 255 groups of like numbers of rows."""
    distinct, counts = np.unique(column, return_counts=True)
    last = np.arange(len(distinct) - 1)  # value of each bin
    if len(distinct) > 255:
        last = np.unique(np.searchsorted(np.cumsum(counts)[:-1] / counts.sum(), np.arange(1, 255) / 255))
        last = last[last < len(distinct) - 1]
    return 0.5 * (distinct[last].astype(float) + distinct[last + 1])


def share_of_trees(H, away, y, loss):
    """The step along `away` of the lowest loss out of fold, as if ten rows said three tenths."""
    seen = np.isfinite(H) & np.isfinite(away)
    H, away, y = H[seen], away[seen], y[seen]
    _, g, h = loss(H + 0.3 * away, y)
    noise = (g @ g) / h.sum()
    low, high = 0.0, 1.0
    for _ in range(16):
        w = (low + high) / 2
        derivative = loss(H + w * away, y)[1] @ away - 10 * noise * (w - 0.3)
        low, high = (w, high) if derivative > 0 else (low, w)
    return round((low + high) / 2, 2)


def inverse_temperature(scores, y, n_train):
    """The factor from 0.1 to 2 on the scores of rows out of their folds that makes them likeliest, with a prior."""
    low, high, middle = np.log(0.1), np.log(2), n_train**2 / (n_train**2 + 20**2)
    for _ in range(16):
        factor = np.exp((low + high) / 2)
        derivative = scores @ log_loss(factor * scores, y)[1] - 50 * (factor - middle)  # as if 50 rows said so
        low, high = (np.log(factor), high) if derivative > 0 else (low, np.log(factor))
    return np.exp((low + high) / 2)


def intercept_shift(scores, y):
    """What added to scores makes rows out of their folds likeliest, as if two rows said 0."""
    low, high = -20.0, 20.0
    for _ in range(60):
        shift = (low + high) / 2
        derivative = log_loss(scores + shift, y)[1].sum() - 2 * shift
        low, high = (shift, high) if derivative > 0 else (low, shift)
    return (low + high) / 2
