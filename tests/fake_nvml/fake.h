/* A driver that is played: what each call answers is read from a flat file of a scenario. */
#ifndef RIGRIGHT_FAKE_H
#define RIGRIGHT_FAKE_H

#include <stddef.h>
#include <stdint.h>

typedef unsigned int u32;
typedef unsigned long long u64;
typedef void *Handle; /* a device, or a slice of one */

enum {
    OK = 0, UNINITIALIZED = 1, BAD_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, TOO_SMALL = 7,
    TIMED_OUT = 10, VERSION_MISMATCH = 25, SYSTEM = -1
};

#define API __attribute__((visibility("default"))) int

/* store.c: what the scenario says of one key; NULL with *code set where it is an error */
const char *told(int device, const char *key, int *code);
int has(int device, const char *key);
double seconds(void);

/* the same, for the device or slice behind a handle */
const char *ask(Handle handle, const char *key, int *code);
int number(Handle handle, const char *key, double *out);
int whole(Handle handle, const char *key, u32 *out);
int large(Handle handle, const char *key, u64 *out);
int words(Handle handle, const char *key, char *out, u32 size);
int indexed(Handle handle, const char *key, u32 index, u32 *out);
const char *ask_indexed(Handle handle, const char *key, u32 index, int *code);

/* device.c */
Handle handle_of(int device);
Handle slice_of(int device, int slice);
int device_of(Handle handle);
int slice_index(Handle handle); /* -1: a whole device */
u32 device_count(void);
int ready(void);

#endif
