"""Expansions of one kind of terms, or of several, from their arrays in one call."""

import numpy as np

from rffkern import Expansion, FourierTerms, KernelTerms, LinearTerms, TreeTerms


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
