"""Shapley values of products, and look-ups in trees, beside their twins."""

import itertools

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st

from rffkern._model.shapley import rules_of
from rffkern._native.explain import ROWS, ProductTerms, add_leaves

N_MAPPED, N_COLUMNS, N_OUTPUTS = 7, 5, 2
SOURCES = np.array([0, 0, 1, 2, 3, 4, 4])


class Problem:
    """Some terms, rows and backgrounds, of cosines or of kernels in boxes."""

    def __init__(self, seed, n_rows, n_backgrounds, is_complex, counts=(0, 1, 2, 3, 4, 5)):
        rng = np.random.default_rng(seed)
        self.is_complex = is_complex
        chosen = [np.sort(rng.permutation(N_COLUMNS)[:count]) for count in counts]
        of_factors = [np.flatnonzero(column == SOURCES) for columns in chosen for column in columns]
        n_entries = sum(map(len, of_factors))
        self.rows = rng.standard_normal((n_rows, N_MAPPED))
        self.others = rng.standard_normal((n_backgrounds, N_MAPPED))
        self.arrays = {
            "ends": np.cumsum([0, *counts]), "columns": np.concatenate(chosen).astype(np.intp),
            "entry_ends": np.cumsum([0, *map(len, of_factors)]), "entries": np.concatenate(of_factors),
            "numbers": rng.standard_normal(n_entries),
            "centers": rng.standard_normal(0 if is_complex else n_entries),
            "lows": rng.standard_normal(0 if is_complex else n_entries) - 2,
            "highs": rng.standard_normal(0 if is_complex else n_entries) + 2,
            "turns": rng.standard_normal((len(counts) if is_complex else 0, 2)),
            "weights": rng.standard_normal((len(counts), N_OUTPUTS))}
        self.terms = ProductTerms(N_MAPPED, N_COLUMNS, **self.arrays)

    def factor(self, row, f):
        """Factor f at a row."""
        own = slice(*self.arrays["entry_ends"][f : f + 2])
        x, number = row[self.arrays["entries"][own]], self.arrays["numbers"][own]
        if self.is_complex:
            return np.exp(1j * np.pi * (number @ x))
        within = ((x > self.arrays["lows"][own]) & (x <= self.arrays["highs"][own])).all()
        return within * 2.0 ** -(((x - self.arrays["centers"][own]) * number) ** 2).sum()

    def expected(self, order):
        """What all terms add: values (n_rows, n_columns, n_outputs), or interactions of pairs."""
        found = np.zeros((len(self.rows), N_COLUMNS**order, N_OUTPUTS))
        for t, (start, stop) in enumerate(itertools.pairwise(self.arrays["ends"])):
            for players in itertools.combinations(range(stop - start), order):
                place = sum(self.arrays["columns"][start + player] * N_COLUMNS ** (order - 1 - axis)
                            for axis, player in enumerate(players))
                for row, total in zip(self.rows, found, strict=True):
                    u = [self.factor(row, f) for f in range(start, stop)]
                    value = np.mean([reference.product_interaction(
                        u, [self.factor(other, f) for f in range(start, stop)], players) for other in self.others])
                    if self.is_complex:
                        value = (value * (self.arrays["turns"][t] @ [1, 1j])).real
                    total[place] += value * self.arrays["weights"][t]
        return found

    def arguments(self, with_pairs=False, n_threads=1):
        """Those of `add_values`."""
        scratch = np.empty((n_threads, self.terms.scratch_size(with_pairs)))
        means = np.empty((len(self.others), 1 + self.is_complex, self.terms.n_factors))
        self.terms.factors(self.others, means, np.empty_like(scratch), n_threads)
        ends, rules = rules_of(self.terms.most)
        out = np.zeros((len(self.rows), N_COLUMNS ** (1 + with_pairs), N_OUTPUTS))
        return {"rows": self.rows, "means": means, "rule_ends": ends, "rules": rules, "with_pairs": with_pairs,
                "out": out, "scratch": scratch, "n_threads": n_threads}


problems = st.builds(Problem, st.integers(0, 2**32 - 1), st.sampled_from([1, 2, ROWS - 1, ROWS, ROWS + 1]),
                     st.integers(1, 2), st.booleans())


@given(problems, st.booleans())
def test_values_and_pairs(problem, with_pairs):
    arguments = problem.arguments(with_pairs)
    problem.terms.add_values(**arguments)
    np.testing.assert_allclose(arguments["out"], problem.expected(1 + with_pairs), rtol=0, atol=1e-12)


@pytest.mark.parametrize("is_complex", [False, True])
def test_levels(level, is_complex):
    problem = Problem(3, 18, 2, is_complex)
    for with_pairs in (False, True):
        arguments = problem.arguments(with_pairs)
        problem.terms.add_values(**arguments)
        np.testing.assert_allclose(arguments["out"], problem.expected(1 + with_pairs), rtol=0, atol=1e-12)


@pytest.mark.parametrize("is_complex", [False, True])
def test_short_arrays_are_refused(is_complex):
    problem = Problem(0, 5, 2, is_complex)
    for name, array in problem.arrays.items():
        for axis in range(array.ndim):
            if array.size:
                shorter = problem.arrays | {name: np.ascontiguousarray(array.take(range(array.shape[axis] - 1), axis))}
                if (name, axis) != ("weights", 1):  # one output less
                    with pytest.raises(ValueError, match="must"):
                        ProductTerms(N_MAPPED, N_COLUMNS, **shorter)
    for wrong in ({"columns": problem.arrays["columns"] + 1}, {"entries": problem.arrays["entries"] + 1},
                  {"entries": problem.arrays["entries"] - 1}):
        with pytest.raises(ValueError, match="indices"):
            ProductTerms(N_MAPPED, N_COLUMNS, **problem.arrays | wrong)
    for with_pairs in (False, True):
        arguments = problem.arguments(with_pairs)
        for name, array in arguments.items():
            for axis in range(np.ndim(array)):
                shorter = np.ascontiguousarray(array.take(range(array.shape[axis] - 1), axis))
                if (name, axis) not in {("means", 0)}:  # fewer backgrounds
                    with pytest.raises(ValueError, match="must"):
                        problem.terms.add_values(**arguments | {name: shorter})
        with pytest.raises(ValueError, match="n_threads"):
            problem.terms.add_values(**arguments | {"n_threads": 0})
    with pytest.raises(ValueError, match="out must"):
        problem.terms.factors(problem.rows, np.empty((4, 1 + is_complex, problem.terms.n_factors)),
                              np.empty((1, problem.terms.scratch_size(False))), 1)


@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 2, ROWS, ROWS + 1]))
def test_leaves(seed, n_rows):
    rng = np.random.default_rng(seed)
    rows, thresholds = rng.standard_normal((n_rows, 3)), rng.standard_normal((4, 3))
    columns = rng.integers(0, 3, (4, 3))
    steps, ends = np.tile([1, 2, 4], (4, 1)), np.array([0, 2, 2, 3, 6])
    places, starts = rng.integers(0, 5, 6), 8 * 2 * ends
    tables, out = rng.standard_normal(starts[-1]), np.zeros((n_rows, 5, 2))
    add_leaves(rows, columns, thresholds, steps, ends, places, starts, tables, out, 1)
    expected = np.zeros_like(out)
    for t in range(4):
        leaves = (rows[:, columns[t]] > thresholds[t]) @ steps[t]
        table = tables[starts[t] : starts[t + 1]].reshape(8, -1, 2)
        for p, place in enumerate(places[ends[t] : ends[t + 1]]):
            expected[:, place] += table[leaves, p]
    np.testing.assert_allclose(out, expected, atol=1e-14)
