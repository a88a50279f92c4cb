/* Remembers the Python code's answers to questions that pages repeat.
**
** An answer depends on nothing but the question, so it may be kept as long as the process runs. A
** question is known by its keyed hash (see siphash.h). Each has one slot, which the next question
** with that slot takes over.
*/

#ifndef LARBINPY_MEMO_H
#define LARBINPY_MEMO_H

#include <stddef.h>
#include <stdint.h>

#define MEMO_SLOTS 256

typedef struct {
    uint64_t hash;            /* 0 in an empty slot */
    int answer;
} Memo[MEMO_SLOTS];

/* The answer to the question with this hash, or NULL. */
static inline int *recall(Memo memo, uint64_t hash)
{
    return memo[hash % MEMO_SLOTS].hash == hash && hash ? &memo[hash % MEMO_SLOTS].answer : NULL;
}

static inline int *keep(Memo memo, uint64_t hash, int answer)
{
    memo[hash % MEMO_SLOTS].hash = hash;
    memo[hash % MEMO_SLOTS].answer = answer;
    return &memo[hash % MEMO_SLOTS].answer;
}

#endif
