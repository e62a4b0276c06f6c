/* How devices are joined: PCIe, NVLink, the switches' manager, topology; readings by number; events. */
#include "fake.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WHOLE(call, key) API call(Handle handle, u32 *out) { return whole(handle, key, out); }
#define MOST_LINKS 18

typedef struct {
    char short_address[16];
    u32 domain, bus, device, id, board_id;
    char address[32];
} Pci;
int pci_of(const char *text, Pci *out);

WHOLE(nvmlDeviceGetCurrPcieLinkGeneration, "pcie.gen")
WHOLE(nvmlDeviceGetMaxPcieLinkGeneration, "pcie.gen_max")
WHOLE(nvmlDeviceGetGpuMaxPcieLinkGeneration, "pcie.gen_device_max")
WHOLE(nvmlDeviceGetCurrPcieLinkWidth, "pcie.lanes")
WHOLE(nvmlDeviceGetMaxPcieLinkWidth, "pcie.lanes_max")
WHOLE(nvmlDeviceGetPcieReplayCounter, "pcie.replays")

API nvmlDeviceGetPcieThroughput(Handle handle, u32 way, u32 *out)
{
    return whole(handle, way ? "pcie.rx_kb" : "pcie.tx_kb", out);
}

static int link_there(Handle handle, u32 link)
{
    u32 count;
    int code = whole(handle, "link.count", &count);
    if (code)
        return code;
    return link < count && link < MOST_LINKS ? OK : BAD_ARGUMENT;
}

static int of_link(Handle handle, u32 link, const char *key, u32 *out)
{
    int code = link_there(handle, link);
    return code ? code : indexed(handle, key, link, out);
}

API nvmlDeviceGetNvLinkState(Handle handle, u32 link, u32 *out) { return of_link(handle, link, "link.state", out); }
API nvmlDeviceGetNvLinkVersion(Handle handle, u32 link, u32 *out) { return of_link(handle, link, "link.version", out); }
API nvmlDeviceGetNvLinkRemoteDeviceType(Handle handle, u32 link, u32 *out)
{
    return of_link(handle, link, "link.peer_kind", out);
}
API nvmlDeviceGetNvLinkCapability(Handle handle, u32 link, u32 capability, u32 *out)
{
    (void)capability;
    *out = 1;
    return link_there(handle, link);
}

API nvmlDeviceGetNvLinkRemotePciInfo_v2(Handle handle, u32 link, Pci *out)
{
    int code = link_there(handle, link);
    const char *value = code ? NULL : ask_indexed(handle, "link.peer", link, &code);
    return value ? pci_of(value, out) : code;
}

API nvmlDeviceGetNvLinkErrorCounter(Handle handle, u32 link, u32 counter, u64 *out)
{
    static const char *const KEYS[] = {"link.replay", "link.recovery", "link.crc_flit", "link.crc_data"};
    u32 value = 0;
    int code = counter > 3 ? BAD_ARGUMENT : of_link(handle, link, KEYS[counter], &value);
    *out = value;
    return code;
}

/* --- the switches' manager */

typedef struct { unsigned char cluster[16]; int status; u32 clique; unsigned char state; } Fabric;
typedef struct {
    u32 version;
    unsigned char cluster[16];
    int status;
    u32 clique;
    unsigned char state;
    u32 health;
} Fabric2;
typedef struct { Fabric2 second; unsigned char summary; } Fabric3;

API nvmlDeviceGetGpuFabricInfoV(Handle handle, Fabric3 *out)
{
    u32 state, status = 0, clique = 0, health = 0, summary = 0;
    u32 second = sizeof(Fabric2) | 2u << 24, third = sizeof(Fabric3) | 3u << 24;
    if (out->second.version != second && out->second.version != third)
        return VERSION_MISMATCH;
    int code = whole(handle, "fabric.state", &state);
    if (code)
        return code;
    whole(handle, "fabric.status", &status);
    whole(handle, "fabric.clique", &clique);
    whole(handle, "fabric.health", &health);
    whole(handle, "fabric.summary", &summary);
    out->second.status = (int)status;
    out->second.clique = clique;
    out->second.state = (unsigned char)state;
    out->second.health = health;
    if (out->second.version == third)
        out->summary = (unsigned char)summary;
    return OK;
}

API nvmlDeviceGetGpuFabricInfo(Handle handle, Fabric *out)
{
    Fabric3 newer = {.second.version = sizeof(Fabric2) | 2u << 24};
    int code = nvmlDeviceGetGpuFabricInfoV(handle, &newer);
    *out = (Fabric){{0}, newer.second.status, newer.second.clique, newer.second.state};
    return code;
}

/* --- pairs */

static int of_pair(Handle one, Handle other, const char *what, u32 *out)
{
    char key[64], usual[64];
    int code, a = device_of(one), b = device_of(other);
    if (a < 0 || b < 0)
        return BAD_ARGUMENT;
    told(a, "paths", &code); /* a lost device has none */
    if (code != OK && code != NOT_SUPPORTED)
        return code;
    snprintf(key, sizeof key, "%s.%d.%d", what, a < b ? a : b, a < b ? b : a);
    snprintf(usual, sizeof usual, "%s.default", what);
    const char *value = told(SYSTEM, has(SYSTEM, key) ? key : usual, &code);
    if (value)
        *out = (u32)atoi(value);
    return code;
}

API nvmlDeviceGetTopologyCommonAncestor(Handle one, Handle other, u32 *out) { return of_pair(one, other, "path", out); }
API nvmlDeviceGetP2PStatus(Handle one, Handle other, u32 way, u32 *out)
{
    return of_pair(one, other, way == 2 ? "p2p_link" : "p2p", out);
}

typedef struct { u32 on; } ChipToChip;
API nvmlDeviceGetC2cModeInfoV(Handle handle, ChipToChip *out) { return whole(handle, "c2c", &out->on); }

/* --- readings by number */

typedef union { double real; u32 small; u64 big; } Value;
typedef struct {
    u32 id, scope;
    long long at_us, took_us;
    u32 kind;
    int code;
    Value value;
} Field;

static const struct { u32 id; const char *key; } FIELDS[] = {
    {1, "ecc.on"}, {2, "ecc.on_after_reboot"},
    {3, "ecc.corrected_volatile"}, {4, "ecc.uncorrected_volatile"},
    {5, "ecc.corrected_aggregate"}, {6, "ecc.uncorrected_aggregate"},
    {29, "retired.single"}, {30, "retired.double"}, {31, "retired.pending"},
    {82, "temp.mem"}, {83, "energy"}, {90, "link.mbps"}, {91, "link.count"}, {94, "pcie.replays"},
    {170, "c2c_links.count"}, {171, "c2c_links.state"}, {172, "c2c_links.mbps"},
    {138, "link.tx_kib"}, {139, "link.rx_kib"},
    {142, "rows.corrected"}, {143, "rows.uncorrected"}, {144, "rows.pending"}, {145, "rows.failed"},
    {164, "link.mbps"}, {165, "link.state"}, {185, "power.draw"}, {186, "power.draw"},
    {187, "power.min"}, {188, "power.max"}, {189, "power.default"}, {190, "power.limit"},
    {193, "tlimit.shutdown"}, {194, "tlimit.slowdown"}, {195, "tlimit.mem"}, {196, "tlimit.gpu"},
    {202, "link.tx_bytes"}, {204, "link.rx_bytes"}, {206, "link.malformed"}, {207, "link.overrun"},
    {208, "link.rx"}, {209, "link.rx_remote"}, {210, "link.rx_general"}, {211, "link.integrity"},
    {212, "link.discards"}, {214, "link.recovery_failed"}, {215, "link.recovery_events"},
    {219, "link.effective"}, {221, "link.symbol"},
    {197, "pcie.tx_bytes"}, {198, "pcie.rx_bytes"}, {230, "recovery"},
};

static void fill(Handle handle, Field *field)
{
    char key[128];
    double value = 0;
    snprintf(key, sizeof key, "field.%u", field->id);
    for (size_t place = 0; place < sizeof FIELDS / sizeof *FIELDS; place++)
        if (FIELDS[place].id == field->id)
            snprintf(key, sizeof key, "%s", FIELDS[place].key);
    if ((field->id > 200 && field->id < 223) || field->id == 138 || field->id == 139 || field->id == 164 || field->id == 165 || field->id == 171 || field->id == 172) {
        char its[160];
        snprintf(its, sizeof its, "%s.%u", key, field->scope);
        if (has(device_of(handle), its))
            snprintf(key, sizeof key, "%s", its);
    }
    field->code = number(handle, key, &value);
    if (value < 0 && value > -1000) {
        field->kind = 5;
        field->value.small = (u32)(int)value;
    } else if (value != floor(value) && field->id != 197 && field->id != 198 && field->id != 83) {
        field->kind = 0;
        field->value.real = value;
    } else if (value < 2147483648.0) {
        field->kind = 1;
        field->value.small = (u32)value;
    } else {
        field->kind = 3;
        field->value.big = (u64)value;
    }
}

API nvmlDeviceGetFieldValues(Handle handle, int count, Field *fields)
{
    int code;
    ask(handle, "fields", &code); /* a lost device answers none of them */
    if (code != OK && code != NOT_SUPPORTED)
        return code;
    for (int place = 0; place < count; place++)
        fill(handle, &fields[place]);
    return OK;
}

/* --- events: an XID is told once to each who waits */

typedef struct { Handle device; u64 kind, data; u32 gi, ci; } Event;
typedef struct { int wanted[64]; long told[64]; } Set;
#define XID_EVENT 8

API nvmlDeviceGetSupportedEventTypes(Handle handle, u64 *out)
{
    u32 yes;
    *out = whole(handle, "events", &yes) == OK && yes ? XID_EVENT : 0;
    return OK;
}
API nvmlEventSetCreate(Set **out) { *out = calloc(1, sizeof **out); return OK; }
API nvmlEventSetFree(Set *set) { free(set); return OK; }
API nvmlDeviceRegisterEvents(Handle handle, u64 kinds, Set *set)
{
    u64 can;
    nvmlDeviceGetSupportedEventTypes(handle, &can);
    if (!(can & kinds))
        return NOT_SUPPORTED;
    set->wanted[device_of(handle)] = 1;
    return OK;
}
API nvmlEventSetWait_v2(Set *set, Event *out, u32 most_ms)
{
    for (int device = 0; device < 64; device++) {
        int code;
        const char *xid = set->wanted[device] && has(device, "xid") ? told(device, "xid", &code) : NULL;
        if (xid && atol(xid) != set->told[device]) {
            set->told[device] = atol(xid);
            *out = (Event){handle_of(device), XID_EVENT, (u64)atol(xid), ~0u, ~0u};
            return OK;
        }
    }
    usleep(most_ms * 1000);
    return TIMED_OUT;
}
