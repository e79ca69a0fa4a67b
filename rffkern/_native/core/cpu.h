/* Which instruction sets of x86-64 this machine can run.
 *
 * A level may be used where the processor has every instruction that the compiler may use for it, and where the
 * operating system saves the registers they work on.  Virtual machines may hide any of them.
 */
#ifndef RFFKERN_CPU_H
#define RFFKERN_CPU_H

#include <stdint.h>

#ifdef VM_HAVE_LEVELS
#include <cpuid.h>
#endif

/* Registers of the instruction `cpuid` (by its leaf) and of `xgetbv` (XCR0: what the operating system saves). */
enum { LEAF1_ECX, LEAF7_EBX, EXTENDED1_ECX, XCR0, N_CPU_WORDS };

/* Level `level` needs all of `bits` in a register. */
typedef struct {
    const char *name;
    int level;
    int word;
    uint32_t bits;
} cpu_flag;

static const cpu_flag cpu_flags[] = {
    {"SSE3", 2, LEAF1_ECX, 1u << 0},      {"SSSE3", 2, LEAF1_ECX, 1u << 9},    {"CMPXCHG16B", 2, LEAF1_ECX, 1u << 13},
    {"SSE4.1", 2, LEAF1_ECX, 1u << 19},   {"SSE4.2", 2, LEAF1_ECX, 1u << 20},  {"POPCNT", 2, LEAF1_ECX, 1u << 23},
    {"LAHF", 2, EXTENDED1_ECX, 1u << 0},  {"FMA", 3, LEAF1_ECX, 1u << 12},     {"MOVBE", 3, LEAF1_ECX, 1u << 22},
    {"OSXSAVE", 3, LEAF1_ECX, 1u << 27},  {"AVX", 3, LEAF1_ECX, 1u << 28},     {"F16C", 3, LEAF1_ECX, 1u << 29},
    {"BMI1", 3, LEAF7_EBX, 1u << 3},      {"AVX2", 3, LEAF7_EBX, 1u << 5},     {"BMI2", 3, LEAF7_EBX, 1u << 8},
    {"LZCNT", 3, EXTENDED1_ECX, 1u << 5}, {"ymm state", 3, XCR0, 0x6},         {"AVX512F", 4, LEAF7_EBX, 1u << 16},
    {"AVX512DQ", 4, LEAF7_EBX, 1u << 17}, {"AVX512CD", 4, LEAF7_EBX, 1u << 28}, {"AVX512BW", 4, LEAF7_EBX, 1u << 30},
    {"AVX512VL", 4, LEAF7_EBX, 1u << 31}, {"zmm state", 4, XCR0, 0xe0},
};

enum { N_CPU_FLAGS = sizeof cpu_flags / sizeof cpu_flags[0] };

static inline void cpu_read_words(uint32_t words[N_CPU_WORDS])
{
    int i;
    for (i = 0; i < N_CPU_WORDS; i++) words[i] = 0;
#ifdef VM_HAVE_LEVELS
    {
        unsigned a, b, c, d;
        if (__get_cpuid(1, &a, &b, &c, &d)) words[LEAF1_ECX] = c;
        if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) words[LEAF7_EBX] = b;
        if (__get_cpuid(0x80000001u, &a, &b, &c, &d)) words[EXTENDED1_ECX] = c;
        if (words[LEAF1_ECX] & (1u << 27)) { /* OSXSAVE: without it `xgetbv` is an illegal instruction */
            uint32_t low, high;
            __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
            words[XCR0] = low;
        }
    }
#endif
}

/* Bit k tells whether the machine has entry k of `cpu_flags`. */
static inline uint32_t cpu_detect(void)
{
    uint32_t words[N_CPU_WORDS], found = 0;
    int k;
    cpu_read_words(words);
    for (k = 0; k < N_CPU_FLAGS; k++)
        if ((words[cpu_flags[k].word] & cpu_flags[k].bits) == cpu_flags[k].bits) found |= (uint32_t)1 << k;
    return found;
}

/* Number of levels that a machine with these flags can run: 1 is the baseline, 2 to 4 are x86-64-v2 to v4. */
static inline int cpu_n_levels(uint32_t flags)
{
    int k, n_levels = 4;
    for (k = 0; k < N_CPU_FLAGS; k++)
        if (!(flags >> k & 1) && cpu_flags[k].level <= n_levels) n_levels = cpu_flags[k].level - 1;
    return n_levels;
}

#endif
