/* What a device does now: memory, clocks, power, heat, errors, programs. */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WHOLE(call, key) API call(Handle handle, u32 *out) { return whole(handle, key, out); }
#define MOST_PROGRAMS 64
#define UNKNOWN_BYTES (~0ULL)

typedef struct { u64 total, free, used; } Memory;
typedef struct { u32 version; u64 total, reserved, free, used; } Memory2;

API nvmlDeviceGetMemoryInfo_v2(Handle handle, Memory2 *out)
{
    if (out->version != (sizeof *out | 2u << 24))
        return VERSION_MISMATCH;
    int code = large(handle, "memory.total", &out->total);
    if (code == OK)
        code = large(handle, "memory.used", &out->used);
    if (code == OK && large(handle, "memory.reserved", &out->reserved) != OK)
        out->reserved = 0;
    out->free = out->total - out->used - out->reserved;
    return code;
}

API nvmlDeviceGetMemoryInfo(Handle handle, Memory *out) /* the first: what is reserved counts as used */
{
    Memory2 second = {.version = sizeof second | 2u << 24};
    int code = nvmlDeviceGetMemoryInfo_v2(handle, &second);
    *out = (Memory){second.total, second.free, second.used + second.reserved};
    return code;
}

API nvmlDeviceGetBAR1MemoryInfo(Handle handle, Memory *out)
{
    int code = large(handle, "bar1.total", &out->total);
    if (code == OK && large(handle, "bar1.used", &out->used) != OK)
        out->used = 0;
    out->free = out->total - out->used;
    return code;
}

API nvmlDeviceGetUtilizationRates(Handle handle, u32 out[2])
{
    int code = whole(handle, "busy", &out[0]);
    return code ? code : whole(handle, "mem_busy", &out[1]);
}

static int rate(Handle handle, const char *key, u32 *out, u32 *period_us)
{
    *period_us = 100000;
    return whole(handle, key, out);
}
API nvmlDeviceGetEncoderUtilization(Handle handle, u32 *out, u32 *us) { return rate(handle, "encoder", out, us); }
API nvmlDeviceGetDecoderUtilization(Handle handle, u32 *out, u32 *us) { return rate(handle, "decoder", out, us); }

static const char *const CLOCKS[] = {"graphics", "sm", "mem", "video"};

static int clock_of(Handle handle, const char *group, u32 kind, u32 *out)
{
    char key[64];
    if (kind > 3)
        return BAD_ARGUMENT;
    snprintf(key, sizeof key, "%s.%s", group, CLOCKS[kind]);
    return whole(handle, key, out);
}
API nvmlDeviceGetClockInfo(Handle handle, u32 kind, u32 *out) { return clock_of(handle, "clock", kind, out); }
API nvmlDeviceGetMaxClockInfo(Handle handle, u32 kind, u32 *out) { return clock_of(handle, "clock_max", kind, out); }
API nvmlDeviceGetApplicationsClock(Handle handle, u32 kind, u32 *out) { return clock_of(handle, "clock_app", kind, out); }
API nvmlDeviceGetDefaultApplicationsClock(Handle handle, u32 kind, u32 *out)
{
    return clock_of(handle, "clock_app_default", kind, out);
}

WHOLE(nvmlDeviceGetPowerUsage, "power.draw")
WHOLE(nvmlDeviceGetEnforcedPowerLimit, "power.limit")
WHOLE(nvmlDeviceGetPowerManagementLimit, "power.limit")
WHOLE(nvmlDeviceGetPowerManagementDefaultLimit, "power.default")
WHOLE(nvmlDeviceGetPerformanceState, "pstate")
WHOLE(nvmlDeviceGetPowerState, "pstate")
API nvmlDeviceGetFanSpeed(Handle handle, u32 *out) { return indexed(handle, "fan", 0, out); }
WHOLE(nvmlDeviceGetNumFans, "fan_count")

API nvmlDeviceGetFanSpeed_v2(Handle handle, u32 fan, u32 *out)
{
    u32 count;
    int code = whole(handle, "fan_count", &count);
    if (code == OK && fan >= count)
        code = BAD_ARGUMENT;
    return code ? code : indexed(handle, "fan", fan, out);
}

API nvmlDeviceGetPowerManagementLimitConstraints(Handle handle, u32 *least, u32 *most)
{
    int code = whole(handle, "power.min", least);
    return code ? code : whole(handle, "power.max", most);
}

API nvmlDeviceGetTotalEnergyConsumption(Handle handle, u64 *out) { return large(handle, "energy", out); }

API nvmlDeviceGetTemperature(Handle handle, u32 sensor, u32 *out)
{
    return sensor ? BAD_ARGUMENT : whole(handle, "temp.gpu", out);
}

typedef struct { u32 version, sensor; int value; } Temperature;

API nvmlDeviceGetTemperatureV(Handle handle, Temperature *out)
{
    if (out->version != (sizeof *out | 1u << 24))
        return VERSION_MISMATCH;
    return nvmlDeviceGetTemperature(handle, out->sensor, (u32 *)&out->value);
}

typedef struct { u32 version; int value; } Margin;

API nvmlDeviceGetMarginTemperature(Handle handle, Margin *out)
{
    if (out->version != (sizeof *out | 1u << 24))
        return VERSION_MISMATCH;
    return whole(handle, "temp.margin", (u32 *)&out->value);
}

API nvmlDeviceGetTemperatureThreshold(Handle handle, u32 kind, u32 *out)
{
    static const char *const KEYS[] = {"temp.shutdown", "temp.slowdown", "temp.mem_most", "temp.gpu_most"};
    return kind > 3 ? NOT_SUPPORTED : whole(handle, KEYS[kind], out);
}

API nvmlDeviceGetCurrentClocksEventReasons(Handle handle, u64 *out) { return large(handle, "slowed", out); }
API nvmlDeviceGetCurrentClocksThrottleReasons(Handle handle, u64 *out) { return large(handle, "slowed", out); }

API nvmlDeviceGetEccMode(Handle handle, u32 *now, u32 *pending)
{
    int code = whole(handle, "ecc.on", now);
    if (code == OK && whole(handle, "ecc.on_after_reboot", pending) != OK)
        *pending = *now;
    return code;
}

API nvmlDeviceGetTotalEccErrors(Handle handle, u32 kind, u32 since, u64 *out)
{
    char key[64];
    snprintf(key, sizeof key, "ecc.%s_%s", kind ? "uncorrected" : "corrected", since ? "aggregate" : "volatile");
    return large(handle, key, out);
}

API nvmlDeviceGetMemoryErrorCounter(Handle handle, u32 kind, u32 since, u32 place, u64 *out)
{
    char key[64];
    static const char *const PLACES[] = {"l1", "l2", "dram", "register", "texture", "shm", "cbu", "sram"};
    if (place > 7)
        return BAD_ARGUMENT;
    snprintf(key, sizeof key, "ecc.%s_%s_%s", PLACES[place], kind ? "uncorrected" : "corrected",
             since ? "aggregate" : "volatile");
    return large(handle, key, out);
}

typedef struct {
    u32 version;
    u64 parity, secded, corrected, parity_volatile, secded_volatile, corrected_volatile, sources[5];
    u32 over;
} Sram;

API nvmlDeviceGetSramEccErrorStatus(Handle handle, Sram *out)
{
    if (out->version != (sizeof *out | 1u << 24))
        return VERSION_MISMATCH;
    int code = large(handle, "ecc.sram.parity", &out->parity);
    if (code == OK)
        code = large(handle, "ecc.sram.secded", &out->secded);
    return code ? code : whole(handle, "ecc.sram.over", &out->over);
}

API nvmlDeviceGetRetiredPages(Handle handle, u32 cause, u32 *count, u64 *pages)
{
    u32 found;
    int code = whole(handle, cause ? "retired.double" : "retired.single", &found);
    if (code)
        return code;
    if (*count < found || !pages) {
        *count = found;
        return found ? TOO_SMALL : OK;
    }
    for (u32 page = 0; page < found; page++)
        pages[page] = 0x10000ULL * (page + 1);
    *count = found;
    return OK;
}

WHOLE(nvmlDeviceGetRetiredPagesPendingStatus, "retired.pending")

API nvmlDeviceGetRemappedRows(Handle handle, u32 *corrected, u32 *uncorrected, u32 *pending, u32 *failed)
{
    int code = whole(handle, "rows.corrected", corrected);
    code = code ? code : whole(handle, "rows.uncorrected", uncorrected);
    code = code ? code : whole(handle, "rows.pending", pending);
    return code ? code : whole(handle, "rows.failed", failed);
}

typedef struct { u32 version, first, second; } Flags;

API nvmlDeviceGetRepairStatus(Handle handle, Flags *out)
{
    if (out->version != 0x100000C)
        return VERSION_MISMATCH;
    int code = whole(handle, "repair.channel", &out->first);
    return code ? code : whole(handle, "repair.tpc", &out->second);
}

API nvmlDeviceGetUnrepairableMemoryFlag_v1(Handle handle, Flags *out)
{
    return out->version == 0x1000008 ? whole(handle, "repair.none", &out->first) : VERSION_MISMATCH;
}

API nvmlDeviceGetRowRemapperHistogram(Handle handle, u32 out[5])
{
    static const char *const KEYS[] = {"rows.max", "rows.high", "rows.partial", "rows.low", "rows.none"};
    int code = OK;
    for (int place = 0; place < 5 && code == OK; place++)
        code = whole(handle, KEYS[place], &out[place]);
    return code;
}

typedef struct { u32 pid; u64 bytes; u32 gi, ci; } Program;

static int programs(Handle handle, const char *kind, u32 *room, Program *out)
{
    int code;
    u32 found = 0;
    Program all[MOST_PROGRAMS];
    const char *alive = ask(handle, "programs", &code); /* "-" or an error: none can be seen */
    if (!alive && has(device_of(handle), "programs"))
        return code;
    for (u32 place = 0; place < MOST_PROGRAMS; place++) {
        char key[64];
        snprintf(key, sizeof key, "programs.%u.pid", place);
        Program one = {0, UNKNOWN_BYTES, ~0u, ~0u};
        if (whole(handle, key, &one.pid) != OK)
            break;
        snprintf(key, sizeof key, "programs.%u.mem", place);
        large(handle, key, &one.bytes);
        snprintf(key, sizeof key, "programs.%u.gi", place);
        whole(handle, key, &one.gi);
        snprintf(key, sizeof key, "programs.%u.ci", place);
        whole(handle, key, &one.ci);
        snprintf(key, sizeof key, "programs.%u.kind", place);
        const char *its = ask(handle, key, &code);
        if (!strcmp(its ? its : "compute", kind))
            all[found++] = one;
    }
    u32 had = *room;
    *room = found;
    if (found && (had < found || !out))
        return TOO_SMALL;
    memcpy(out, all, found * (out ? sizeof *all : 0));
    return OK;
}

API nvmlDeviceGetComputeRunningProcesses_v3(Handle handle, u32 *room, Program *out)
{
    return programs(handle, "compute", room, out);
}
API nvmlDeviceGetGraphicsRunningProcesses_v3(Handle handle, u32 *room, Program *out)
{
    return programs(handle, "graphics", room, out);
}
API nvmlDeviceGetMPSComputeRunningProcesses_v3(Handle handle, u32 *room, Program *out)
{
    return programs(handle, "mps", room, out);
}
/* the second manner has the same shape */
API nvmlDeviceGetComputeRunningProcesses_v2(Handle handle, u32 *room, Program *out)
{
    return programs(handle, "compute", room, out);
}
API nvmlDeviceGetGraphicsRunningProcesses_v2(Handle handle, u32 *room, Program *out)
{
    return programs(handle, "graphics", room, out);
}

API nvmlDeviceGetMPSComputeRunningProcesses_v2(Handle handle, u32 *room, Program *out)
{
    return programs(handle, "mps", room, out);
}

typedef struct { u32 pid; u64 at_us; u32 sm, mem, enc, dec; } Use;

/* a sample of each program whose "programs.N.sm" is told, so many seconds old as "programs.N.sm_age" */
API nvmlDeviceGetProcessUtilization(Handle handle, Use *out, u32 *room, u64 since_us)
{
    (void)since_us;
    u32 had = *room, found = 0;
    Use all[MOST_PROGRAMS];
    int code = whole(handle, "busy", &found);
    if (code)
        return code;
    found = 0;
    for (u32 place = 0; place < MOST_PROGRAMS; place++) {
        char key[64];
        Use one = {0};
        u32 age_s = 0;
        snprintf(key, sizeof key, "programs.%u.pid", place);
        if (whole(handle, key, &one.pid) != OK)
            break;
        snprintf(key, sizeof key, "programs.%u.sm", place);
        if (whole(handle, key, &one.sm) != OK)
            continue;
        snprintf(key, sizeof key, "programs.%u.sm_age", place);
        whole(handle, key, &age_s);
        one.at_us = (u64)(time(NULL) - age_s) * 1000000;
        all[found++] = one;
    }
    *room = found;
    if (!found)
        return NOT_FOUND;
    if (had < found || !out)
        return TOO_SMALL;
    memcpy(out, all, found * sizeof *all);
    return OK;
}
