/* A fake Direct3D in plain memory, for tests that run natively.
 *
 * The library under test and the test programs call Direct3D 9, 10 and 11 through the usual COM
 * interfaces; here stand objects behind them that keep their pixels in ordinary memory, count
 * references as the real ones do and watch how they are used.  The entry points have their usual
 * names: D3D11CreateDevice, D3D10CreateDevice(1), Direct3DCreate9(Ex), CreateDXGIFactory(1),
 * DXVAHD_CreateDevice (dxvahd.h).
 * This header is for tests that want more than a Direct3D: to make a call fail, to lose a device,
 * to hold the GPU back, to count.
 *
 * What is real: buffers and textures of Direct3D 10 and 11 and surfaces and textures of
 * Direct3D 9 (those that DXVA-HD makes too) with the rules for their creation, maps and locks with pitches larger than a row,
 * copies, updates, event queries, predicates of copies, identity and reference counts, adapters, shared handles within
 * the process.  There are no shaders, views or draws: every other method is there
 * and answers E_NOTIMPL; its call is a violation.
 *
 * A *violation* is a use that Direct3D does not allow and that a real one might let pass or answer
 * with damage: a copy from a mapped resource, two threads in an unprotected device.  The call is
 * then refused or left without effect, and the violation counted.  A use with an error code of
 * its own (a map that the usage does not allow) gets that code and is no violation.
 *
 * Where real ones differ among themselves, the fake takes the stricter way: a copy into a DYNAMIC
 * resource is a violation, Enter of ID3D10Multithread does nothing while protection is off, a mapped
 * subresource ends with its last texel, and Direct3D 10 objects have no Direct3D 11 interfaces.
 *
 * All functions may be called from any thread. `device` and `object` are interface pointers of
 * this fake, of any interface of the object; others are ignored and give 0.
 */
#ifndef FAKE_D3D_H
#define FAKE_D3D_H

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>
#include <stdio.h>

#include <d3d11.h>

/* What the padding of a mapped subresource is filled with, and what discarded and never written
 * contents hold. */
#define FAKE_D3D_PADDING 0xA5
#define FAKE_D3D_UNDEFINED 0xDB

/* All knobs to their defaults, all counters to zero. Objects and devices stay as they are. */
void fake_d3d_reset(void);

/* ---- Failures ---- */

/* The nth next call of `method` (1: the next one) fails with `hr`, once. A method is named
 * "ID3D11DeviceContext::Map", or "Map" for every interface that has it. Methods without a result
 * do nothing instead. One failure may be pending per method. Returns how many methods the name
 * fits: 0 tells of a misspelt one. */
unsigned fake_d3d_fail(const char *method, unsigned nth, HRESULT hr);

/* The device is lost. `reason` is what GetDeviceRemovedReason, or TestCooperativeLevel and CheckDeviceState, answer then.
 * Pending work is dropped and whoever waits for it wakes up. */
void fake_d3d_remove(void *device, HRESULT reason);

/* A fault in a call of any method that has a result, or of what stands for Vulkan, by the number of the call: the nth next one of
 * all threads fails, with E_FAIL or E_OUTOFMEMORY; or finds its device lost, as all calls after it
 * do (where it is no device's, the next one that is); or takes 5 ms. nth 0: none. Calls are
 * counted again from here. */
enum fake_d3d_fault { FAKE_D3D_FAILS, FAKE_D3D_NO_MEMORY, FAKE_D3D_LOST, FAKE_D3D_SLOW };
void fake_d3d_any_fault(enum fake_d3d_fault fault, unsigned nth);
/* The method that it struck, or NULL if none came so far. */
const char *fake_d3d_any_struck(void);

/* While on, the calling thread's calls are the test's own: such a fault neither counts nor strikes
 * them. Returns what it was before. */
bool fake_d3d_own_calls(bool on);

/* ---- Time ---- */

/* With a delay other than 0, copies, updates and queries wait in the device until they are
 * flushed (by Flush, a waiting Map, or a GetData that may flush), and take effect that many
 * milliseconds later, in order. */
void fake_d3d_delay(unsigned milliseconds);

/* While held, nothing that waits in a device is completed, however long ago it was flushed, and new
 * work waits too. */
void fake_d3d_hold(bool held);

/* Every call that only one thread at a time may make takes at least so long, so that two threads
 * that do not keep out of each other's way are sure to meet. */
void fake_d3d_slow_calls(unsigned microseconds);

/* ---- Counters ---- */

/* Calls of a method since the last reset; the name as for fake_d3d_fail. AddRef and Release are not
 * counted. */
unsigned fake_d3d_calls(const char *method);

/* Violations since the last reset. The text of the last one stays valid until the same thread asks
 * again. */
unsigned fake_d3d_violations(void);
const char *fake_d3d_last_violation(void);
/* For a test that provoked one: the count is 0 again. */
void fake_d3d_forget_violations(void);

/* Objects with public references, devices, contexts and adapters included; fake_d3d_live_of counts
 * those of one class ("ID3D11Texture2D"). fake_d3d_list_live prints them, one line each, behind
 * `prefix`. */
unsigned fake_d3d_live(void);
unsigned fake_d3d_live_of(const char *class_name);
void fake_d3d_list_live(FILE *out, const char *prefix);

/* ---- Rules ---- */

/* Mapped pitches as narrow as the rows, and the same each time. Default false. */
void fake_d3d_tight_pitch(bool on);

/* Planar surfaces and textures are made in odd sizes too, as by Wine. */
void fake_d3d_odd_planes(bool on);

/* TestCooperativeLevel answers D3DERR_INVALIDCALL to all threads but the one that created the device, as on Windows. Default false. */
void fake_d3d_creator_asks(bool on);

/* Whether a subresource is mapped at the same address with the same pitches each time, as by the Direct3Ds that leave
 * staging copies in their place; devices then have the interface by which these are known. While it is not mapped its memory
 * is padding, and a write to it is a violation. Default: what the environment variable FAKE_D3D_STAYS says, else false.
 * fake_d3d_move: the next map of each subresource finds another place once more, and the former one is gone. */
void fake_d3d_stays(bool on);
void fake_d3d_move(void);
/* Whether 3D textures are an exception from that, as with Wine's Direct3D. Default false. */
void fake_d3d_moves_volumes(bool on);

/* Textures of Direct3D 10 and 11 say that they are buffers of a swap chain. Default false. */
void fake_d3d_back_buffers(bool on);

/* ---- Adapters ---- */

#define FAKE_D3D_MAX_ADAPTERS 4

struct fake_d3d_adapter {
    const char *description; /* ASCII, up to 127 characters; copied */
    UINT vendor;
    UINT device;
    LUID luid;
};

/* The adapters of factories and Direct3D 9 objects made from now on, 1 to FAKE_D3D_MAX_ADAPTERS of
 * them. Default: one, "Fake Direct3D Adapter", vendor 0x1af4, device 0x1050, LUID 0:0x2a. */
void fake_d3d_set_adapters(unsigned count, const struct fake_d3d_adapter *adapters);

/* What Direct3D 9 tells as the DeviceIdentifier of every adapter. Default zeros. */
void fake_d3d_set_identifier(GUID identifier);

/* ---- Contents ---- */

/* Copies the bytes of a subresource as the GPU has them at this moment (work that still waits has
 * not happened), rows and planes without padding. Returns its size, also where `size` is smaller
 * and nothing is copied. For a Direct3D 9 surface `subresource` is 0. */
size_t fake_d3d_peek(void *resource, unsigned subresource, void *bytes, size_t size);

/* ---- Vulkan ---- */

/* How resources answer as those of a Direct3D on Vulkan do: they tell the image that they are, and a Vulkan side (src/vulkan_layer/vulkan.h)
 * knows the memory behind it. As the variable FAKE_D3D_VULKAN says. */
enum fake_d3d_vulkan {
    FAKE_D3D_VULKAN_OFF,
    FAKE_D3D_VULKAN_MAPPED, /* linear images in memory that the host sees */
    FAKE_D3D_VULKAN_EXPORT, /* optimal ones, whose memory can be exported */
    FAKE_D3D_VULKAN_RECORD, /* the same, which can only be copied to rows */
};

/* What goes wrong on the Vulkan side, until fake_d3d_reset or the next call. */
enum fake_d3d_vulkan_fault {
    FAKE_VULKAN_NO_FAULT,
    FAKE_VULKAN_NO_SIDE,       /* there is no layer */
    FAKE_VULKAN_UNKNOWN_IMAGE, /* it does not know the image */
    FAKE_VULKAN_SMALLEST,      /* or none with fewer bytes than the number given */
    FAKE_VULKAN_OTHER_FORMAT,  /* the image has another format, */
    FAKE_VULKAN_OTHER_SIZE,    /* size, */
    FAKE_VULKAN_SAMPLES,       /* or several samples */
    FAKE_VULKAN_OTHER_DEVICE,  /* it is another device's */
    FAKE_VULKAN_NOT_EXPORTABLE,
    FAKE_VULKAN_NOT_DEDICATED,
    FAKE_VULKAN_SMALL_MEMORY,  /* the memory ends before the image */
    FAKE_VULKAN_NO_FILES,      /* no file descriptor is left */
    FAKE_VULKAN_NO_HOLD,       /* the memory can't be retained */
    FAKE_VULKAN_NO_REASON,     /* neither a file nor a hold, and no reason: the host crashes in the call */
    FAKE_VULKAN_ODD_PITCH,     /* rows begin within a texel */
    FAKE_VULKAN_IMPORT_FAILS,  /* the driver's import fails with the number given */
    FAKE_VULKAN_NO_CONTEXT,    /* the driver makes no context for the number given, an error code */
    FAKE_VULKAN_NO_UUID,       /* the OpenCL device does not tell which it is, */
    FAKE_VULKAN_OTHER_HANDLES, /* imports other handles, */
    FAKE_VULKAN_NO_FUNCTIONS,  /* has no functions for external memory, */
    FAKE_VULKAN_LINEAR_IMAGES, /* or takes imported images for linear ones */
    FAKE_VULKAN_ACQUIRE_FAILS, /* the command that acquires, or releases, fails with the number given */
    FAKE_VULKAN_RELEASE_FAILS,
    FAKE_VULKAN_ACQUIRE_REST_FAILS, /* the same, but a command for 64 objects or more succeeds */
    FAKE_VULKAN_RELEASE_REST_FAILS,
    FAKE_VULKAN_OVER_FAILS, /* copying to rows fails, */
    FAKE_VULKAN_BACK_FAILS, /* or back */
    FAKE_VULKAN_NO_PASS,    /* images are not passed, or those of the call with the number given */
    FAKE_VULKAN_NO_ROWS,    /* rows can't be made, or of the kinds whose bits are given, */
    FAKE_VULKAN_WRONG_ROWS, /* or hold other bytes than were written, */
    FAKE_VULKAN_SLOW_ROWS,  /* or take two seconds */
};
void fake_d3d_vulkan_fault(enum fake_d3d_vulkan_fault fault, int number);

/* From now on every image and buffer lies elsewhere, as Direct3D tells it. */
void fake_d3d_vulkan_move(void);

/* Memories that are held, file descriptors that are open, memories that are imported, and imports that were acquired more
 * often than released. */
unsigned fake_d3d_vulkan_held(void), fake_d3d_vulkan_files(void), fake_d3d_vulkan_imported(void);
unsigned fake_d3d_vulkan_acquired(void);
/* Rows that it has. */
unsigned fake_d3d_vulkan_rows(void);
/* Images that were passed to OpenCL and not back. */
unsigned fake_d3d_vulkan_passed(void);
/* How often Direct3D was told to change the layout of an image. */
unsigned fake_d3d_vulkan_transitions(void);

/* Where an OpenCL that imports memory finds it. */
struct fake_d3d_memory {
    unsigned char *bytes;
    size_t row_pitch, slice_pitch;
};

/* What the library and the layer of tests/vulkan look up in the program. */
struct fake_vulkan {
    const struct vulkan_side *(*side)(void); /* NULL: there is none */
    enum fake_d3d_vulkan_fault (*fault)(int *number);
    bool (*strikes)(const char *name); /* whether fake_d3d_any_fault strikes this call of the driver that imports */
    /* Takes the file descriptor of an image or a buffer: what it names, until `close`. Without the file, NULL. */
    void *(*open)(int file, struct fake_d3d_memory *memory);
    void (*close)(void *import);
    void (*acquired)(int difference);
    void (*violation)(const char *what); /* a mistake in the use of that driver: counts for fake_d3d_violations */
    const uint32_t *pci;                 /* the address of the GPU: domain, bus, device and function */
};
extern const struct fake_vulkan fake_vulkan;

#endif
