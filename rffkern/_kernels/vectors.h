/* What the files that are compiled once per instruction-set level share: vectors, and names that end in the level. */
#ifndef RFFKERN_VECTORS_H
#define RFFKERN_VECTORS_H

#ifndef VM_LEVEL
#define VM_LEVEL baseline
#endif

#if defined(_MSC_VER) && !defined(__clang__)
#define restrict __restrict
#endif

/* A vector as wide as the registers of the level; wider ones are split through memory by some compilers. */
#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#elif defined(__AVX2__)
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif

/* VM_PLAIN: as a compiler without GNU's vectors would see it, to test that. */
#if (defined(__GNUC__) || defined(__clang__)) && !defined(VM_PLAIN)
#define PREFETCH(address) __builtin_prefetch(address)
#define ALWAYS_INLINE inline __attribute__((always_inline))
#define VECTOR_OF(type) __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(type)), may_alias))
#else
#define PREFETCH(address) ((void)(address))
#define ALWAYS_INLINE inline
#define VECTOR_OF(type) /* one number: the compiler's own vectoriser has to do */
#endif

#define PASTE3(a, b, c) a##_##b##_##c
#define EXPAND3(a, b, c) PASTE3(a, b, c)
#define PASTE2(a, b) a##_##b
#define EXPAND2(a, b) PASTE2(a, b)

#endif
