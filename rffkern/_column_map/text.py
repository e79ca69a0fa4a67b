"""Free text: hashed n-grams of words and letters, weighted by tf-idf, and their ridge regression on the target.

A text in lower case is its words, a blank between any two.  Its n-grams are the single words, the pairs of neighbours,
and the sequences of three and four letters within a word and the blanks around it.  Each is hashed to one of B buckets;
with n_b n-grams of a text in bucket b, and texts in d_b of n rows that have any there,

    x_b = (1 + ln n_b) (1 + ln((1 + n) / (1 + d_b))),    scaled to |x| = 1.

A text becomes beta . x for each output of the target: beta minimises sum_i w_i (y_i - mean y - beta . x_i)^2
+ lambda |beta|^2 over the training rows, by conjugate gradients, and lambda is the one with the smallest error in a
fold that is left out.  Training rows get the scores of regressions that leave out their own fold.
"""

import math
import re
from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from .._native.array_types import Double, Indices, NDArray
from .transforms import Form, require

Words = NDArray[np.uint64]

_WORD = re.compile(r"[^\W_]+")
_LENGTHS = (3, 4)  # of sequences of letters
MOST_LETTERS = 4096  # of a text that are read
_BLOCK = 512  # texts that are hashed together

# Numbers of buckets: so many that all outputs have at most the last number of coefficients.
_MOST_BITS, _FEWEST_BITS, _MOST_COEFFICIENTS = 16, 10, 1 << 18

# Of the regression: penalties, in rows; the largest number of n-grams that it learns from; steps; and by how many
# standard errors its error in rows left out must be below that of the mean.
_PENALTIES = (0.5, 2.0, 8.0, 32.0)
_MOST_GRAMS, _N_STEPS, _TOLERANCE, _STANDARD_ERRORS = 4_000_000, 30, 1e-3, 3.0

_LN2, _LAST_POWER = math.log(2), 23  # of the power series of a logarithm

_BASE = 0x9E3779B97F4A7C15 | 1
_INVERSE = pow(_BASE, -1, 1 << 64)


def _mixed(hashes: Words, kind: int) -> Words:
    """Hashes of 64 bits of n-grams of some kind (the steps of SplitMix64)."""
    z = hashes + np.uint64(kind * 0xD1B54A32D192ED03 % (1 << 64))
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _logarithms(counts: Double) -> Double:
    """Natural logarithms of whole numbers, by sums and products, which have the same bits in C (`rff_text.h`).

    ln(2^e m) = e ln 2 + 2 artanh((m - 1) / (m + 1)), sqrt(1/2) <= m < sqrt(2), the latter by its power series.
    """
    mantissas, exponents = np.frexp(counts)
    below = mantissas < math.sqrt(0.5)
    mantissas, exponents = np.where(below, 2 * mantissas, mantissas), exponents - below
    ratios = (mantissas - 1) / (mantissas + 1)
    squares, series = ratios * ratios, np.zeros(len(counts))
    for k in range(_LAST_POWER, -1, -2):
        series = series * squares + 2 / k
    return np.asarray(exponents * _LN2 + ratios * series)


class Grams(NamedTuple):
    """How many n-grams of texts are in which buckets: those of text i are `starts[i] : starts[i + 1]`."""

    starts: Indices  # (n_texts + 1,)
    buckets: Indices  # (n,) ascending within a text
    counts: Double  # (n,)

    @classmethod
    def of(cls, texts: Sequence[str], n_bits: int) -> Self:
        """Those of texts, which are hashed to 2^n_bits buckets."""
        parts = [_grams_of_block(texts[start : start + _BLOCK], n_bits) for start in range(0, len(texts), _BLOCK)]
        if not parts:
            return cls(np.zeros(1, np.intp), np.empty(0, np.intp), np.empty(0))
        sizes, buckets, counts = (np.concatenate(each) for each in zip(*parts, strict=True))
        return cls(np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp), buckets, counts.astype(np.float64))

    def weighted(self, idf: Double) -> Double:
        """Values of x, shape (n,)."""
        values = (1 + _logarithms(self.counts)) * idf[self.buckets]
        texts = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        lengths = np.sqrt(np.bincount(texts, values * values, len(self.starts) - 1))
        return values / np.where(lengths > 0, lengths, 1.0)[texts]  # 0 of an idf that no training has


def _grams_of_block(texts: Sequence[str], n_bits: int) -> tuple[Indices, Indices, Indices]:
    """Of each text how many buckets it has n-grams in, and of all texts these buckets, ascending, and their numbers."""
    plain = "\n".join(f" {' '.join(_WORD.findall(text[:MOST_LETTERS].lower()))} " for text in texts)
    letters = np.frombuffer(plain.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint64)
    n_letters = len(letters)
    text_of = np.cumsum(letters == ord("\n"))
    powers = np.full((2, n_letters + 1), [[_BASE], [_INVERSE]], np.uint64)
    powers[:, 0] = 1
    powers = np.multiply.accumulate(powers, axis=1)
    sums = np.concatenate([[np.uint64(0)], np.cumsum((letters + np.uint64(1)) * powers[0, :-1])])

    def hashes(first: Indices, last: Indices, kind: int) -> Words:
        """Hashes of the letters from first to before last: the sum of letter times base^place, at place 0."""
        return _mixed((sums[last] - sums[first]) * powers[1, first], kind)

    blanks = np.flatnonzero(letters == ord(" "))
    found = []
    for n_words in (1, 2):
        first, last = blanks[:-n_words] + 1, blanks[n_words:]
        same = (text_of[first - 1] == text_of[last]) & (last > first)
        found.append((text_of[first[same]], hashes(first[same], last[same], n_words)))
    n_blanks = np.concatenate([[0], np.cumsum(letters == ord(" "))])
    for length in _LENGTHS:
        first = np.arange(n_letters - length + 1)
        same = (text_of[first] == text_of[first + length - 1]) & (n_blanks[first + length - 1] == n_blanks[first + 1])
        found.append((text_of[first[same]], hashes(first[same], first[same] + length, 10 + length)))
    owners, all_hashes = (np.concatenate(each) for each in zip(*found, strict=True))
    buckets = (all_hashes >> np.uint64(64 - n_bits)).astype(np.int64)
    keys, counts = np.unique((owners.astype(np.int64) << n_bits) + buckets, return_counts=True)
    return (np.bincount(keys >> n_bits, minlength=len(texts)).astype(np.intp),
            (keys & ((1 << n_bits) - 1)).astype(np.intp), counts)


def _products(grams: Grams, values: Double, coefficients: Double) -> Double:
    """Scores beta . x of each text, shape (n_outputs, n_texts); the same bits for a text alone and among others."""
    n_texts = len(grams.starts) - 1
    texts = np.repeat(np.arange(n_texts), np.diff(grams.starts))
    return np.array([np.bincount(texts, values * beta[grams.buckets], n_texts) for beta in coefficients])


class TextForm(Form):
    """The score beta . x of a text for each output of the target, in one unit for all outputs.

    Its numbers are that of buckets B, the shifts of outputs, idf and the coefficients, output by output.
    """

    @property
    def shifts(self) -> Double:
        """What is added to each output, shape (n_outputs,)."""
        return self.numbers[1 : 1 + len(self.outputs)]

    @property
    def idf(self) -> Double:
        """Inverse document frequencies, shape (B,)."""
        return self.numbers[1 + len(self.outputs) :][: int(self.numbers[0])]

    @property
    def coefficients(self) -> Double:
        """Beta, shape (n_outputs, B)."""
        return self.numbers[1 + len(self.outputs) + len(self.idf) :].reshape(len(self.outputs), -1)

    def of_texts(self, texts: Sequence[str]) -> Double:
        """Outputs of texts, shape (n_outputs, n_texts)."""
        grams = Grams.of(texts, len(self.idf).bit_length() - 1)
        return _products(grams, grams.weighted(self.idf), self.coefficients) + self.shifts[:, None]


def text_form(numbers: Double) -> TextForm:
    """The form of these numbers; ValueError for what no training gives."""
    n_buckets = int(numbers[0]) if numbers.size and 1 << _FEWEST_BITS <= numbers[0] <= 1 << _MOST_BITS else 0
    require(n_buckets and n_buckets == numbers[0] and not n_buckets & (n_buckets - 1),
            "the number of buckets of a text is malformed")
    n_outputs, rest = divmod(numbers.size - 1 - n_buckets, 1 + n_buckets)
    require(n_outputs >= 1 and not rest, "buckets and coefficients of a text differ in number")
    require(np.abs(numbers).max() <= 1e30, "coefficients of a text are too large")
    return TextForm("text", numbers, ("text",) if n_outputs == 1 else tuple(f"text{k}" for k in range(n_outputs)),
                    [("raw", 0.0, 0.0, 0.0, 0.0, 0.0)] * n_outputs, {"buckets": n_buckets})


def learn_text(texts: Sequence[str], weights: Double, targets: Double, unit: float) -> tuple[TextForm, Double] | None:
    """The form of texts, and its values for the training rows of each fold, shape (n_texts, n_folds, n_outputs).

    None where the targets are not predicted better than by their mean.

    Parameters
    ----------
    texts : the distinct texts
    weights : (n_texts, n_folds) weights of the rows that have them
    targets : (n_texts, n_folds, n_outputs) weighted sums
    unit : the weight of a row
    """
    n_outputs, n_folds = targets.shape[2], weights.shape[1]
    n_bits = _MOST_BITS
    while n_bits > _FEWEST_BITS and n_outputs << n_bits > _MOST_COEFFICIENTS:
        n_bits -= 1
    grams = Grams.of(texts, n_bits)
    of_texts = weights.sum(axis=1) / unit
    sizes = np.diff(grams.starts)
    df = np.bincount(grams.buckets, np.repeat(of_texts, sizes), 1 << n_bits)
    idf = 1 + np.log((1 + of_texts.sum()) / (1 + df))
    values = grams.weighted(idf)
    # Of very many n-grams, evenly spaced texts are learned from.
    learned = np.zeros(len(texts), dtype=bool)
    learned[:: -(-len(values) // _MOST_GRAMS) or 1] = True
    means = targets.sum(axis=(0, 1)) / weights.sum()
    residuals = targets - weights[..., None] * means
    problem = _Regression(grams, values)

    def fitted(fold: int | None, penalty: float, start: Double) -> Double:
        own = 0 if fold is None else weights[:, fold]
        of_fold = 0 if fold is None else residuals[:, fold]
        w = np.where(learned, weights.sum(axis=1) - own, 0.0)
        t = np.where(learned[:, None], residuals.sum(axis=1) - of_fold, 0.0)
        return problem.solve(w / unit, t / unit, penalty, start)

    def losses(fold: int, beta: Double) -> Double:
        """Squared errors less those of the mean, of the rows of a fold, for each text."""
        p = problem.products(beta)
        return np.asarray(((weights[:, fold] * p - 2 * residuals[:, fold].T) * p).sum(axis=0))

    start = np.zeros((n_outputs, 1 << n_bits))
    tried = []
    for penalty in _PENALTIES[::-1]:  # each from the solution of the one before
        start = fitted(0, penalty, start)
        tried.append((float(losses(0, start).sum()), penalty, start))
        if tried[-1][0] > min(tried)[0]:
            break
    _, penalty, start = min(tried, key=lambda each: each[:2])
    of_folds = [start, *(fitted(fold, penalty, start) for fold in range(1, n_folds))]
    differences = sum(losses(fold, beta) for fold, beta in enumerate(of_folds))
    if not -np.sum(differences) > _STANDARD_ERRORS * math.sqrt(float(np.sum(differences**2))):
        return None
    beta = fitted(None, penalty, start)
    held_out = np.stack([problem.products(each).T for each in of_folds], axis=1)
    share = (weights / weights.sum())[..., None]
    center = (share * held_out).sum(axis=(0, 1))
    spread = math.sqrt(float((share * (held_out - center) ** 2).sum()))
    numbers = np.concatenate([[len(idf)], -center / spread, idf, (beta / spread).ravel()])
    return text_form(numbers), (held_out - center) / spread


class _Regression:
    """Ridge regression on the values of texts, by conjugate gradients."""

    def __init__(self, grams: Grams, values: Double) -> None:
        self._values, self._buckets = values, grams.buckets
        self._filled = np.flatnonzero(np.diff(grams.starts))
        self._starts, self._sizes = grams.starts[self._filled], np.diff(grams.starts)[self._filled]
        self._n_texts = len(grams.starts) - 1

    def products(self, beta: Double) -> Double:
        """Scores beta . x, shape (n_outputs, n_texts)."""
        out = np.zeros((len(beta), self._n_texts))
        for each, row in zip(beta, out, strict=True):
            if len(self._starts):
                row[self._filled] = np.add.reduceat(self._values * each[self._buckets], self._starts)
        return out

    def _transposed(self, r: Double, n_buckets: int) -> Double:
        """Sums of r x over the texts, shape (n_outputs, n_buckets)."""
        return np.array([np.bincount(self._buckets, self._values * np.repeat(each[self._filled], self._sizes),
                                     n_buckets) for each in r])

    def solve(self, weights: Double, targets: Double, penalty: float, start: Double) -> Double:
        """Coefficients, (n_outputs, n_buckets), by weights (n_texts,) and weighted residuals (n_texts, n_outputs)."""
        n_buckets = start.shape[1]

        def curvature(beta: Double) -> Double:
            return self._transposed(weights * self.products(beta), n_buckets) + penalty * beta

        right = self._transposed(targets.T, n_buckets)
        beta = start.copy()
        residual = right - curvature(beta)
        direction, power = residual.copy(), (residual**2).sum(axis=1)
        goal = _TOLERANCE**2 * np.maximum((right**2).sum(axis=1), 1e-300)
        for _ in range(_N_STEPS):
            if (power <= goal).all():
                break
            turned = curvature(direction)
            slope = (direction * turned).sum(axis=1)
            step = np.where(slope > 0, power / np.where(slope > 0, slope, 1.0), 0.0)[:, None]
            beta += step * direction
            residual -= step * turned
            before, power = power, (residual**2).sum(axis=1)
            direction = residual + (power / np.maximum(before, 1e-300))[:, None] * direction
        return beta
