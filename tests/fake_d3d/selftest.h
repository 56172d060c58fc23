/* What the files of the fake's own test share. */
#ifndef FAKE_SELFTEST_H
#define FAKE_SELFTEST_H

#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif

#include "fake_d3d.h"
#include "tap.h"

/* A device of Direct3D 11 with its context. */
struct rig11 {
    ID3D11Device *device;
    ID3D11DeviceContext *context;
};

/* Resets all knobs. */
struct rig11 rig11_create(UINT flags);
/* Releases both and checks that nothing is left and that no violation is unaccounted for. */
void rig11_destroy(struct rig11 *rig);
/* All objects are gone, and nothing was done that Direct3D forbids. */
void selftest_end(void);

/* NULL where the device refuses. */
ID3D11Texture2D *texture11(struct rig11 *rig, DXGI_FORMAT format, UINT width, UINT height, D3D11_USAGE usage, UINT cpu);
ID3D11Buffer *buffer11(struct rig11 *rig, UINT size, D3D11_USAGE usage, UINT cpu);

/* `size` bytes that depend on `seed`. */
void pattern(unsigned char *bytes, size_t size, unsigned seed);

/* Checks that there was exactly one violation and that its text holds `text`; forgets it. */
void expect_violation(const char *text, const char *file, int line);
#define EXPECT_VIOLATION(text) expect_violation(text, __FILE__, __LINE__)

/* The cases of the other files. */
void test_identity11(void);
void test_references11(void);
void test_interfaces(void);
void test_private_data(void);
void test_adapters(void);
void test_buffers11(void);
void test_texture_rules11(void);
void test_mips11(void);
void test_initial_data11(void);
void test_format_support11(void);
void test_device_creation11(void);

void test_map_rules11(void);
void test_map_pitches11(void);
void test_map_misuse11(void);
void test_discard11(void);
void test_nv12_11(void);
void test_texture3d_11(void);
void test_copies11(void);
void test_copy_misuse11(void);
void test_updates11(void);
void test_shared11(void);
void test_keyed11(void);

void test_delay11(void);
void test_hold11(void);
void test_queries11(void);
void test_predicates11(void);
void test_failures11(void);
void test_removal11(void);
void test_counters11(void);
void test_threads11(void);
void test_protected11(void);
void test_single_threaded11(void);

void test_identity10(void);
void test_maps10(void);
void test_texture3d_10(void);
void test_work10(void);
void test_queries10(void);
void test_threads10(void);
void test_rules10(void);
void test_shared10(void);

void test_identity9(void);
void test_adapters9(void);
void test_references9(void);
void test_surfaces9(void);
void test_textures9(void);
void test_locks9(void);
void test_planar9(void);
void test_copies9(void);
void test_copy_rules9(void);
void test_fill9(void);
void test_shared9(void);
void test_queries9(void);
void test_loss9(void);
void test_threads9(void);

#endif
