/* Numbers distinct texts in the order in which they appear, by their keyed hashes. */

#ifndef LARBINPY_DISTINCT_H
#define LARBINPY_DISTINCT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* Open addressing with linear probing, at most half full. Equal hashes are taken for equal texts:
** see siphash.h. */
typedef struct {
    uint64_t *hashes;         /* 0 in an empty slot */
    uint32_t *numbers;
    uint32_t count, slots;    /* slots: 0 or a power of two */
} Distinct;

/* Find `hash`, or add it with the next number; the number, or UINT32_MAX without memory.
** It is new if it was not less than `count` before. */
static uint32_t number_of(Distinct *set, uint64_t hash);

static inline void distinct_free(Distinct *set)
{
    free(set->hashes);
    free(set->numbers);
}

static inline uint32_t slot_of(const Distinct *set, uint64_t hash)
{
    uint32_t slot = (uint32_t)hash & (set->slots - 1);
    while (set->hashes[slot] && set->hashes[slot] != hash)
        slot = (slot + 1) & (set->slots - 1);
    return slot;
}

static inline bool distinct_grow(Distinct *set)
{
    Distinct old = *set;
    set->slots = old.slots ? 2 * old.slots : 256;
    set->hashes = calloc(set->slots, sizeof *set->hashes);
    set->numbers = malloc(set->slots * sizeof *set->numbers);
    if (!set->hashes || !set->numbers) {
        distinct_free(set);
        *set = old;
        return false;
    }
    for (uint32_t k = 0; k < old.slots; k++) {
        if (old.hashes[k]) {
            uint32_t slot = slot_of(set, old.hashes[k]);
            set->hashes[slot] = old.hashes[k];
            set->numbers[slot] = old.numbers[k];
        }
    }
    distinct_free(&old);
    return true;
}

static inline uint32_t number_of(Distinct *set, uint64_t hash)
{
    if (2 * set->count >= set->slots && !distinct_grow(set))
        return UINT32_MAX;
    hash += !hash;
    uint32_t slot = slot_of(set, hash);
    if (!set->hashes[slot]) {
        set->hashes[slot] = hash;
        set->numbers[slot] = set->count++;
    }
    return set->numbers[slot];
}

#endif
