/* BLAKE2b (RFC 7693) without a key, with a digest of 8 bytes.
**
** The same value as hashlib.blake2b(data, digest_size=8). It takes data of any size, in time
** proportional to it: some 125 ns for each block of 128 bytes. Most URLs are one block, and
** hashlib spends twice as much on making its objects as on the block.
*/

#include "blake2b.h"

#include <string.h>

enum { BLOCK = 128, DIGEST = 8 };

static const uint64_t IV[8] = {
    0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
    0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179,
};

/* Least significant byte first, as RFC 7693 reads words; compilers make one load of it. */
static inline uint64_t load64(const unsigned char *p)
{
    return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24 |
           (uint64_t)p[4] << 32 | (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 |
           (uint64_t)p[7] << 56;
}

static inline uint64_t rotate(uint64_t x, int bits)
{
    return x >> bits | x << (64 - bits);
}

static const uint8_t SIGMA[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
};

static inline void mix(uint64_t v[16], int a, int b, int c, int d, uint64_t x, uint64_t y)
{
    v[a] += v[b] + x;
    v[d] = rotate(v[d] ^ v[a], 32);
    v[c] += v[d];
    v[b] = rotate(v[b] ^ v[c], 24);
    v[a] += v[b] + y;
    v[d] = rotate(v[d] ^ v[a], 16);
    v[c] += v[d];
    v[b] = rotate(v[b] ^ v[c], 63);
}

/* Mix one block into the state `h`; `total` counts the bytes so far, those of the block included.
** Unrolled, all of `v` is in registers. */
static void compress(uint64_t h[8], const unsigned char *block, uint64_t total, int is_last)
{
    uint64_t m[16], v[16];
    for (int k = 0; k < 16; k++)
        m[k] = load64(block + 8 * k);
    memcpy(v, h, sizeof IV);
    memcpy(v + 8, IV, sizeof IV);
    v[12] ^= total;
    v[14] = is_last ? ~v[14] : v[14];
#pragma GCC unroll 12
    for (int round = 0; round < 12; round++) {
        const uint8_t *s = SIGMA[round % 10];
#pragma GCC unroll 4
        for (int k = 0; k < 4; k++)
            mix(v, k, 4 + k, 8 + k, 12 + k, m[s[2 * k]], m[s[2 * k + 1]]);
#pragma GCC unroll 4
        for (int k = 0; k < 4; k++)
            mix(v, k, 4 + (k + 1) % 4, 8 + (k + 2) % 4, 12 + (k + 3) % 4, m[s[8 + 2 * k]],
                m[s[9 + 2 * k]]);
    }
    for (int k = 0; k < 8; k++)
        h[k] ^= v[k] ^ v[k + 8];
}

uint64_t blake2b_64(const char *data, size_t size)
{
    uint64_t h[8];
    unsigned char block[BLOCK];
    memcpy(h, IV, sizeof h);
    h[0] ^= 0x01010000 ^ DIGEST;
    /* The last block is not empty unless all data are. */
    size_t at = 0;
    for (; size - at > BLOCK; at += BLOCK) {
        memcpy(block, data + at, BLOCK);
        compress(h, block, at + BLOCK, 0);
    }
    memset(block, 0, BLOCK);
    memcpy(block, data + at, size - at);
    compress(h, block, size, 1);
    return h[0];
}
