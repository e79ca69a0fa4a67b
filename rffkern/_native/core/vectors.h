/* What the files that are compiled once per instruction set share: vectors, and names that end in the level.
 *
 * A file that holds several levels sets VM_LEVEL, VECTOR_BYTES and VM_FUSES itself before each.
 */
#ifndef RFFKERN_VECTORS_H
#define RFFKERN_VECTORS_H

#define VM_TILE 128
#define VM_TERMS 4        /* cosines that `project_terms` computes in one sweep over a tile */
#define VM_TERM_BLOCK 16  /* terms that are summed in REAL before they are added to a double */
#define VM_LANES 16       /* of a sum kept open in `lanes`; widths given to the scoring functions are multiples */

#ifndef VM_LEVEL
#define VM_LEVEL baseline
#endif

#if defined(_MSC_VER) && !defined(__clang__)
#define restrict __restrict
#endif

/* A vector as wide as the registers of the level; wider ones are split through memory by some compilers. */
#if defined(VECTOR_BYTES)
#elif defined(__AVX512F__)
#define VECTOR_BYTES 64
#elif defined(__AVX2__)
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif

/* Whether the level has an instruction for a product and a sum that are rounded once. */
#ifdef VM_FUSES
#elif defined(__FMA__) || defined(__FP_FAST_FMA) || defined(__aarch64__)
#define VM_FUSES 1
#else
#define VM_FUSES 0
#endif

/* Whether the level has the instructions of AVX-512 that come with x86-64-v4. */
#ifdef VM_AVX512
#elif defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__GNUC__) && !defined(VM_PLAIN)
#define VM_AVX512 1
#else
#define VM_AVX512 0
#endif

/* VM_PLAIN: as a compiler without GNU's vectors would see it, to test that.  A loop with ONE_BY_ONE is done for one
   value after the other. */
#if (defined(__GNUC__) || defined(__clang__)) && !defined(VM_PLAIN)
#define PREFETCH(address) __builtin_prefetch(address)
#define ALWAYS_INLINE inline __attribute__((always_inline))
#define VECTOR_OF(type) __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(type)), may_alias))
#define ONE_BY_ONE(x) __asm__("" : "+r"(x))
#define ABOVE(x, threshold) ((x) > (threshold))
#define UNROLLED _Pragma("GCC unroll 8")
#else
#define PREFETCH(address) ((void)(address))
#define ALWAYS_INLINE inline
#define VECTOR_OF(type) /* one number: the compiler's own vectoriser has to do */
#define ONE_BY_ONE(x) ((void)(x))
#define ABOVE(x, threshold) (-((x) > (threshold)))
#define UNROLLED
#endif

#define PASTE3(a, b, c) a##_##b##_##c
#define EXPAND3(a, b, c) PASTE3(a, b, c)
#define PASTE2(a, b) a##_##b
#define EXPAND2(a, b) PASTE2(a, b)

#endif
