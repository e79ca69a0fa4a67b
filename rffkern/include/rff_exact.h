/* Included first: sums of scores are rounded as they are written. */
#ifndef RFF_EXACT_H
#define RFF_EXACT_H

#if defined(__FAST_MATH__)
#error "rffscore.c must be compiled without -ffast-math: it would change scores"
#endif

#if defined(RFF_TABLES) /* the build passes -ffp-contract=off */
#elif defined(__clang__)
#pragma clang fp contract(off)
#elif defined(__GNUC__)
/* Roots without errno are instructions of vectors. */
#pragma GCC optimize("fp-contract=off")
extern double sqrt(double) __attribute__((const));
extern float sqrtf(float) __attribute__((const));
#ifdef RFF_FAST
#pragma GCC optimize("O3")
#endif
#elif defined(_MSC_VER)
#pragma fp_contract(off)
#endif

#endif
