/* SipHash-1-3: a keyed 64-bit hash of short texts.
**
** Aumasson and Bernstein, "SipHash: a fast short-input PRF" (2012), with one round a word and
** three at the end, as in the hash tables of CPython, Rust and Ruby. Without the key nobody can
** construct texts with equal hashes, so a page cannot make a table slow, and texts with equal hashes
** can be taken for equal: among n texts two different ones collide with probability n^2 / 2^65.
*/

#ifndef LARBINPY_SIPHASH_H
#define LARBINPY_SIPHASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct {
    uint64_t k0, k1;
} SipKey;

static inline uint64_t sip_rotl(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

static inline void sip_round(uint64_t v[4])
{
    v[0] += v[1]; v[1] = sip_rotl(v[1], 13); v[1] ^= v[0]; v[0] = sip_rotl(v[0], 32);
    v[2] += v[3]; v[3] = sip_rotl(v[3], 16); v[3] ^= v[2];
    v[0] += v[3]; v[3] = sip_rotl(v[3], 21); v[3] ^= v[0];
    v[2] += v[1]; v[1] = sip_rotl(v[1], 17); v[1] ^= v[2]; v[2] = sip_rotl(v[2], 32);
}

/* The hash of `size` bytes at `text`. Words are read in the order of the machine: hashes never
** leave the process. */
static inline uint64_t siphash(SipKey key, const char *text, size_t size)
{
    uint64_t v[4] = {
        key.k0 ^ 0x736f6d6570736575, key.k1 ^ 0x646f72616e646f6d,
        key.k0 ^ 0x6c7967656e657261, key.k1 ^ 0x7465646279746573,
    };
    uint64_t word;
    const char *last = text + (size & ~(size_t)7);

    for (; text != last; text += 8) {
        memcpy(&word, text, 8);
        v[3] ^= word;
        sip_round(v);
        v[0] ^= word;
    }
    word = 0;
    memcpy(&word, text, size & 7);
    word |= (uint64_t)size << 56;
    v[3] ^= word;
    sip_round(v);
    v[0] ^= word;

    v[2] ^= 0xff;
    sip_round(v);
    sip_round(v);
    sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

#endif
