/* The library itself, and who the devices are. */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVICES 0x1000
#define SLICES 0x100000
#define SLICES_EACH 16

static int started;

Handle handle_of(int device) { return (Handle)(intptr_t)(DEVICES + device); }
Handle slice_of(int device, int slice) { return (Handle)(intptr_t)(SLICES + device * SLICES_EACH + slice); }

int device_of(Handle handle)
{
    intptr_t at = (intptr_t)handle;
    if (at >= SLICES)
        return (int)(at - SLICES) / SLICES_EACH;
    return at >= DEVICES && at < DEVICES + 64 ? (int)(at - DEVICES) : -2;
}

int slice_index(Handle handle)
{
    intptr_t at = (intptr_t)handle;
    return at >= SLICES ? (int)(at - SLICES) % SLICES_EACH : -1;
}

int ready(void) { return started ? OK : UNINITIALIZED; }

u32 device_count(void)
{
    int code;
    const char *count = told(SYSTEM, "count", &code);
    return count ? (u32)atoi(count) : 0;
}

static int start(void)
{
    int code;
    told(SYSTEM, "init", &code);
    if (code == NOT_SUPPORTED || code == OK)
        started = 1, code = OK;
    return code;
}

API nvmlInit(void) { return start(); }
API nvmlInit_v2(void) { return start(); }
API nvmlInitWithFlags(u32 flags) { (void)flags; return start(); }
API nvmlShutdown(void) { started = 0; return OK; }

static int system_words(const char *key, char *out, u32 size)
{
    int code = ready();
    const char *value = code ? NULL : told(SYSTEM, key, &code);
    if (!value)
        return code;
    if (strlen(value) >= size)
        return TOO_SMALL;
    strcpy(out, value);
    return OK;
}

API nvmlSystemGetDriverVersion(char *out, u32 size) { return system_words("version", out, size); }
API nvmlSystemGetNVMLVersion(char *out, u32 size) { return system_words("nvml_version", out, size); }

API nvmlSystemGetCudaDriverVersion(int *out)
{
    int code = ready();
    const char *value = code ? NULL : told(SYSTEM, "cuda", &code);
    if (value)
        *out = atoi(value);
    return code;
}
API nvmlSystemGetCudaDriverVersion_v2(int *out) { return nvmlSystemGetCudaDriverVersion(out); }

API nvmlSystemGetProcessName(u32 pid, char *out, u32 size)
{
    char key[64];
    snprintf(key, sizeof key, "process.%u", pid);
    int code = system_words(key, out, size);
    return code == NOT_SUPPORTED ? NOT_FOUND : code;
}

__attribute__((visibility("default"))) const char *nvmlErrorString(int code)
{
    static char text[32];
    snprintf(text, sizeof text, "played error %d", code);
    return text;
}

API nvmlDeviceGetCount_v2(u32 *out)
{
    int code = ready();
    const char *count = code ? NULL : told(SYSTEM, "count", &code);
    if (count)
        *out = (u32)atoi(count);
    return code;
}
API nvmlDeviceGetCount(u32 *out) { return nvmlDeviceGetCount_v2(out); }

API nvmlDeviceGetHandleByIndex_v2(u32 index, Handle *out)
{
    if (ready())
        return UNINITIALIZED;
    if (index >= device_count())
        return BAD_ARGUMENT;
    int code;
    told((int)index, "handle", &code);
    if (code != OK && code != NOT_SUPPORTED)
        return code;
    *out = handle_of((int)index);
    return OK;
}
API nvmlDeviceGetHandleByIndex(u32 index, Handle *out) { return nvmlDeviceGetHandleByIndex_v2(index, out); }

static int handle_where(const char *key, const char *wanted, Handle *out)
{
    for (u32 device = 0; device < device_count(); device++) {
        int code;
        const char *value = told((int)device, key, &code);
        if (value && !strcasecmp(value, wanted)) {
            *out = handle_of((int)device);
            return OK;
        }
        for (int slice = 0; slice < SLICES_EACH; slice++) {
            value = has((int)device, "slices.0.uuid") ? ask(slice_of((int)device, slice), key, &code) : NULL;
            if (value && !strcmp(value, wanted)) {
                *out = slice_of((int)device, slice);
                return OK;
            }
        }
    }
    return NOT_FOUND;
}

API nvmlDeviceGetHandleByUUID(const char *uuid, Handle *out) { return handle_where("uuid", uuid, out); }
API nvmlDeviceGetHandleBySerial(const char *serial, Handle *out) { return handle_where("serial", serial, out); }
API nvmlDeviceGetHandleByPciBusId_v2(const char *pci, Handle *out) { return handle_where("pci", pci, out); }

API nvmlDeviceGetIndex(Handle handle, u32 *out)
{
    int code;
    ask(handle, "index", &code);
    if (code != OK && code != NOT_SUPPORTED)
        return code;
    *out = slice_index(handle) < 0 ? (u32)device_of(handle) : (u32)slice_index(handle);
    return OK;
}

API nvmlDeviceGetMinorNumber(Handle handle, u32 *out) { return nvmlDeviceGetIndex(handle, out); }

#define WORDS(call, key) API call(Handle handle, char *out, u32 size) { return words(handle, key, out, size); }
#define WHOLE(call, key) API call(Handle handle, u32 *out) { return whole(handle, key, out); }

WORDS(nvmlDeviceGetName, "name")
WORDS(nvmlDeviceGetUUID, "uuid")
WORDS(nvmlDeviceGetSerial, "serial")
WORDS(nvmlDeviceGetVbiosVersion, "vbios")
WORDS(nvmlDeviceGetBoardPartNumber, "part")
WHOLE(nvmlDeviceGetBrand, "brand")
WHOLE(nvmlDeviceGetArchitecture, "architecture")
WHOLE(nvmlDeviceGetNumGpuCores, "cores")
WHOLE(nvmlDeviceGetMemoryBusWidth, "bus_bits")
WHOLE(nvmlDeviceGetPersistenceMode, "persistence")
WHOLE(nvmlDeviceGetComputeMode, "compute_mode")
WHOLE(nvmlDeviceGetDisplayMode, "display")
WHOLE(nvmlDeviceGetDisplayActive, "display")
WHOLE(nvmlDeviceGetNumaNodeId, "numa_of_memory") /* of machines whose devices' memory is a domain of its own */
WHOLE(nvmlDeviceGetMultiGpuBoard, "multi_board")

API nvmlDeviceGetDriverModel_v2(Handle handle, u32 *now, u32 *pending) /* of Windows */
{
    (void)handle, (void)now, (void)pending;
    return NOT_SUPPORTED;
}
API nvmlDeviceGetDriverModel(Handle handle, u32 *now, u32 *pending)
{
    return nvmlDeviceGetDriverModel_v2(handle, now, pending);
}

API nvmlDeviceGetMemoryAffinity(Handle handle, u32 size, unsigned long *set, u32 scope)
{
    u32 domain;
    int code = whole(handle, "numa", &domain);
    (void)scope;
    for (u32 place = 0; place < size && code == OK; place++)
        set[place] = domain / 64 == place ? 1ul << domain % 64 : 0;
    return code;
}

API nvmlDeviceGetGspFirmwareVersion(Handle handle, char *out) { return words(handle, "gsp", out, 64); }

API nvmlDeviceGetCudaComputeCapability(Handle handle, int *major, int *minor)
{
    int code;
    const char *value = ask(handle, "capability", &code);
    if (value && sscanf(value, "%d.%d", major, minor) != 2)
        return 999;
    return code;
}

typedef struct {
    char short_address[16];
    u32 domain, bus, device, id, board_id;
    char address[32];
} Pci;

int pci_of(const char *text, Pci *out)
{
    memset(out, 0, sizeof *out);
    if (sscanf(text, "%x:%x:%x", &out->domain, &out->bus, &out->device) != 3)
        return 999;
    snprintf(out->short_address, sizeof out->short_address, "%04X:%02X:%02X.0", out->domain, out->bus, out->device);
    snprintf(out->address, sizeof out->address, "%08X:%02X:%02X.0", out->domain, out->bus, out->device);
    return OK;
}

static u32 swapped_id(Handle handle, const char *key)
{
    int code;
    u32 vendor = 0, device = 0;
    const char *value = ask(handle, key, &code);
    if (!value || sscanf(value, "%x:%x", &vendor, &device) != 2)
        return 0;
    return device << 16 | vendor;
}

API nvmlDeviceGetPciInfo_v3(Handle handle, Pci *out)
{
    int code;
    const char *value = ask(handle, "pci", &code);
    if (!value)
        return code;
    code = pci_of(value, out);
    out->id = swapped_id(handle, "pci_id");
    out->board_id = swapped_id(handle, "board_id");
    return code;
}
API nvmlDeviceGetPciInfo_v2(Handle handle, Pci *out) { return nvmlDeviceGetPciInfo_v3(handle, out); }

API nvmlDeviceGetMigMode(Handle handle, u32 *now, u32 *pending)
{
    int code = whole(handle, "mig.now", now);
    if (code == OK && whole(handle, "mig.pending", pending) != OK)
        *pending = *now;
    return code;
}

API nvmlDeviceGetMaxMigDeviceCount(Handle handle, u32 *out)
{
    u32 now, pending;
    *out = nvmlDeviceGetMigMode(handle, &now, &pending) == OK ? 7 : 0;
    return OK;
}

API nvmlDeviceGetMigDeviceHandleByIndex(Handle handle, u32 index, Handle *out)
{
    int code;
    Handle slice = slice_of(device_of(handle), (int)index);
    if (index >= SLICES_EACH || !ask(slice, "uuid", &code))
        return NOT_FOUND;
    *out = slice;
    return OK;
}

API nvmlDeviceGetDeviceHandleFromMigDeviceHandle(Handle slice, Handle *out)
{
    if (slice_index(slice) < 0)
        return BAD_ARGUMENT;
    *out = handle_of(device_of(slice));
    return OK;
}

API nvmlDeviceIsMigDeviceHandle(Handle handle, u32 *out)
{
    *out = slice_index(handle) >= 0;
    return OK;
}

static int of_slice(Handle handle, const char *key, u32 *out)
{
    return slice_index(handle) < 0 ? BAD_ARGUMENT : whole(handle, key, out);
}

API nvmlDeviceGetGpuInstanceId(Handle handle, u32 *out) { return of_slice(handle, "gi", out); }
API nvmlDeviceGetComputeInstanceId(Handle handle, u32 *out) { return of_slice(handle, "ci", out); }

typedef struct {
    u32 sms, copies, decoders, encoders, jpegs, ofas, gpu_slices, compute_slices;
    u64 mem_mib;
} Attributes;

API nvmlDeviceGetAttributes_v2(Handle handle, Attributes *out)
{
    u64 bytes;
    memset(out, 0, sizeof *out);
    int code = of_slice(handle, "sms", &out->sms);
    if (code == OK && large(handle, "memory.total", &bytes) == OK)
        out->mem_mib = bytes >> 20;
    if (code == OK) {
        whole(handle, "gpu_slices", &out->gpu_slices);
        whole(handle, "compute_slices", &out->compute_slices);
    }
    return code;
}
