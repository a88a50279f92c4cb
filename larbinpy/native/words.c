/* Words of a text in another form, such as their stems, with a cache of the forms.
**
** The cache is a buffer of the caller: a key of 16 random bytes, then a power of two of slots. A slot
** has the keyed hash of a word (see siphash.h), 0 in an empty one, and the word's form, which may be
** empty. A word has two slots, side by side; a new one takes the place of the older. Words whose
** form is too long for a slot are asked for each time.
*/

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "functions.h"
#include "siphash.h"

enum { SLOT = 64, LONGEST = SLOT - 9 };

typedef struct {
    uint64_t hash;
    uint8_t size;
    char form[LONGEST];
} Slot;

_Static_assert(sizeof(Slot) == SLOT, "a slot is a line of the processor's cache");

typedef struct {
    SipKey key;
    char *slots;
    size_t mask; /* The number of slots, less two: it chooses a pair. */
    PyObject *ask;
    int odd; /* Whether plain words have no form. */
    char *out;
    size_t size, room;
} Words;

static bool append(Words *words, const char *form, size_t size)
{
    if (size == 0)
        return true;
    if (words->size + size + 1 > words->room) {
        size_t room = 2 * (words->size + size + 1);
        char *out = realloc(words->out, room);
        if (out == NULL) {
            PyErr_NoMemory();
            return false;
        }
        words->out = out;
        words->room = room;
    }
    memcpy(words->out + words->size, form, size);
    words->out[words->size + size] = ' ';
    words->size += size + 1;
    return true;
}

/* Ask for the form of a word that the cache lacks, and put it into the first slot of `pair`. */
static bool ask(Words *words, const char *word, size_t size, char *pair, uint64_t hash)
{
    Slot slot = {.hash = hash};
    char *form;
    Py_ssize_t length;
    PyObject *found = PyObject_CallFunction(words->ask, "y#", word, (Py_ssize_t)size);
    bool done = found && PyBytes_AsStringAndSize(found, &form, &length) == 0 &&
                append(words, form, (size_t)length);
    if (done && length <= LONGEST) {
        slot.size = (uint8_t)length;
        memcpy(slot.form, form, (size_t)length);
        memcpy(pair + SLOT, pair, SLOT);
        memcpy(pair, &slot, SLOT);
    }
    Py_XDECREF(found);
    return done;
}

static bool add(Words *words, const char *word, size_t size)
{
    uint64_t hash = siphash(words->key, word, size);
    hash += !hash;
    char *pair = words->slots + (hash & words->mask) * SLOT;
    for (int k = 0; k < 2; k++) {
        Slot slot;
        memcpy(&slot, pair + k * SLOT, SLOT);
        if (slot.hash == hash && slot.size <= LONGEST)
            return append(words, slot.form, slot.size);
    }
    return ask(words, word, size, pair, hash);
}

/* The blanks of bytes.split. */
static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_letter(char c, char a)
{
    return c >= a && c <= a + 25;
}

static bool is_sign(char c)
{
    return c > ' ' && c < 0x7f && !(c >= '0' && c <= '9') && !is_letter(c, 'a') && !is_letter(c, 'A');
}

/* Whether it is a word of ASCII, of which only the first letter may be a capital, with signs around
** it. */
static bool is_plain(const char *word, const char *end)
{
    while (word < end && is_sign(*word))
        word++;
    while (word < end && is_sign(end[-1]))
        end--;
    if (word == end || !(is_letter(*word, 'a') || is_letter(*word, 'A')))
        return false;
    while (++word < end)
        if (!is_letter(*word, 'a'))
            return false;
    return true;
}

static bool add_all(Words *words, const char *text, size_t size)
{
    const char *end = text + size;
    while (text < end) {
        while (text < end && is_blank(*text))
            text++;
        const char *word = text;
        while (text < end && !is_blank(*text))
            text++;
        if (text > word && !(words->odd && is_plain(word, text)) &&
            !add(words, word, (size_t)(text - word)))
            return false;
    }
    return true;
}

PyObject *word_forms(PyObject *Py_UNUSED(self), PyObject *args)
{
    Py_buffer memory, text;
    Words words = {0};
    PyObject *forms = NULL;
    if (!PyArg_ParseTuple(args, "w*y*Op:word_forms", &memory, &text, &words.ask,
                          &words.odd))
        return NULL;
    size_t slots = (size_t)memory.len < sizeof(SipKey) ? 0 : ((size_t)memory.len - sizeof(SipKey)) / SLOT;
    if (slots < 2 || (slots & (slots - 1)) != 0) {
        PyErr_SetString(PyExc_ValueError, "the cache must have 2**n slots behind its key");
    } else {
        memcpy(&words.key, memory.buf, sizeof(SipKey));
        words.slots = (char *)memory.buf + sizeof(SipKey);
        words.mask = slots - 2;
        if (add_all(&words, text.buf, (size_t)text.len))
            forms = PyBytes_FromStringAndSize(words.out, (Py_ssize_t)(words.size ? words.size - 1 : 0));
    }
    free(words.out);
    PyBuffer_Release(&text);
    PyBuffer_Release(&memory);
    return forms;
}
