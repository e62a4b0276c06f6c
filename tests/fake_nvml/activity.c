/* What the parts of a device do (GPM): two samples, and the metrics between them. "gpm.sm" of a device, or of a slice. */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>

#define MOST_SAMPLES 12 /* that live at once: whoever keeps more of them leaks */
#define MOST_SLICES 16
#define NO_MEMORY 20

typedef struct { int device, slice, taken; double at_s; } Sample;
typedef struct { u32 id, code; double value; const char *words[3]; } Metric;
typedef struct { u32 version, count; Sample *first, *second; Metric metrics[]; } Asked;
typedef struct { u32 version, supported; } Support;

static const struct { u32 id; const char *key; } METRICS[] = {
    {2, "gpm.sm"}, {3, "gpm.occupancy"}, {5, "gpm.tensor"}, {10, "gpm.dram"},
    {60, "gpm.nvlink_rx"}, {61, "gpm.nvlink_tx"},
};
static int alive;

API nvmlGpmSampleAlloc(Sample **out)
{
    if (alive >= MOST_SAMPLES)
        return NO_MEMORY;
    alive++;
    *out = calloc(1, sizeof **out);
    return OK;
}

API nvmlGpmSampleFree(Sample *sample)
{
    if (!sample)
        return BAD_ARGUMENT;
    alive--;
    free(sample);
    return OK;
}

API nvmlGpmQueryDeviceSupport(Handle handle, Support *out)
{
    if (out->version != 1)
        return VERSION_MISMATCH;
    int code = OK;
    const char *told = ask(handle, "gpm.sm", &code);
    out->supported = told != NULL;
    return code == NOT_SUPPORTED ? OK : code;
}

static int take(Handle handle, Sample *out)
{
    int code;
    if (!ask(handle, "gpm.sm", &code))
        return code;
    *out = (Sample){device_of(handle), slice_index(handle), 1, seconds()};
    return OK;
}

API nvmlGpmSampleGet(Handle handle, Sample *out)
{
    return slice_index(handle) >= 0 ? BAD_ARGUMENT : take(handle, out); /* a slice is asked by its number */
}

API nvmlGpmMigSampleGet(Handle handle, u32 instance, Sample *out)
{
    u32 gi;
    for (int slice = 0; slice < MOST_SLICES; slice++)
        if (whole(slice_of(device_of(handle), slice), "gi", &gi) == OK && gi == instance)
            return take(slice_of(device_of(handle), slice), out);
    return BAD_ARGUMENT;
}

API nvmlGpmMetricsGet(Asked *asked)
{
    Sample *first = asked->first, *second = asked->second;
    if (asked->version != 1)
        return VERSION_MISMATCH;
    if (!first || !second || !first->taken || !second->taken || second->at_s <= first->at_s ||
        first->device != second->device || first->slice != second->slice)
        return BAD_ARGUMENT;
    Handle handle = first->slice < 0 ? handle_of(first->device) : slice_of(first->device, first->slice);
    for (u32 place = 0; place < asked->count; place++) {
        Metric *metric = &asked->metrics[place];
        metric->code = BAD_ARGUMENT;
        for (size_t one = 0; one < sizeof METRICS / sizeof *METRICS; one++)
            if (METRICS[one].id == metric->id)
                metric->code = (u32)number(handle, METRICS[one].key, &metric->value);
    }
    return OK;
}
