/* The fake Direct3D's own test: that what the other tests lean on holds. */
#include "selftest.h"

#include <string.h>

struct rig11 rig11_create(UINT flags)
{
    struct rig11 rig = {NULL, NULL};

    fake_d3d_reset();
    CHECK_INT(D3D11CreateDevice(NULL, D3D_DRIVER_TYPE_HARDWARE, NULL, flags, NULL, 0, D3D11_SDK_VERSION, &rig.device,
                                NULL, &rig.context),
              S_OK);
    return rig;
}

void selftest_end(void)
{
    if (!CHECK_INT(fake_d3d_live(), 0))
        fake_d3d_list_live(stdout, "# left over: ");
    if (!CHECK_INT(fake_d3d_violations(), 0))
        printf("# %s\n", fake_d3d_last_violation());
    CHECK_INT(fake_d3d_stub_calls(), 0);
    fake_d3d_reset();
}

void rig11_destroy(struct rig11 *rig)
{
    CHECK_INT(ID3D11Device_AddRef(rig->device), 3);
    CHECK_INT(ID3D11Device_Release(rig->device), 2);
    CHECK_INT(ID3D11DeviceContext_Release(rig->context), 0);
    CHECK_INT(ID3D11Device_Release(rig->device), 0);
    selftest_end();
}

ID3D11Texture2D *texture11(struct rig11 *rig, DXGI_FORMAT format, UINT width, UINT height, D3D11_USAGE usage, UINT cpu)
{
    D3D11_TEXTURE2D_DESC desc = {
        .Width = width,
        .Height = height,
        .MipLevels = 1,
        .ArraySize = 1,
        .Format = format,
        .SampleDesc = {1, 0},
        .Usage = usage,
        .CPUAccessFlags = cpu,
        .BindFlags = usage == D3D11_USAGE_STAGING ? 0 : D3D11_BIND_SHADER_RESOURCE,
    };
    ID3D11Texture2D *texture = NULL;

    ID3D11Device_CreateTexture2D(rig->device, &desc, NULL, &texture);
    return texture;
}

ID3D11Buffer *buffer11(struct rig11 *rig, UINT size, D3D11_USAGE usage, UINT cpu)
{
    D3D11_BUFFER_DESC desc = {
        .ByteWidth = size,
        .Usage = usage,
        .CPUAccessFlags = cpu,
        .BindFlags = usage == D3D11_USAGE_STAGING ? 0 : D3D11_BIND_VERTEX_BUFFER,
    };
    ID3D11Buffer *buffer = NULL;

    ID3D11Device_CreateBuffer(rig->device, &desc, NULL, &buffer);
    return buffer;
}

void pattern(unsigned char *bytes, size_t size, unsigned seed)
{
    size_t i;

    for (i = 0; i < size; i++) {
        seed = seed * 1103515245 + 12345;
        bytes[i] = (unsigned char)(seed >> 16);
    }
}

void expect_violation(const char *text, const char *file, int line)
{
    const char *last = fake_d3d_last_violation();

    tap_check_int(fake_d3d_violations(), 1, "violations", file, line);
    if (!tap_check(strstr(last, text) != NULL, "the text of the violation", file, line))
        printf("# it is: %s\n", last);
    fake_d3d_forget_violations();
}

static const struct tap_test tests[] = {
    {"Direct3D 11: identity", test_identity11},
    {"Direct3D 11: references", test_references11},
    {"Direct3D 11: interfaces that are not there", test_interfaces},
    {"Direct3D 11: private data", test_private_data},
    {"Direct3D 11: device creation", test_device_creation11},
    {"DXGI: adapters", test_adapters},
    {"Direct3D 11: rules for buffers", test_buffers11},
    {"Direct3D 11: rules for textures", test_texture_rules11},
    {"Direct3D 11: mips and arrays", test_mips11},
    {"Direct3D 11: initial data", test_initial_data11},
    {"Direct3D 11: format support", test_format_support11},
    {"Direct3D 11: who may map what", test_map_rules11},
    {"Direct3D 11: pitches", test_map_pitches11},
    {"Direct3D 11: misuse of maps", test_map_misuse11},
    {"Direct3D 11: discarding maps", test_discard11},
    {"Direct3D 11: planar textures", test_nv12_11},
    {"Direct3D 11: 3D textures", test_texture3d_11},
    {"Direct3D 11: copies", test_copies11},
    {"Direct3D 11: misuse of copies", test_copy_misuse11},
    {"Direct3D 11: updates", test_updates11},
    {"Direct3D 11: shared resources", test_shared11},
    {"Direct3D 11: keyed mutexes", test_keyed11},
    {"Direct3D 11: delayed work", test_delay11},
    {"Direct3D 11: a held GPU", test_hold11},
    {"Direct3D 11: event queries", test_queries11},
    {"Direct3D 11: predicates", test_predicates11},
    {"Direct3D 11: ordered failures", test_failures11},
    {"Direct3D 11: lost devices", test_removal11},
    {"Direct3D 11: counters", test_counters11},
    {"Direct3D 11: unprotected threads", test_threads11},
    {"Direct3D 11: protected threads", test_protected11},
    {"Direct3D 11: single-threaded devices", test_single_threaded11},
    {"Direct3D 10: identity and references", test_identity10},
    {"Direct3D 10: rules for resources", test_rules10},
    {"Direct3D 10: maps", test_maps10},
    {"Direct3D 10: 3D textures", test_texture3d_10},
    {"Direct3D 10: copies and updates", test_work10},
    {"Direct3D 10: event queries", test_queries10},
    {"Direct3D 10: threads", test_threads10},
    {"Direct3D 10: resources shared with Direct3D 11", test_shared10},
    {"Direct3D 9: identity", test_identity9},
    {"Direct3D 9: adapters", test_adapters9},
    {"Direct3D 9: references", test_references9},
    {"Direct3D 9: rules for surfaces", test_surfaces9},
    {"Direct3D 9: textures", test_textures9},
    {"Direct3D 9: locks", test_locks9},
    {"Direct3D 9: planar surfaces", test_planar9},
    {"Direct3D 9: copies", test_copies9},
    {"Direct3D 9: rules for copies", test_copy_rules9},
    {"Direct3D 9: fills", test_fill9},
    {"Direct3D 9: shared handles", test_shared9},
    {"Direct3D 9: event queries", test_queries9},
    {"Direct3D 9: lost devices", test_loss9},
    {"Direct3D 9: threads", test_threads9},
};

TAP_MAIN(tests)
