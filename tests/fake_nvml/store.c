/* The flat file: one line "condition <tab> device <tab> key <tab> value"; read anew whenever it is changed.
 *
 * condition  "-", "s2.5" (so long after the scenario's start) or "c40" (after so many questions of this process)
 * device     a number, or -1 for the system
 * value      "-" not supported; "!15" that error; "!hang"; "!abort"; "@0.02 rest" sleeps first;
 *            "100 +5" grows by 5 a second; anything else is the value
 * The last line of a key whose condition holds counts.
 */
#include "fake.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define WAY "RIGRIGHT_FAKE_NVML"
#define ANY_CALL "all"

typedef struct {
    char when;
    double from;
    int device;
    const char *key;
    const char *value;
    size_t place;
} Line;

static Line *lines;
static size_t n_lines;
static struct stat seen;
static u64 questions;
static double start_s;
static pthread_mutex_t door = PTHREAD_MUTEX_INITIALIZER;

static double now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

double seconds(void) { return now() - start_s; }

static int order(const void *left, const void *right)
{
    const Line *a = left, *b = right;
    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    int by_key = strcmp(a->key, b->key);
    if (by_key)
        return by_key;
    return a->place < b->place ? -1 : a->place > b->place;
}

static void read_file(const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file)
        return;
    Line *fresh = NULL;
    size_t count = 0, room = 0;
    char text[4096];
    while (fgets(text, sizeof text, file)) {
        text[strcspn(text, "\n")] = 0;
        char *rest = strdup(text); /* kept: somebody may still read an older value */
        char *when = strsep(&rest, "\t"), *device = strsep(&rest, "\t"), *key = strsep(&rest, "\t");
        if (!rest)
            continue;
        if (count == room)
            fresh = realloc(fresh, (room = room ? room * 2 : 256) * sizeof *fresh);
        fresh[count] = (Line){when[0], atof(when + 1), atoi(device), key, rest, count};
        count++;
    }
    fclose(file);
    qsort(fresh, count, sizeof *fresh, order);
    lines = fresh;
    n_lines = count;
}

static const char *find(int device, const char *key)
{
    size_t low = 0, high = n_lines;
    while (low < high) {
        size_t middle = (low + high) / 2;
        Line *at = &lines[middle];
        if (at->device < device || (at->device == device && strcmp(at->key, key) < 0))
            low = middle + 1;
        else
            high = middle;
    }
    const char *value = NULL;
    for (; low < n_lines && lines[low].device == device && !strcmp(lines[low].key, key); low++) {
        Line *at = &lines[low];
        if (at->when == '-' || (at->when == 's' && seconds() >= at->from) ||
            (at->when == 'c' && (double)questions > at->from))
            value = at->value;
    }
    return value;
}

static void refresh(void)
{
    struct stat found;
    const char *path = getenv(WAY);
    if (!path || stat(path, &found))
        return;
    if (found.st_ino == seen.st_ino && found.st_mtim.tv_nsec == seen.st_mtim.tv_nsec &&
        found.st_mtim.tv_sec == seen.st_mtim.tv_sec)
        return;
    seen = found;
    read_file(path);
    const char *start = find(SYSTEM, "start");
    start_s = start ? atof(start) : now();
}

static const char *answer(const char *value, int *code)
{
    *code = OK;
    if (value && value[0] == '@') {
        char *rest;
        usleep((useconds_t)(strtod(value + 1, &rest) * 1e6));
        value = rest + strspn(rest, " ");
    }
    if (!value || !strcmp(value, "-")) {
        *code = NOT_SUPPORTED;
        return NULL;
    }
    if (value[0] != '!')
        return value;
    if (!strcmp(value, "!abort"))
        abort();
    while (!strcmp(value, "!hang"))
        sleep(3600);
    *code = atoi(value + 1);
    return NULL;
}

const char *told(int device, const char *key, int *code)
{
    pthread_mutex_lock(&door);
    refresh();
    questions++;
    const char *every = device >= 0 ? find(device, ANY_CALL) : NULL;
    const char *value = every ? every : find(device, key);
    pthread_mutex_unlock(&door);
    return answer(value, code);
}

int has(int device, const char *key)
{
    pthread_mutex_lock(&door);
    refresh();
    int found = find(device, key) != NULL;
    pthread_mutex_unlock(&door);
    return found;
}

const char *ask(Handle handle, const char *key, int *code)
{
    char full[128];
    int device = device_of(handle), slice = slice_index(handle);
    if (device < 0) {
        *code = BAD_ARGUMENT;
        return NULL;
    }
    if (slice >= 0) {
        snprintf(full, sizeof full, "slices.%d.%s", slice, key);
        key = full;
    }
    return told(device, key, code);
}

int number(Handle handle, const char *key, double *out)
{
    int code;
    const char *value = ask(handle, key, &code);
    if (!value)
        return code;
    char *rest;
    *out = strtod(value, &rest);
    rest += strspn(rest, " ");
    if (*rest == '+' || (*rest == '-' && rest[1]))
        *out += strtod(rest, NULL) * seconds();
    return OK;
}

int whole(Handle handle, const char *key, u32 *out)
{
    double value;
    int code = number(handle, key, &value);
    if (code == OK)
        *out = (u32)(long long)value;
    return code;
}

int large(Handle handle, const char *key, u64 *out)
{
    double value;
    int code = number(handle, key, &value);
    if (code == OK)
        *out = value < 0 ? ~0ULL : (u64)value;
    return code;
}

int words(Handle handle, const char *key, char *out, u32 size)
{
    int code;
    const char *value = ask(handle, key, &code);
    if (!value)
        return code;
    if (strlen(value) >= size)
        return TOO_SMALL;
    strcpy(out, value);
    return OK;
}

/* "link.state.3" where the links differ, else "link.state" */
static const char *its(Handle handle, const char *key, u32 index, char *full, size_t size)
{
    snprintf(full, size, "%s.%u", key, index);
    if (has(device_of(handle), full))
        return full;
    return key;
}

const char *ask_indexed(Handle handle, const char *key, u32 index, int *code)
{
    char full[128];
    return ask(handle, its(handle, key, index, full, sizeof full), code);
}

int indexed(Handle handle, const char *key, u32 index, u32 *out)
{
    char full[128];
    return whole(handle, its(handle, key, index, full, sizeof full), out);
}
