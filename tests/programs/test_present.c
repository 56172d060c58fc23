/* The back buffer of a swap chain as a shared object, with both models of presenting: in every order of acquire, release, Present,
 * ResizeBuffers and destruction each call returns what it must, and the next frame is right. */
#include "sharing.h"

#include <dxgi1_4.h>

enum { WIDE = 64, NARROW = 32, HEIGHT = 32 };

/* Of the running case. */
static const struct rig *on;
static IDXGISwapChain *chain;
static UINT width;

static bool open_chain(DXGI_SWAP_EFFECT effect)
{
    IDXGIDevice *device = NULL;
    IDXGIAdapter *adapter = NULL;
    IDXGIFactory *factory = NULL;
    /* It stays until the process ends: Wine takes two seconds to destroy one. */
    HWND window = CreateWindowA("static", "present", WS_POPUP | WS_VISIBLE, 0, 0, WIDE, HEIGHT, NULL, NULL, NULL, NULL);
    DXGI_SWAP_CHAIN_DESC desc = {.BufferDesc = {.Width = WIDE, .Height = HEIGHT, .Format = DXGI_FORMAT_R8G8B8A8_UNORM},
                                 .SampleDesc = {1, 0},
                                 .BufferUsage = DXGI_USAGE_RENDER_TARGET_OUTPUT,
                                 .BufferCount = 2,
                                 .OutputWindow = window,
                                 .Windowed = TRUE,
                                 .SwapEffect = effect};
    width = WIDE;
    CHECK_INT(IUnknown_QueryInterface((IUnknown *)on->device, &IID_IDXGIDevice, (void **)&device), S_OK);
    CHECK_INT(IDXGIDevice_GetAdapter(device, &adapter), S_OK);
    CHECK_INT(IDXGIAdapter_GetParent(adapter, &IID_IDXGIFactory, (void **)&factory), S_OK);
    chain = NULL;
    CHECK_INT(IDXGIFactory_CreateSwapChain(factory, (IUnknown *)on->device, &desc, &chain), S_OK);
    rig_release(factory);
    rig_release(adapter);
    rig_release(device);
    return chain != NULL;
}

/* With one reference, and that of the object. */
static void *share_buffer(cl_mem *object)
{
    const IID *iid = on->api->version == 11 ? &IID_ID3D11Texture2D : &IID_ID3D10Texture2D;
    void *texture = NULL;
    cl_int status = 1;
    CHECK_INT(IDXGISwapChain_GetBuffer(chain, 0, iid, &texture), S_OK);
    *object = on->create_2d(on->context, CL_MEM_READ_WRITE, texture, 0, &status);
    CHECK_INT(status, CL_SUCCESS);
    return texture;
}

static HRESULT resize(void)
{
    const UINT other = WIDE + NARROW - width;
    const HRESULT result = IDXGISwapChain_ResizeBuffers(chain, 0, other, HEIGHT, DXGI_FORMAT_UNKNOWN, 0);
    width = SUCCEEDED(result) ? other : width;
    return result;
}

/* When nothing holds the buffer any more, which drivers may do for a moment longer than their commands run. */
static void resize_free(void)
{
    HRESULT result = resize();
    for (int i = 0; i < 1000 && FAILED(result); i++) {
        rig_let_go(on->cl_device);
        pause_ms(1);
        result = resize();
    }
    CHECK_INT(result, S_OK);
}

/* A whole frame, as Direct3D sees it before it is presented. */
static void frame(cl_uint value)
{
    const struct rig_desc desc = {.format = DXGI_FORMAT_R8G8B8A8_UNORM, .width = width, .height = HEIGHT};
    const size_t region[3] = {width, HEIGHT, 1};
    cl_uint texels[WIDE * HEIGHT] = {value, 0, value}, found[WIDE * HEIGHT];
    cl_mem object;
    void *buffer = share_buffer(&object);
    CHECK_INT(acquire_one(on, object), CL_SUCCESS);
    clEnqueueWriteImage(on->queue, object, CL_TRUE, no_origin(), region, 0, 0, texels, 0, NULL, NULL);
    CHECK_INT(release_one(on, object), CL_SUCCESS);
    rig_read(on, buffer, &desc, 0, found);
    CHECK_MEM(found, texels, rig_bytes(&desc, 0));
    CHECK_INT(clReleaseMemObject(object), CL_SUCCESS);
    rig_release(buffer);
    CHECK_INT(IDXGISwapChain_Present(chain, 0, 0), S_OK);
}

/* A: acquire, R: release, P: Present, Z: ResizeBuffers, D: the object's release. */
static void in_order(const char *order)
{
    cl_mem object;
    rig_release(share_buffer(&object));
    for (const char *step = order; *step; step++) {
        if (*step == 'P')
            CHECK_INT(IDXGISwapChain_Present(chain, 0, 0), S_OK);
        if (*step == 'Z' && object)
            resize(); /* DXVK allows it */
        else if (*step == 'Z')
            resize_free();
        if (*step == 'A' && object)
            CHECK_INT(acquire_one(on, object), CL_SUCCESS);
        if (*step == 'R' && object)
            CHECK_INT(release_one(on, object), CL_SUCCESS);
        if (*step == 'D') {
            queue_wait(on->queue);
            CHECK_INT(clReleaseMemObject(object), CL_SUCCESS);
            object = NULL;
        }
    }
}

static void each_order(char *order, size_t at)
{
    if (!order[at] && strchr(order, 'A') < strchr(order, 'R')) {
        in_order(order);
        resize_free();
        frame(0x01020304);
    }
    for (size_t i = at; order[at] && i < strlen(order); i++) {
        const char first = order[at];
        order[at] = order[i], order[i] = first;
        each_order(order, at + 1);
        order[i] = order[at], order[at] = first;
    }
}

SHARING_CASE("back buffers: every order of what is done with them", orders, 0)
{
    static const DXGI_SWAP_EFFECT effects[] = {DXGI_SWAP_EFFECT_DISCARD, DXGI_SWAP_EFFECT_FLIP_DISCARD};
    on = rig;
    for (int i = 0; i < 2 && open_chain(effects[i]); i++) {
        char order[] = "ARPZD";
        if (i == 0 &&
            FAILED(IDXGISwapChain_Present(chain, 0, 0))) { /* NVIDIA's driver on a display that is none of its own */
            SKIP("this Direct3D does not present here");
            rig_release(chain);
            return;
        }
        for (cl_uint k = 1; k <= 4; k++) /* each buffer, again and again */
            frame(k);
        each_order(order, 0);
        rig_release(chain);
    }
}

TAP_MAIN
