/* Remembers the Python code's answers to questions that pages repeat.
**
** An answer depends on nothing but the question, so it may be kept as long as the process runs. A
** question is known by its keyed hash (see siphash.h). Each has one row, whose oldest answer the
** next question with that row takes over. With rows of one, two questions of the same page would
** put each other out, page after page.
*/

#ifndef LARBINPY_MEMO_H
#define LARBINPY_MEMO_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MEMO_ROWS 64
#define MEMO_ROW 4

typedef struct {
    uint64_t hash;            /* 0 in an empty slot */
    int answer;
} Memo[MEMO_ROWS][MEMO_ROW];

/* The answer to the question with this hash, or NULL. */
static inline int *recall(Memo memo, uint64_t hash)
{
    for (int k = 0; k < MEMO_ROW; k++)
        if (memo[hash % MEMO_ROWS][k].hash == hash && hash)
            return &memo[hash % MEMO_ROWS][k].answer;
    return NULL;
}

static inline int *keep(Memo memo, uint64_t hash, int answer)
{
    memmove(&memo[hash % MEMO_ROWS][1], &memo[hash % MEMO_ROWS][0],
            (MEMO_ROW - 1) * sizeof memo[0][0]);
    memo[hash % MEMO_ROWS][0].hash = hash;
    memo[hash % MEMO_ROWS][0].answer = answer;
    return &memo[hash % MEMO_ROWS][0].answer;
}

#endif
