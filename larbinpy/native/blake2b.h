/* BLAKE2b with a digest of 8 bytes, the fingerprint of a URL. */

#ifndef LARBINPY_BLAKE2B_H
#define LARBINPY_BLAKE2B_H

#include <stddef.h>
#include <stdint.h>

/* The digest of `size` bytes at `data` as an integer, its first byte the least significant. */
uint64_t blake2b_64(const char *data, size_t size);

#endif
