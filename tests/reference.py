"""Plain NumPy twins of the kernels, written for reading: rows are rows, nothing is packed, everything is float64."""

import itertools
import math

import numpy as np

MAX_RESIDUAL = 64.0
UNREACHED = np.finfo(np.float64).max  # the threshold of a tree that splits nothing


def residuals(raw_prediction, y):
    """y_tilde = y exp(-y H), held to the bound the kernels use."""
    return y * np.minimum(np.exp(-y * raw_prediction), MAX_RESIDUAL)


def surrogate(X, y_tilde, weight, omega, phase):
    """Weighted mean of exp(-y_tilde cos(omega . x - phase)) - 1, line 6 of Algorithm 3."""
    return np.average(np.expm1(-y_tilde * np.cos(X @ omega - phase)), weights=weight)


def omega_objective(X, y_tilde, weight, omega, phase, reg_lambda):
    """Line 7 of Algorithm 3, and its gradient."""
    angle = X @ omega - phase
    v = weight * y_tilde * np.sin(angle) * np.exp(-y_tilde * np.cos(angle)) / weight.sum()
    return (surrogate(X, y_tilde, weight, omega, phase) + reg_lambda * omega @ omega,
            X.T @ v + 2 * reg_lambda * omega)


def phase_curve(X, y_tilde, weight, omega, phases):
    """Logarithm of the surrogate loss at each of some phases."""
    angle = (X @ omega)[:, None]
    terms = weight[:, None] * np.expm1(-y_tilde[:, None] * np.cos(angle - phases))
    with np.errstate(divide="ignore"):  # no loss at all
        return np.log1p(terms.sum(axis=0) / weight.sum())


def best_phase(X, y_tilde, weight, omega, n_grid=4096):
    """Global argmin over the phase: a dense grid, then bisection on the derivative around its best point."""
    grid = np.linspace(-np.pi, np.pi, n_grid, endpoint=False)
    phase = grid[phase_curve(X, y_tilde, weight, omega, grid).argmin()]
    left, right = phase - (grid[1] - grid[0]), phase + (grid[1] - grid[0])
    for _ in range(60):
        phase = 0.5 * (left + right)
        angle = X @ omega - phase
        slope = -(weight * y_tilde * np.sin(angle) * np.exp(-y_tilde * np.cos(angle))).sum()
        left, right = (left, phase) if slope > 0 else (phase, right)
    return phase


def agreement(X, y, weight, raw_prediction, omega, phase):
    """Sums of w and of w y h for the step size, line 8 of Algorithm 3."""
    w = weight * np.exp(-y * raw_prediction)
    return w.sum(), (w * y * np.cos(X @ omega - phase)).sum()


def score(X, center, omegas, phases, amplitudes, intercept):
    """H(x) = intercept + sum of amplitudes cos(omegas . (x - center) - phases)."""
    return intercept + np.cos((X - center) @ omegas.T - phases) @ amplitudes


def replay_gbrff2(X, y, draws, reg_lambda, minimize, learners):
    """Algorithm 3 round by round for standardised X and y in {-1, +1}, each round continuing from given learners.

    Yields per round what the algorithm makes of the residuals: the phase for the drawn omega, the omega `minimize`
    descends to from there, the step for the given learner, and the loss of both omegas.
    """
    weight = np.ones(len(y))
    raw_prediction = np.full(len(y), 0.5 * np.log((1 + y.mean()) / (1 - y.mean())))
    for drawn, (given_omega, given_phase, given_step) in zip(draws, learners, strict=True):
        y_tilde = residuals(raw_prediction, y)
        phase = best_phase(X, y_tilde, weight, drawn)

        def loss(omega, y_tilde=y_tilde, phase=phase):
            return omega_objective(X, y_tilde, weight, omega, phase, reg_lambda)

        omega = minimize(loss, drawn)
        total, agreeing = agreement(X, y, weight, raw_prediction, given_omega, given_phase)
        step = 0.5 * np.log((total + agreeing) / (total - agreeing))
        raw_prediction = raw_prediction + given_step * np.cos(X @ given_omega - given_phase)
        yield phase, omega, step, loss(omega)[0], loss(given_omega)[0], np.exp(-y * raw_prediction).mean()


def fourier_features(X, omegas):
    """Cosine and sine of each projection, interleaved: (n_samples, 2 n_components)."""
    angle = X @ omegas.T
    return np.stack([np.cos(angle), np.sin(angle)], axis=2).reshape(len(X), -1)


def cosine_sum(X, omegas, phases, posterior):
    """The weak learner h(x) = sum over j of posterior_j cos(omega_j . x - phase_j)."""
    return np.cos(X @ omegas.T - phases) @ posterior


def row_losses(kind, r, z):
    """Loss of a learner's value z at a row of residual r, less its loss at 0."""
    return np.expm1(-r * z) if kind == "exponential" else z**2 - 2 * r * z


def row_slopes(kind, r, z):
    return -r * np.exp(-r * z) if kind == "exponential" else 2 * (z - r)


def landmark_objective(kind, X, r, weight, omegas, landmark):
    """Line 6 of Algorithm 2 (eq. 9), or eq. 5 of the 2019 paper, less its value at c = 0, and the gradient."""
    angle = (landmark - X) @ omegas.T
    z = np.cos(angle).mean(axis=1)
    share = weight / weight.sum()
    inner = np.sin(angle) @ omegas / len(omegas)
    return share @ row_losses(kind, r, z), -(share * row_slopes(kind, r, z)) @ inner


def phases_objective(kind, X, r, weight, omegas, phases):
    """The same by the phases omegas x of the landmark."""
    angle = phases - X @ omegas.T
    z = np.cos(angle).mean(axis=1)
    share = weight / weight.sum()
    return share @ row_losses(kind, r, z), -(share * row_slopes(kind, r, z)) @ np.sin(angle) / len(omegas)


def component_losses(kind, X, r, weight, omegas, phases):
    """Losses of the single cosines of a landmark: the exponents of eq. 10, and of eq. 7 in 2019, up to constants."""
    z = np.cos(X @ omegas.T - phases)
    return weight @ row_losses(kind, r[:, None], z) / weight.sum()


def pseudo_posterior(losses, temperature):
    odds = np.exp(-temperature * (losses - losses.min()))
    return odds / odds.sum()


def pbrff_losses(X, labels, weight, own_weight, landmarks, landmark_labels, omegas):
    """Leave-one-out losses of PBRFF, (n_landmarks, n_components), for omegas of that shape and n_features."""
    losses = np.empty(omegas.shape[:2])
    for m, (x, label) in enumerate(zip(landmarks, landmark_labels, strict=True)):
        agreement = np.where(labels == label, weight, -weight) @ np.cos((x - X) @ omegas[m].T) - own_weight[m]
        losses[m] = 0.5 - 0.5 * agreement / (weight.sum() - own_weight[m])
    return losses


def loss_along_step(y, weight, raw_prediction, h, step):
    """Sum of w exp(-step y h) and its first two derivatives in the step."""
    e = weight * np.exp(-y * (raw_prediction + step * h))
    return e.sum(), -(e * y * h).sum(), (e * h**2).sum()


def machine_objectives(features, sign, bound, squared, alpha):
    """Primal objective at w = sum of alpha y x, and dual objective at alpha, of a linear support vector machine."""
    w = features.T @ (alpha * sign)
    slack = np.maximum(0, 1 - sign * (features @ w))
    primal = 0.5 * w @ w + bound @ (slack**2 if squared else slack)
    dual = alpha.sum() - 0.5 * w @ w - (0.25 * alpha**2 / bound).sum() * squared
    return primal, dual


def replay_landmarks(kind, X, y, all_omegas, temperature, learning_rate, minimize, learners, scale_residuals=False):
    """Algorithm 2 (exponential), or that of 2019 (squared), for standardised X, each round continuing from learners.

    Yields per round the lowest landmark loss that `minimize` reaches and that at the given phases, the posterior for
    the given phases, the step for the given learner, and the training loss after it.
    """
    exponential, weight = kind == "exponential", np.ones(len(y))
    H = np.full(len(y), 0.5 * np.log((1 + y.mean()) / (1 - y.mean())) if exponential else y.mean())
    for omegas, (phases, posterior, step) in zip(all_omegas, learners, strict=True):
        r = residuals(H, y) if exponential else y - H
        fitted = r / np.sqrt((r**2).mean()) if scale_residuals else r
        objective = phases_objective if len(omegas) <= X.shape[1] else landmark_objective
        lowest = minimize(lambda x, r=fitted, omegas=omegas, objective=objective: objective(
            kind, X, r, weight, omegas, x))
        mean_cosine = np.cos(X @ omegas.T - phases).mean(axis=1)
        losses = component_losses(kind, X, fitted, weight, omegas, phases)
        h = cosine_sum(X, omegas, phases, posterior)
        if exponential:
            w = np.exp(-y * H)
            best_step = 0.5 * np.log(((1 + y * h) * w).sum() / ((1 - y * h) * w).sum())
        else:
            best_step = (r @ h) / (h @ h)
        H = H + step * h
        yield (lowest, row_losses(kind, fitted, mean_cosine).mean(), pseudo_posterior(losses, temperature),
               learning_rate * best_step, np.exp(-y * H).mean() if exponential else ((y - H) ** 2).mean())


def kernel_of_shape(X, Z, length_scale=1.0, amplitude=1.0, bias=0.0, shape="gaussian"):
    """k(x, z) = amplitude exp(-r^2 / 2) + bias, or amplitude exp(-r) + bias, for all pairs."""
    apart = (X[:, None, :] - Z[None, :, :]) / length_scale
    square = (apart**2).sum(axis=2)
    return amplitude * np.exp(-0.5 * square if shape == "gaussian" else -np.sqrt(square)) + bias


def gaussian_kernel(X, Z, length_scale=1.0, amplitude=1.0, bias=0.0):
    """k(x, z) = amplitude exp(-1/2 |(x - z) / length_scale|^2) + bias for all pairs, Sun and Yao (33)."""
    return kernel_of_shape(X, Z, length_scale, amplitude, bias)


def negative_log_likelihood(X, targets, length_scale, amplitude, bias, noise, shape="gaussian"):
    """Of targets (n_rows, n_outputs) under a Gaussian process, but for its constant."""
    covariance = kernel_of_shape(X, X, length_scale, amplitude, bias, shape) + noise * np.eye(len(X))
    log_determinant = np.linalg.slogdet(covariance)[1]
    return 0.5 * (targets.shape[1] * log_determinant + (targets * np.linalg.solve(covariance, targets)).sum())


def select_basis(K, weight, target, pull, order, rule, n_wanted, reg_lambda, known=(), n_looks=60, smallest=1e-9,
                 ran_threshold=1e-4):
    """Rows of `order` that forward selection takes one by one, none of them in the span of the `known` ones.

    target and pull are of one output (n_rows,) or of several (n_rows, n_outputs).
    """
    target, pull = target.reshape(len(K), -1), pull.reshape(len(K), -1)
    chosen, taken, position, left = [], set(), 0, target.copy()

    def walk():
        nonlocal position
        for _ in range(len(order)):
            row = order[position % len(order)]
            position += 1
            if row not in taken:
                return row
        raise AssertionError("all rows are taken")

    def fall(row, square):
        column = K[order, row]
        slope = (weight[order] * column) @ left[order] - reg_lambda * (pull[row] + target[row] - left[row])
        return 0.5 * (slope**2).sum() / (square + reg_lambda * K[row, row])

    def exact_fall(row):
        return fall(row, (weight[order] * K[order, row]) @ K[order, row])

    while len(chosen) < n_wanted and len(taken) < len(order):
        if rule in ("random", "ald", "ran"):
            row = walk()
        elif rule == "max-res":
            row = max((row for row in order if row not in taken), key=lambda row: (left[row] ** 2).sum())
        else:
            looks = []
            while len(looks) < min(n_looks, len(order) - len(taken)):
                looks.append(walk())
            row = max(looks, key=exact_fall if rule == "mp" else lambda row: fall(row, 0))
        taken.add(row)
        span, distance = [*known, *chosen], K[row, row]
        if span:
            distance -= K[row, span] @ np.linalg.solve(K[np.ix_(span, span)], K[span, row])
        if distance <= (1e-2 if rule == "ald" else smallest) * K[row, row]:
            continue
        if rule == "ran" and distance * exact_fall(row) <= ran_threshold:
            continue
        chosen.append(row)
        if rule not in ("random", "ald"):
            columns = K[np.ix_(order, chosen)]
            normal = (columns.T * weight[order]) @ columns + reg_lambda * K[np.ix_(chosen, chosen)]
            right = columns.T @ (weight[:, None] * target)[order] - reg_lambda * pull[chosen]
            left[order] = target[order] - columns @ np.linalg.solve(normal, right)
    return chosen


def sparse_boosting(K, weight, target, subsets, rule, basis_size, reg_lambda, update="full", group_size=None,
                    n_together=1):
    """Sun and Yao's ensemble on given subsets of rows: (values at the rows after each round, learners, coefficients).

    Every learner is a pair (rows, weights) of length 1 in the space of the kernel.  A target (n_rows, n_outputs) has
    several outputs, and a round up to `n_together` learners on its rows.
    """
    F, learners, coef, values = np.empty((len(K), 0)), [], 0, []
    shape, target = target.shape, target.reshape(len(K), -1)
    base = np.zeros_like(target)  # what earlier groups, or learners that are kept as they are, make
    for subset in subsets:
        if F.shape[1] and update != "full" and F.shape[1] >= n_together * (group_size if update == "group" else 1):
            base, F = base + F @ coef, np.empty((len(K), 0))
        made = F @ coef if F.shape[1] else np.zeros_like(target)
        model = made if update != "one" else base
        residual = target - base - made
        alone = basis_size == 1  # then every vector is a learner, and differs from all before it
        known = [j for rows, _ in learners for j in rows] if alone else []
        candidates = subset[~np.isin(subset, known)]
        rows = select_basis(K, weight, residual, model if alone else np.zeros_like(target), candidates, rule,
                            basis_size, reg_lambda, known)
        if not rows:
            continue
        u = K[:, rows].T @ (weight[:, None] * residual) - reg_lambda * model[rows]
        root = np.linalg.cholesky(K[np.ix_(rows, rows)])
        found = np.linalg.svd(np.linalg.solve(root, u), full_matrices=False)[0][:, :n_together]
        if u.shape[1] == 1:
            found = found * np.sign(found.T @ np.linalg.solve(root, u))
        for a in np.linalg.solve(root.T, found).T:
            learners.append((rows, np.abs(a) if basis_size == 1 else a))
            F = np.column_stack([F, K[:, rows] @ learners[-1][1]])
        here = learners[-F.shape[1]:]
        omega = np.array([[b @ K[np.ix_(j, k)] @ c for k, c in here] for j, b in here])
        right = F.T @ (weight[:, None] * (target - base))
        if update == "one":
            right -= reg_lambda * np.array([b @ base[j] for j, b in here])
        coef = np.linalg.solve((F.T * weight) @ F + reg_lambda * omega, right)
        values.append((base + F @ coef).reshape(shape))
    return values, learners, coef if len(shape) > 1 else coef[:, 0]


def proximal_step(block, gradient, n_steps, rate, ridge, lasso):
    """One of Adam's steps on block = [values, mean gradient, mean squares], with the penalties' prox in its metric."""
    block[1] = 0.9 * block[1] + 0.1 * gradient
    block[2] = 0.999 * block[2] + 0.001 * gradient**2
    reach = rate / (np.sqrt(block[2] / (1 - 0.999**n_steps)) + 1e-8)
    moved = block[0] - reach * block[1] / (1 - 0.9**n_steps)
    moved = np.sign(moved) * np.maximum(np.abs(moved) - reach * lasso, 0)
    block[0] = moved / (1 + 2 * reach * ridge)


def rffnet_pass(X, targets, weight, omegas, offsets, coefficients, relevances, gradient, batch_size, n_steps, rates,
                ridge, lasso):
    """Algorithm 1 of RFFNet over batches of consecutive rows: coefficients (3, n_outputs, n_terms + 1), the last of
    them constant, and relevances (3, n_features), with their moments, are changed in place.

    gradient(scores, targets) is that of the losses, and rates those of coefficients, constant and relevances.
    """
    penalised = np.append(np.full(len(omegas), ridge), 0)
    coefficient_rates = np.append(np.full(len(omegas), rates[0]), rates[1])
    for start in range(0, len(X), batch_size):
        x, y = X[start : start + batch_size], targets[start : start + batch_size]
        share = weight[start : start + batch_size, None] / len(x)
        angles = (x * relevances[0]) @ omegas.T + offsets
        cosines = np.column_stack([np.cos(angles), np.ones(len(x))])
        n_steps += 1
        along_scores = share * gradient(cosines @ coefficients[0].T, y)
        proximal_step(coefficients, along_scores.T @ cosines, n_steps, coefficient_rates, penalised, 0)
        along_scores = share * gradient(cosines @ coefficients[0].T, y)
        along_angles = -np.sin(angles) * (along_scores @ coefficients[0, :, :-1])
        proximal_step(relevances, (x * (along_angles @ omegas)).sum(axis=0), n_steps, rates[2], 0, lasso)


# --- columns of raw tables

def column_form(kind, numbers, knots, heights, values):
    """One form of a column at values, rounded operation by operation; numbers are missing, divisor, a, b, c, d."""
    missing, divisor, a, b, c, d = numbers
    with np.errstate(over="ignore", invalid="ignore"):
        if kind == "raw":
            found = values
        elif kind == "standard":
            found = np.clip((values - a) * b, -1e30, 1e30)
        elif kind == "bounded":
            z = np.clip((values - a) * b, -1e150, 1e150)
            found = (z / np.sqrt(1 + z * z) - c) * d
        elif kind == "within":
            found = np.where((values >= a) & (values < b), c, d)
        else:
            first = np.maximum(np.searchsorted(knots, values, side="right") - 1, 0)
            first[np.isnan(values)] = 0
            slopes = np.append(np.diff(heights) / np.diff(knots), 0.0)
            found = heights[first] + slopes[first] * np.maximum(values - knots[first], 0)
        return np.where(np.isnan(values), missing, found) / divisor


# --- explanations

def summary(values, weights, n_entries):
    """Distinct values with their weights; of more than n_entries those in the middle of equal shares of the weight."""
    distinct, place = np.unique(values, return_inverse=True)
    weights = np.bincount(place, weights)
    if len(distinct) <= n_entries:
        return distinct, weights
    ends, share = np.cumsum(weights), weights.sum() / n_entries
    kept, counts = np.unique(np.searchsorted(ends, share * (np.arange(n_entries) + 0.5)), return_counts=True)
    return distinct[kept], share * counts


def product_interaction(u, w, players):
    """Shapley value of one player, or interaction of two, in the game v(S) = prod_{S} u_g prod_{not S} w_g.

    By the definition: the sum over coalitions S of the others of |S|! (k - q - |S|)! / (k - q + 1)! times
    prod_{players} (u_j - w_j) prod_{S} u_g prod_{not S} w_g, of q players of k.
    """
    others = [g for g in range(len(u)) if g not in players]
    total = 0.0
    for bits in itertools.product([False, True], repeat=len(others)):
        inside = sum(bits)
        weight = (math.factorial(inside) * math.factorial(len(others) - inside) / math.factorial(len(others) + 1))
        total = total + weight * math.prod(u[g] if bit else w[g] for g, bit in zip(others, bits, strict=True))
    return total * math.prod(u[j] - w[j] for j in players)


# --- leaves of symmetric trees

def n_leaves(columns, thresholds):
    """Numbers of the leaves of trees: for each column one more than the thresholds that it is compared with."""
    return [int(np.prod([1 + np.sum((row == j) & (bounds < UNREACHED)) for j in set(row.tolist())], dtype=int))
            for row, bounds in zip(columns, thresholds, strict=True)]


def leaves_of(columns, thresholds, X):
    """The leaf of each row in one tree: digits, the column of the first split counting least."""
    leaves, size = np.zeros(len(X), dtype=int), 1
    for j in dict.fromkeys(columns[thresholds < UNREACHED].tolist()):
        bounds = thresholds[(columns == j) & (thresholds < UNREACHED)]
        leaves += size * (X[:, j, None] > bounds).sum(axis=1)
        size *= 1 + len(bounds)
    return leaves
