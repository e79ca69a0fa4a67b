"""Expansions of one kind of terms, or of several, from their arrays in one call."""

import numpy as np

from rffkern import Expansion, FourierTerms, KernelTerms, LinearTerms, TreeTerms
from rffkern._model.tree_layout import UNREACHED


def fourier_expansion(omegas, phases, amplitudes, intercept, center):
    return Expansion(intercept, center, FourierTerms(omegas, phases, amplitudes))


def kernel_expansion(centers, weights, intercept, inverse_length_scales, *more, **named):
    return Expansion(intercept, np.zeros(np.shape(inverse_length_scales)),
                     KernelTerms(centers, weights, inverse_length_scales, *more, **named))


def boosted_expansion(omegas, phases, amplitudes, intercept, center, coefficients, tree_columns, tree_thresholds,
                      tree_values, lower=None, upper=None):
    """Fourier terms, linear terms and trees, each of which may be empty, within bounds."""
    return Expansion(intercept, center, FourierTerms(omegas, phases, amplitudes), LinearTerms(coefficients),
                     TreeTerms(tree_columns, tree_thresholds, tree_values), lower=lower, upper=upper)


def with_kernels(terms, kernels):
    """An expansion with the kernels of another one beside its terms."""
    return Expansion(terms.intercept, terms.center, *terms.parts, kernels.kernels, lower=terms.lower,
                     upper=terms.upper)


def small_expansion(n_outputs=1):
    """cos over columns 0, then 0 and 2; a tree of column 1, and one of columns 3 and 2."""
    rng = np.random.default_rng(0)
    omegas = np.array([[1.5, 0, 0, 0], [0.5, 0, -2.0, 0]])
    columns = np.array([[1, 0], [3, 2]])
    thresholds = np.array([[0.2, UNREACHED], [0.0, -0.5]])
    return boosted_expansion(omegas, [0.3, 1.0], rng.standard_normal((2, n_outputs)), np.arange(n_outputs) + 0.5,
                         np.zeros(4), np.zeros((4, n_outputs)), columns, thresholds,
                         rng.standard_normal((6, n_outputs)))
