/* A hash table of strings, open addressing. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

#define TABLE_MIN 16
#define TABLE_FULL(t) ((t)->count * 4 >= (t)->size * 3)

struct slot {
    char *key;
    void *value;
    uint32_t hash;
};

typedef struct table {
    struct slot *slots;
    size_t size;
    size_t count;
} table_t;

typedef void (*table_visit)(const char *key, void *value, void *context);

enum table_state { TABLE_OK, TABLE_NO_MEMORY };

static void *xcalloc(size_t count, size_t size);

/* FNV-1a, 32 bits. */
static uint32_t
hash_of(const char *key)
{
    uint32_t hash = 2166136261u;
    for (; *key; key++) {
        hash ^= (unsigned char)*key;
        hash *= 16777619u;
    }
    return hash;
}

static struct slot *find_slot(struct slot *slots, size_t size, const char *key, uint32_t hash)
{
    size_t at = hash & (size - 1);
    while (slots[at].key && (slots[at].hash != hash || strcmp(slots[at].key, key) != 0))
        at = (at + 1) & (size - 1);
    return &slots[at];
}

/*
 * Makes room for more keys. Every key is put into its new place; the old
 * slots are freed only when all of that went well.
 */
static enum table_state grow(table_t *table)
{
    size_t size = table->size ? table->size * 2 : TABLE_MIN;
    struct slot *slots = calloc(size, sizeof *slots);
    size_t i;

    if (!slots)
        return TABLE_NO_MEMORY;
    for (i = 0; i < table->size; i++) {
        struct slot *old = &table->slots[i];
        if (old->key)
            *find_slot(slots, size, old->key, old->hash) = *old;
    }
    free(table->slots);
    table->slots = slots;
    table->size = size;
    return TABLE_OK;
}

enum table_state table_put(table_t *table, const char *key, void *value)
{
    uint32_t hash = hash_of(key);
    struct slot *slot;

    if (TABLE_FULL(table) && grow(table) != TABLE_OK)
        return TABLE_NO_MEMORY;
    slot = find_slot(table->slots, table->size, key, hash);
    if (!slot->key) {
        slot->key = strdup(key);
        if (!slot->key)
            return TABLE_NO_MEMORY;
        slot->hash = hash;
        table->count++;
    }
    slot->value = value;
    return TABLE_OK;
}

#ifdef TABLE_DEBUG
void table_dump(const table_t *table, FILE *out)
{
    size_t i;
    for (i = 0; i < table->size; i++)
        if (table->slots[i].key)
            fprintf(out, "%zu %s\n", i, table->slots[i].key);
}
#endif

void *table_get(const table_t *table, const char *key)
{
    return table->size ? find_slot(table->slots, table->size, key, hash_of(key))->value : NULL;
}
