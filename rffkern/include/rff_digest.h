/* SHA-256 (FIPS 180-4) of a file, and the CRC-32 of its members (ISO 3309). */
#ifndef RFF_DIGEST_H
#define RFF_DIGEST_H

#include "rff_reader.h"

/* First 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t rff_sha_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rff_rotated(uint32_t x, int by) { return x >> by | x << (32 - by); }

/* The word a, b, ... or h of a round: they move by one place from round to round. */
#define RFF_AT(word) v[((word) - i) & 7]

static void rff_sha_block(uint32_t state[8], const uint8_t *block)
{
    uint32_t w[64], v[8], first, second;
    int i;
    for (i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8
               | block[4 * i + 3];
    for (; i < 64; i++)
        w[i] = w[i - 16] + w[i - 7] + (rff_rotated(w[i - 15], 7) ^ rff_rotated(w[i - 15], 18) ^ w[i - 15] >> 3)
               + (rff_rotated(w[i - 2], 17) ^ rff_rotated(w[i - 2], 19) ^ w[i - 2] >> 10);
    memcpy(v, state, sizeof v);
    for (i = 0; i < 64; i++) {
        first = RFF_AT(7) + (rff_rotated(RFF_AT(4), 6) ^ rff_rotated(RFF_AT(4), 11) ^ rff_rotated(RFF_AT(4), 25))
                + ((RFF_AT(4) & RFF_AT(5)) ^ (~RFF_AT(4) & RFF_AT(6))) + rff_sha_constants[i] + w[i];
        second = (rff_rotated(RFF_AT(0), 2) ^ rff_rotated(RFF_AT(0), 13) ^ rff_rotated(RFF_AT(0), 22))
                 + ((RFF_AT(0) & RFF_AT(1)) ^ (RFF_AT(0) & RFF_AT(2)) ^ (RFF_AT(1) & RFF_AT(2)));
        RFF_AT(3) += first;
        RFF_AT(7) = first + second;
    }
    for (i = 0; i < 8; i++) state[i] += v[i];
}

/* The digest as 64 hexadecimal digits in lower case. */
static void rff_sha256(rff_span data, char digits[64])
{
    uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    uint8_t last[128] = {0};
    size_t whole = data.size / 64 * 64, rest = data.size - whole, padded = rest < 56 ? 64 : 128, i;
    for (i = 0; i < whole; i += 64) rff_sha_block(state, data.at + i);
    memcpy(last, data.at + whole, rest);
    last[rest] = 0x80;
    for (i = 0; i < 8; i++) last[padded - 1 - i] = (uint8_t)((uint64_t)data.size * 8 >> 8 * i);
    for (i = 0; i < padded; i += 64) rff_sha_block(state, last + i);
    for (i = 0; i < 64; i++) digits[i] = "0123456789abcdef"[state[i / 8] >> (28 - 4 * (i % 8)) & 15];
}

static uint32_t rff_crc32(rff_span data)
{
    uint32_t table[256], crc = 0xffffffff;
    size_t i;
    int bit;
    for (i = 0; i < 256; i++)
        for (table[i] = (uint32_t)i, bit = 0; bit < 8; bit++)
            table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320 : 0);
    for (i = 0; i < data.size; i++) crc = crc >> 8 ^ table[(crc ^ data.at[i]) & 255];
    return ~crc;
}

#endif
