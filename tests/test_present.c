/* The back buffer of a swap chain as a shared object, with both models of presenting: in every order of acquire, release, Present,
 * ResizeBuffers and destruction each call returns what it must, and the next frame is right. */
#include "sharing.h"

#include <dxgi1_4.h>

static const DXGI_SWAP_EFFECT effects[] = {DXGI_SWAP_EFFECT_DISCARD, DXGI_SWAP_EFFECT_SEQUENTIAL,
                                           DXGI_SWAP_EFFECT_FLIP_SEQUENTIAL, DXGI_SWAP_EFFECT_FLIP_DISCARD};

struct screen {
    const struct rig *rig;
    IDXGISwapChain *chain;
    UINT width, height;
};

static bool screen_open(const struct rig *rig, DXGI_SWAP_EFFECT effect, struct screen *screen)
{
    const bool flips = effect >= DXGI_SWAP_EFFECT_FLIP_SEQUENTIAL;
    IDXGIDevice *device = NULL;
    IDXGIAdapter *adapter = NULL;
    IDXGIFactory *factory = NULL;
    *screen = (struct screen){.rig = rig, .width = 64, .height = 32};
    /* It stays until the process ends: Wine takes two seconds to destroy one. */
    HWND window = CreateWindowA("static", "present", WS_POPUP | WS_VISIBLE, 0, 0, 64, 32, NULL, NULL, NULL, NULL);
    DXGI_SWAP_CHAIN_DESC desc = {.BufferDesc = {.Width = 64, .Height = 32, .Format = DXGI_FORMAT_R8G8B8A8_UNORM},
                                 .SampleDesc = {1, 0},
                                 .BufferUsage = DXGI_USAGE_RENDER_TARGET_OUTPUT,
                                 .BufferCount = flips ? 2 : 1,
                                 .OutputWindow = window,
                                 .Windowed = TRUE,
                                 .SwapEffect = effect};
    CHECK_INT(IUnknown_QueryInterface((IUnknown *)rig->device, &IID_IDXGIDevice, (void **)&device), S_OK);
    CHECK_INT(IDXGIDevice_GetAdapter(device, &adapter), S_OK);
    CHECK_INT(IDXGIAdapter_GetParent(adapter, &IID_IDXGIFactory, (void **)&factory), S_OK);
    CHECK_INT(IDXGIFactory_CreateSwapChain(factory, (IUnknown *)rig->device, &desc, &screen->chain), S_OK);
    rig_release(factory);
    rig_release(adapter);
    rig_release(device);
    return screen->chain != NULL;
}

/* The object holds the buffer alone. `buffer`, if it is not NULL, gets a reference besides. */
static cl_mem share_buffer(const struct screen *screen, void **buffer)
{
    void *texture = NULL;
    cl_int status = 1;
    CHECK_INT(IDXGISwapChain_GetBuffer(screen->chain, 0,
                                       screen->rig->api->version == 11 ? &IID_ID3D11Texture2D : &IID_ID3D10Texture2D,
                                       &texture),
              S_OK);
    cl_mem object = screen->rig->create_2d(screen->rig->context, CL_MEM_READ_WRITE, texture, 0, &status);
    CHECK_INT(status, CL_SUCCESS);
    if (buffer)
        *buffer = texture;
    else
        rig_release(texture);
    return object;
}

static HRESULT resize(struct screen *screen)
{
    const HRESULT result =
        IDXGISwapChain_ResizeBuffers(screen->chain, 0, 96 - screen->width, 32, DXGI_FORMAT_UNKNOWN, 0);
    if (SUCCEEDED(result))
        screen->width = 96 - screen->width;
    return result;
}

/* When nothing holds the buffer any more, which drivers may do for a moment longer than their commands run. */
static void resize_free(struct screen *screen)
{
    HRESULT result = resize(screen);
    for (int i = 0; i < 1000 && FAILED(result); i++) {
        rig_let_go(screen->rig->cl_device);
        pause_ms(1);
        result = resize(screen);
    }
    CHECK_INT(result, S_OK);
}

static void paint(const struct screen *screen, cl_mem object, cl_uint value)
{
    const cl_uint texels[64 * 32] = {value, value, value};
    const size_t region[3] = {screen->width, screen->height, 1};
    CHECK_INT(
        clEnqueueWriteImage(screen->rig->queue, object, CL_TRUE, no_origin(), region, 0, 0, texels, 0, NULL, NULL),
        CL_SUCCESS);
}

/* A whole frame, as Direct3D sees it before it is presented. */
static void frame(const struct screen *screen, cl_uint value)
{
    const struct rig_desc desc = {
        .format = DXGI_FORMAT_R8G8B8A8_UNORM, .width = screen->width, .height = screen->height};
    static cl_uint found[64 * 32];
    void *buffer = NULL;
    cl_mem object = share_buffer(screen, &buffer);
    CHECK_INT(acquire_one(screen->rig, object), CL_SUCCESS);
    paint(screen, object, value);
    CHECK_INT(release_one(screen->rig, object), CL_SUCCESS);
    rig_read(screen->rig, buffer, &desc, 0, found);
    CHECK_INT(found[0], value);
    CHECK_INT(found[2], value);
    CHECK_INT(found[3], 0);
    CHECK_INT(clReleaseMemObject(object), CL_SUCCESS);
    rig_release(buffer);
    CHECK_INT(IDXGISwapChain_Present(screen->chain, 0, 0), S_OK);
}

/* A: acquire, R: release, P: Present, Z: ResizeBuffers, D: the object's release. */
static void in_order(struct screen *screen, const char *order)
{
    cl_mem object = share_buffer(screen, NULL);
    const UINT width = screen->width;
    for (const char *step = order; *step; step++) {
        if (*step == 'P')
            CHECK_INT(IDXGISwapChain_Present(screen->chain, 0, 0), S_OK);
        if (*step == 'Z' && !object)
            resize_free(screen);
        else if (*step == 'Z') /* DXVK allows it */
            CHECK(resize(screen) == S_OK || screen->width == width);
        if (*step == 'A' && object)
            CHECK_INT(acquire_one(screen->rig, object), CL_SUCCESS);
        if (*step == 'R' && object)
            CHECK_INT(release_one(screen->rig, object), CL_SUCCESS);
        if (*step == 'D') {
            queue_wait(screen->rig->queue);
            CHECK_INT(clReleaseMemObject(object), CL_SUCCESS);
            object = NULL;
        }
    }
}

static void each_order(struct screen *screen, char *order, size_t at)
{
    if (!order[at] && strchr(order, 'A') < strchr(order, 'R')) {
        in_order(screen, order);
        resize_free(screen);
        frame(screen, 0x01020304);
    }
    for (size_t i = at; order[at] && i < strlen(order); i++) {
        const char first = order[at];
        order[at] = order[i], order[i] = first;
        each_order(screen, order, at + 1);
        order[i] = order[at], order[at] = first;
    }
}

SHARING_CASE(orders, 0)
{
    for (size_t i = 0; i < sizeof(effects) / sizeof(effects[0]); i++) {
        struct screen screen;
        char order[] = "ARPZD";
        if (screen_open(rig, effects[i], &screen)) {
            for (cl_uint k = 1; k <= 4; k++) /* each buffer, again and again */
                frame(&screen, k);
            if (effects[i] == DXGI_SWAP_EFFECT_DISCARD || effects[i] == DXGI_SWAP_EFFECT_FLIP_DISCARD)
                each_order(&screen, order, 0);
        }
        rig_release(screen.chain);
    }
}

static const struct tap_test tests[] = {
    SHARING_TESTS("back buffers: every order of what is done with them", orders),
};

struct tap_case tap_case;

/* DXVK 2.6 divides by the refresh rate, which Wine does not get from RandR where the display is Xvfb's. */
int main(int argc, char **argv)
{
    RegSetKeyValueA(HKEY_CURRENT_USER, "Software\\Wine\\AppDefaults\\test_present.exe\\X11 Driver", "UseXRandR", REG_SZ,
                    "N", 2);
    return tap_run(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
