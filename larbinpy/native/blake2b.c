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

#define MIX(a, b, c, d, x, y)                                                                      \
    do {                                                                                           \
        a += b + (x);                                                                              \
        d = rotate(d ^ a, 32);                                                                     \
        c += d;                                                                                    \
        b = rotate(b ^ c, 24);                                                                     \
        a += b + (y);                                                                              \
        d = rotate(d ^ a, 16);                                                                     \
        c += d;                                                                                    \
        b = rotate(b ^ c, 63);                                                                     \
    } while (0)

/* One round; the arguments are a row of the table SIGMA of the RFC. */
#define ROUND(s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11, s12, s13, s14, s15)                \
    do {                                                                                           \
        MIX(v0, v4, v8, v12, m[s0], m[s1]);                                                        \
        MIX(v1, v5, v9, v13, m[s2], m[s3]);                                                        \
        MIX(v2, v6, v10, v14, m[s4], m[s5]);                                                       \
        MIX(v3, v7, v11, v15, m[s6], m[s7]);                                                       \
        MIX(v0, v5, v10, v15, m[s8], m[s9]);                                                       \
        MIX(v1, v6, v11, v12, m[s10], m[s11]);                                                     \
        MIX(v2, v7, v8, v13, m[s12], m[s13]);                                                      \
        MIX(v3, v4, v9, v14, m[s14], m[s15]);                                                      \
    } while (0)

/* Mix one block into the state `h`; `total` counts the bytes so far, those of the block included. */
static void compress(uint64_t h[8], const unsigned char *block, uint64_t total, int is_last)
{
    uint64_t m[16];
    for (int k = 0; k < 16; k++)
        m[k] = load64(block + 8 * k);
    uint64_t v0 = h[0], v1 = h[1], v2 = h[2], v3 = h[3], v4 = h[4], v5 = h[5], v6 = h[6],
             v7 = h[7], v8 = IV[0], v9 = IV[1], v10 = IV[2], v11 = IV[3], v12 = IV[4] ^ total,
             v13 = IV[5], v14 = is_last ? ~IV[6] : IV[6], v15 = IV[7];
    ROUND(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    ROUND(14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3);
    ROUND(11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4);
    ROUND(7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8);
    ROUND(9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13);
    ROUND(2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9);
    ROUND(12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11);
    ROUND(13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10);
    ROUND(6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5);
    ROUND(10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0);
    ROUND(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    ROUND(14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3);
    h[0] ^= v0 ^ v8;
    h[1] ^= v1 ^ v9;
    h[2] ^= v2 ^ v10;
    h[3] ^= v3 ^ v11;
    h[4] ^= v4 ^ v12;
    h[5] ^= v5 ^ v13;
    h[6] ^= v6 ^ v14;
    h[7] ^= v7 ^ v15;
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
