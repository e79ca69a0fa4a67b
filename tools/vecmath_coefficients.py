"""Print the polynomial coefficients of rffkern/_native/core/vecmath.c and polynomials.h.

Near-minimax (Chebyshev) fits in 40 digits on the reduced range [-1/2, 1/2]:

    sin(pi r) = r S(r^2)        cos(pi r) = 1 + r^2 C(r^2)        2^f - 1 = f E(f)

and, for s up to 1/3,

    log((1 + s) / (1 - s)) = 2 s (1 + s^2 L(s^2))

Usage: python tools/vecmath_coefficients.py        (needs mpmath)
"""

from mpmath import atanh, chebyfit, cos, expm1, log, mp, mpf, nstr, pi, sin, sqrt, taylor

mp.dps = 40


def sine(z):
    return sin(pi * sqrt(z)) / sqrt(z) if z > mpf(10) ** -30 else pi


def cosine(z):
    return (cos(pi * sqrt(z)) - 1) / z if z > mpf(10) ** -15 else -(pi**2) / 2


def exponential(f):
    if abs(f) < mpf(10) ** -15:
        return sum(c * f**k for k, c in enumerate(taylor(lambda t: expm1(t * log(2)), 0, 4)[1:]))
    return expm1(f * log(2)) / f


def logarithm(z):
    return (atanh(sqrt(z)) / sqrt(z) - 1) / z if z > mpf(10) ** -15 else mpf(1) / 3


def show(name, function, interval, n_terms, digits):
    coefficients, error = chebyfit(function, interval, n_terms, error=True)
    print(f"{name}: {n_terms} terms, largest error {nstr(error, 2)}")
    for power, value in enumerate(reversed(coefficients)):
        print(f"    [{power}] {nstr(value, digits)}")


if __name__ == "__main__":
    for precision, sizes, digits in (("double", (9, 8, 11), 20), ("float", (5, 5, 6), 11)):
        print(precision)
        show("  S", sine, [0, mpf(1) / 4], sizes[0], digits)
        show("  C", cosine, [0, mpf(1) / 4], sizes[1], digits)
        show("  E", exponential, [-mpf(1) / 2, mpf(1) / 2], sizes[2], digits)
    show("  L", logarithm, [0, mpf(1) / 9], 4, 11)
