/* The Vulkan side of a Direct3D on a Vulkan that is played: what stands behind src/vulkan_layer/vulkan.h, and behind an OpenCL that imports. */
#include "fake_internal.h"
#include "vulkan_layer/vulkan.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define UUID "a fake GPU's id."

enum { FILES = 256 };

pthread_mutex_t fake_vulkan_lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static struct fake_store *named;                              /* stores that have names */
static uint64_t last_name = 0x1000;
static uint64_t shift;                  /* of all names: with another one every image is another */
static struct fake_store *files[FILES]; /* by file descriptor; one reference each */
static enum fake_d3d_vulkan chosen;
static enum fake_d3d_vulkan_fault the_fault;
static int fault_number, passes;
static unsigned held, open_files, imported, copies_made, passed;
static int acquired;
static atomic_bool holding;

/* ---- knobs ---- */

void fake_d3d_vulkan_hold(bool on)
{
    atomic_store(&holding, on);
}

void fake_d3d_vulkan(enum fake_d3d_vulkan way)
{
    pthread_mutex_lock(&fake_vulkan_lock);
    chosen = way;
    pthread_mutex_unlock(&fake_vulkan_lock);
}

static enum fake_d3d_vulkan way_locked(void)
{
    const char *text = getenv("FAKE_D3D_VULKAN");

    if (chosen != FAKE_D3D_VULKAN_ENV)
        return chosen;
    if (!text)
        return FAKE_D3D_VULKAN_OFF;
    return !strcmp(text, "mapped")   ? FAKE_D3D_VULKAN_MAPPED
           : !strcmp(text, "export") ? FAKE_D3D_VULKAN_EXPORT
                                     : FAKE_D3D_VULKAN_OFF;
}

enum fake_d3d_vulkan fake_vulkan_way(void)
{
    enum fake_d3d_vulkan found;

    pthread_mutex_lock(&fake_vulkan_lock);
    found = way_locked();
    pthread_mutex_unlock(&fake_vulkan_lock);
    return found;
}

void fake_d3d_vulkan_fault(enum fake_d3d_vulkan_fault fault, int number)
{
    pthread_mutex_lock(&fake_vulkan_lock);
    the_fault = fault;
    fault_number = number;
    passes = 0;
    pthread_mutex_unlock(&fake_vulkan_lock);
}

static enum fake_d3d_vulkan_fault fault_of(int *number)
{
    enum fake_d3d_vulkan_fault fault;

    pthread_mutex_lock(&fake_vulkan_lock);
    fault = the_fault;
    if (number)
        *number = fault_number;
    pthread_mutex_unlock(&fake_vulkan_lock);
    return fault;
}

/* Whether a call of the Vulkan side, or of the driver that imports, is the one that fails (fake_d3d_any_fault). */
static bool strikes(const char *name)
{
    return FAILED(fake_any_fault(name));
}

static bool has(enum fake_d3d_vulkan_fault fault)
{
    return fault_of(NULL) == fault;
}

void fake_d3d_vulkan_move(void)
{
    struct fake_store *store;

    pthread_mutex_lock(&fake_vulkan_lock);
    shift += 0x100000;
    passed = 0; /* what was passed is gone */
    for (store = named; store; store = store->image_after)
        store->passed = 0;
    pthread_mutex_unlock(&fake_vulkan_lock);
}

void fake_vulkan_reset(void)
{
    fake_d3d_vulkan(FAKE_D3D_VULKAN_ENV);
    fake_d3d_vulkan_fault(FAKE_VULKAN_NO_FAULT, 0);
}

static unsigned read_count(const unsigned *count)
{
    unsigned value;

    pthread_mutex_lock(&fake_vulkan_lock);
    value = *count;
    pthread_mutex_unlock(&fake_vulkan_lock);
    return value;
}

unsigned fake_d3d_vulkan_held(void)
{
    return read_count(&held);
}

unsigned fake_d3d_vulkan_files(void)
{
    return read_count(&open_files);
}

unsigned fake_d3d_vulkan_imported(void)
{
    return read_count(&imported);
}

unsigned fake_d3d_vulkan_acquired(void)
{
    return read_count((const unsigned *)&acquired);
}

unsigned fake_d3d_vulkan_passed(void)
{
    return read_count(&passed);
}

static void count(unsigned *counter, int difference)
{
    pthread_mutex_lock(&fake_vulkan_lock);
    *counter += (unsigned)difference;
    pthread_mutex_unlock(&fake_vulkan_lock);
}

/* ---- names ---- */

uint64_t fake_vulkan_name(struct fake_store *store)
{
    uint64_t name;

    pthread_mutex_lock(&fake_vulkan_lock);
    if (!store->image) {
        store->image = ++last_name;
        store->image_after = named;
        named = store;
    }
    name = store->image + shift;
    pthread_mutex_unlock(&fake_vulkan_lock);
    return name;
}

void fake_vulkan_forget(struct fake_store *store)
{
    struct fake_store **place;

    pthread_mutex_lock(&fake_vulkan_lock);
    for (place = &named; *place && *place != store; place = &(*place)->image_after)
        continue;
    if (*place)
        *place = store->image_after;
    pthread_mutex_unlock(&fake_vulkan_lock);
}

/* With a reference. A store that is on its way out does not come back. */
static struct fake_store *find(uint64_t name)
{
    struct fake_store *store;
    unsigned refs;

    pthread_mutex_lock(&fake_vulkan_lock);
    for (store = named; store && store->image + shift != name; store = store->image_after)
        continue;
    refs = store ? atomic_load(&store->refs) : 0;
    while (refs && !atomic_compare_exchange_weak(&store->refs, &refs, refs + 1))
        continue;
    pthread_mutex_unlock(&fake_vulkan_lock);
    return refs ? store : NULL;
}

/* ---- waits ---- */

/* As a fence behind what was submitted to the queue that the image is of. */
static bool wait_for_queue(const struct fake_store *store)
{
    struct fake_device *device;
    bool done = true;

    pthread_mutex_lock(&fake_vulkan_lock);
    device = store->queue;
    pthread_mutex_unlock(&fake_vulkan_lock);
    if (!device)
        return true;
    pthread_mutex_lock(&device->lock);
    done = SUCCEEDED(fake_queue_end(device));
    pthread_mutex_unlock(&device->lock);
    return done;
}

/* ---- what the Vulkan side tells ---- */

static uint64_t refuse(char *why, const char *reason)
{
    if (why && !has(FAKE_VULKAN_NO_REASON))
        snprintf(why, VULKAN_WHY, "%s", reason);
    return 0;
}

static uint32_t vulkan_format(const struct fake_format *format)
{
    static const struct {
        const char *begin;
        uint32_t vulkan;
    } table[] = {
        {"R8G8B8A8", 37},
        {"B8G8R8", 44},
        {"R16G16B16A16", 91},
        {"R32G32B32A32", 107},
        {"R8G8_", 16},
        {"R16G16_", 77},
        {"R32G32_", 101},
        {"R8_", 9},
        {"R16_", 70},
        {"R32_", 98},
        {"A8_", 9},
        {"NV12", 1000156003},
        {"P010", 1000156013},
        {"P016", 1000156030},
        {"A8R8G8B8", 44},
        {"X8R8G8B8", 44},
        {"A8B8G8R8", 37},
        {"X8B8G8R8", 37},
        {"A16B16G16R16", 91},
        {"A32B32G32R32F", 107},
        {"G16R16", 77},
        {"G32R32F", 101},
        {"A8L8", 16},
        {"L8", 9},
        {"A8", 9},
        {"L16", 70},
        {"R16F", 70},
        {"R32F", 98},
    };
    const char *name = format->name;
    size_t i;

    if (!strncmp(name, "DXGI_FORMAT_", 12))
        name += 12;
    else if (!strncmp(name, "D3DFMT_", 7))
        name += 7;
    for (i = 0; i < sizeof table / sizeof *table; i++)
        if (!strncmp(name, table[i].begin, strlen(table[i].begin)))
            return table[i].vulkan;
    return 0;
}

static void describe_memory(const struct fake_store *store, uint64_t name, struct vulkan_memory *memory)
{
    bool export = fake_vulkan_way() == FAKE_D3D_VULKAN_EXPORT;
    size_t lead = store->desc.kind == FAKE_BUFFER ? FAKE_BUFFER_LEAD : 0;

    *memory = (struct vulkan_memory){
        .memory = name,
        .memory_size = store->size,
        .offset = lead,
        .size = store->size - lead,
        .mapped = export ? 0 : (uint64_t)(uintptr_t)(store->bytes + lead),
        .exportable = export && !has(FAKE_VULKAN_NOT_EXPORTABLE),
        .dedicated = store->desc.kind != FAKE_BUFFER && !has(FAKE_VULKAN_NOT_DEDICATED),
    };
    memcpy(memory->device_uuid, has(FAKE_VULKAN_OTHER_DEVICE) ? "another GPU's id" : UUID, 16);
    if (has(FAKE_VULKAN_SMALL_MEMORY))
        memory->memory_size = memory->size = 16;
}

static bool is_too_small(const struct fake_store *store)
{
    int smallest;

    return fault_of(&smallest) == FAKE_VULKAN_SMALLEST && store->size < (size_t)smallest;
}

static uint64_t find_image(uint64_t image, struct vulkan_image *found, char *why)
{
    struct fake_store *store = has(FAKE_VULKAN_UNKNOWN_IMAGE) || strikes("find_image") ? NULL : find(image);
    const struct fake_desc *desc;

    if (!store || is_too_small(store))
        return refuse(why, "no such image");
    desc = &store->desc;
    *found = (struct vulkan_image){
        .type = desc->kind == FAKE_TEXTURE3D ? 2 : 1,
        .format = has(FAKE_VULKAN_OTHER_FORMAT) ? 1 : vulkan_format(desc->format),
        .width = desc->width + has(FAKE_VULKAN_OTHER_SIZE),
        .height = desc->height,
        .depth = desc->depth,
        .levels = desc->mips,
        .layers = desc->layers,
        .samples = has(FAKE_VULKAN_SAMPLES) ? 4 : 1,
        .tiling = fake_vulkan_way() == FAKE_D3D_VULKAN_MAPPED,
        .outside = read_count(&store->passed),
    };
    describe_memory(store, image, &found->memory);
    fake_store_release(store);
    return 1;
}

static uint64_t find_place(uint64_t image, uint64_t aspect, uint64_t level, uint64_t layer, struct vulkan_place *found,
                           char *why)
{
    struct fake_store *store =
        fake_vulkan_way() == FAKE_D3D_VULKAN_MAPPED && !strikes("find_place") ? find(image) : NULL;
    const struct fake_subresource *sub;

    if (!store)
        return refuse(why, "no such image, or it is not linear");
    sub = &store->subresources[level + layer * store->desc.mips];
    *found = (struct vulkan_place){
        .offset = (uint64_t)(sub->view.base - store->bytes),
        .size = sub->view.slice * sub->depth,
        .row_pitch = sub->view.pitch + has(FAKE_VULKAN_ODD_PITCH),
        .slice_pitch = sub->view.slice,
    };
    if (aspect == 0x20)
        found->offset += sub->view.pitch * sub->height;
    fake_store_release(store);
    return 1;
}

static uint64_t find_buffer(uint64_t address, uint64_t size, struct vulkan_memory *found, char *why)
{
    struct fake_store *store = has(FAKE_VULKAN_UNKNOWN_IMAGE) || strikes("find_buffer") ? NULL : find(address >> 32);

    (void)size;
    if (!store)
        return refuse(why, "no such buffer");
    describe_memory(store, address >> 32, found);
    fake_store_release(store);
    return 1;
}

static uint64_t export_memory(uint64_t memory, int32_t *file, char *why)
{
    struct fake_store *store = has(FAKE_VULKAN_NO_REASON) || strikes("export") ? NULL : find(memory);
    int made;

    if (!store)
        return refuse(why, "no such memory");
    made = has(FAKE_VULKAN_NO_FILES) ? -1 : open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (made < 0 || made >= FILES) {
        if (made >= 0)
            close(made);
        fake_store_release(store);
        return refuse(why, "no file descriptor is left");
    }
    pthread_mutex_lock(&fake_vulkan_lock);
    files[made] = store;
    open_files++;
    pthread_mutex_unlock(&fake_vulkan_lock);
    *file = made;
    return 1;
}

static struct fake_store *take_file(uint64_t file)
{
    struct fake_store *store = NULL;

    pthread_mutex_lock(&fake_vulkan_lock);
    if (file < FILES && files[file]) {
        store = files[file];
        files[file] = NULL;
        open_files--;
        close((int)file);
    }
    pthread_mutex_unlock(&fake_vulkan_lock);
    return store;
}

static uint64_t close_file(uint64_t file)
{
    struct fake_store *store = take_file(file);

    if (!store)
        fake_violation("close: of a file that is not open");
    fake_store_release(store);
    return store != NULL;
}

static uint64_t hold(uint64_t memory, char *why)
{
    const bool none = has(FAKE_VULKAN_NO_HOLD) || has(FAKE_VULKAN_NO_REASON);
    struct fake_store *store = none || strikes("hold") ? NULL : find(memory);

    if (!store)
        return refuse(why, "the memory can't be held");
    count(&held, 1);
    return 1;
}

/* Its name may have moved since. */
static uint64_t give_back(uint64_t memory)
{
    struct fake_store *store;

    pthread_mutex_lock(&fake_vulkan_lock);
    for (store = named; store && (store->image ^ memory) & 0xFFFFF; store = store->image_after)
        continue;
    pthread_mutex_unlock(&fake_vulkan_lock);
    if (!store) {
        fake_violation("give_back: of memory that is gone");
        return 0;
    }
    count(&held, -1);
    fake_store_release(store);
    return 1;
}

/* ---- copies of planes, levels and layers ---- */

struct copy {
    struct fake_store *source, *store; /* one reference each */
    unsigned subresource, plane;
    struct copy *next;
};

static struct copy *copies; /* guarded by the lock; a copy's name is that of its store, unshifted */

static const struct fake_format *plane_format(const struct fake_format *format, unsigned plane)
{
    switch (vulkan_format(format)) {
    case 1000156003: return fake_format_dxgi(plane ? DXGI_FORMAT_R8G8_UNORM : DXGI_FORMAT_R8_UNORM);
    case 1000156013:
    case 1000156030: return fake_format_dxgi(plane ? DXGI_FORMAT_R16G16_UNORM : DXGI_FORMAT_R16_UNORM);
    default: return format;
    }
}

static uint64_t make_copy(uint64_t image, uint64_t aspect, uint64_t level, uint64_t layer, uint64_t *name,
                          struct vulkan_image *made, char *why)
{
    const bool none = has(FAKE_VULKAN_NO_COPY) || fake_vulkan_way() != FAKE_D3D_VULKAN_EXPORT || strikes("make_copy");
    struct fake_store *source = none ? NULL : find(image);
    struct copy *copy = source ? calloc(1, sizeof *copy) : NULL;
    const struct fake_subresource *sub;
    unsigned shift_by;

    if (!copy) {
        fake_store_release(source);
        return refuse(why, "this Vulkan makes no copy");
    }
    copy->source = source;
    copy->plane = aspect == 0x20;
    copy->subresource = (unsigned)(level + layer * source->desc.mips);
    sub = &source->subresources[copy->subresource];
    shift_by = copy->plane ? 1 : 0;
    copy->store = fake_store_create(
        &(struct fake_desc){.kind = source->desc.kind == FAKE_SURFACE9 ? FAKE_TEXTURE2D : source->desc.kind,
                            .format = plane_format(source->desc.format, copy->plane),
                            .width = sub->width >> shift_by,
                            .height = sub->height >> shift_by,
                            .depth = sub->depth,
                            .mips = 1,
                            .layers = 1,
                            .samples = 1},
        NULL);
    *name = fake_vulkan_name(copy->store);
    find_image(*name, made, why);
    pthread_mutex_lock(&fake_vulkan_lock);
    *name = copy->store->image;
    copy->next = copies;
    copies = copy;
    copies_made++;
    pthread_mutex_unlock(&fake_vulkan_lock);
    return 1;
}

/* With the lock held. */
static struct copy **find_copy(uint64_t name)
{
    struct copy **place = &copies;

    while (*place && (*place)->store->image != name)
        place = &(*place)->next;
    return place;
}

static void move_rows(const struct copy *copy, bool back)
{
    const struct fake_subresource *sub = &copy->source->subresources[copy->subresource];
    const struct fake_subresource *own = &copy->store->subresources[0];
    const size_t row = fake_format_row_bytes(copy->store->desc.format, own->width);
    unsigned y, z;

    for (z = 0; z < own->depth; z++) {
        for (y = 0; y < own->height; y++) {
            unsigned char *there = sub->view.base + z * sub->view.slice + y * sub->view.pitch +
                                   (copy->plane ? sub->view.pitch * sub->height : 0);
            unsigned char *here = own->view.base + z * own->view.slice + y * own->view.pitch;

            memcpy(back ? there : here, back ? here : there, row);
        }
    }
}

static uint64_t move_copies(const struct vulkan_move *moves, uint64_t number, uint64_t back, char *why)
{
    bool good = !has(back ? FAKE_VULKAN_BACK_FAILS : FAKE_VULKAN_OVER_FAILS) && !strikes("move");
    uint64_t i;

    for (i = 0; i < number && good; i++) {
        struct copy *copy;

        pthread_mutex_lock(&fake_vulkan_lock);
        copy = *find_copy(moves[i].copy);
        pthread_mutex_unlock(&fake_vulkan_lock);
        good = !copy || wait_for_queue(copy->source);
    }
    pthread_mutex_lock(&fake_vulkan_lock);
    for (i = 0; i < number && good; i++) {
        struct copy *copy = *find_copy(moves[i].copy);

        if (!copy || moves[i].layout != FAKE_VULKAN_LAYOUT || moves[i].family != FAKE_VULKAN_FAMILY) {
            fake_violation("move: of no copy, or with another layout or family");
            good = false;
        } else {
            move_rows(copy, back != 0);
        }
    }
    pthread_mutex_unlock(&fake_vulkan_lock);
    return good ? 1 : refuse(why, "the copy on the GPU failed");
}

static uint64_t drop_copy(uint64_t name)
{
    struct copy *copy, **place;

    pthread_mutex_lock(&fake_vulkan_lock);
    place = find_copy(name);
    copy = *place;
    if (copy) {
        *place = copy->next;
        copies_made--;
    }
    pthread_mutex_unlock(&fake_vulkan_lock);
    if (!copy) {
        fake_violation("drop_copy: of no copy");
        return 0;
    }
    fake_store_release(copy->store);
    fake_store_release(copy->source);
    free(copy);
    return 1;
}

unsigned fake_d3d_vulkan_copies(void)
{
    return read_count(&copies_made);
}

/* Several contexts may have an image. */
static void change_passed(struct fake_store *store, bool back)
{
    pthread_mutex_lock(&fake_vulkan_lock);
    if (back && !store->passed) {
        fake_violation("pass: an image back that was not passed");
    } else {
        store->passed += back ? -1u : 1u;
        if (store->passed == !back)
            passed += back ? -1u : 1u;
    }
    pthread_mutex_unlock(&fake_vulkan_lock);
}

/* One that is not there keeps all of a call from being passed. */
static bool all_there(const struct vulkan_move *moves, uint64_t count)
{
    bool all = true;
    uint64_t i;

    for (i = 0; i < count; i++) {
        struct fake_store *store = find(moves[i].copy);

        if (!store)
            fake_violation("pass: of an image that is not there");
        all = store && all;
        fake_store_release(store);
    }
    return all;
}

/* With a number only that call, counted from the fault on. */
static bool pass_fails(void)
{
    int number;
    bool fails;

    if (fault_of(&number) != FAKE_VULKAN_NO_PASS)
        return false;
    pthread_mutex_lock(&fake_vulkan_lock);
    fails = ++passes == number || !number;
    pthread_mutex_unlock(&fake_vulkan_lock);
    return fails;
}

static uint64_t pass(const struct vulkan_move *moves, uint64_t count, uint64_t back, char *why)
{
    bool good = true;

    if (pass_fails() || strikes("pass") || !all_there(moves, count))
        return refuse(why, "the images are not passed");
    for (uint64_t i = 0; i < count; i++) {
        struct fake_store *store = find(moves[i].copy);

        if (!store)
            return refuse(why, "no image of that name");
        if (moves[i].layout != FAKE_VULKAN_LAYOUT || moves[i].family != FAKE_VULKAN_FAMILY ||
            (store->layout && store->layout != FAKE_VULKAN_LAYOUT))
            fake_violation("pass: with another layout or family");
        good = (back || wait_for_queue(store)) && good;
        if (good)
            change_passed(store, back != 0);
        fake_store_release(store);
    }
    return good ? 1 : refuse(why, "the device is lost");
}

static const struct vulkan_side *side(void)
{
    static const struct vulkan_side functions = {
        find_image, find_place, find_buffer, export_memory, close_file, hold,
        give_back,  make_copy,  move_copies, drop_copy,     pass,
    };

    return fake_vulkan_way() == FAKE_D3D_VULKAN_OFF || has(FAKE_VULKAN_NO_SIDE) ? NULL : &functions;
}

/* ---- what the OpenCL that imports does ---- */

static void *import_file(int file, struct fake_d3d_memory *memory)
{
    struct fake_store *store = strikes("import") ? NULL : take_file((uint64_t)file);

    if (!store)
        return NULL;
    if (store->desc.kind == FAKE_BUFFER)
        *memory = (struct fake_d3d_memory){store->bytes, store->size, 0};
    else
        *memory = (struct fake_d3d_memory){store->subresources[0].view.base, store->subresources[0].view.pitch,
                                           store->subresources[0].view.slice};
    count(&imported, 1);
    return store;
}

static void end_import(void *import)
{
    count(&imported, -1);
    fake_store_release(import);
}

static void count_acquired(int difference)
{
    count((unsigned *)&acquired, difference);
}

static bool holds(void)
{
    return atomic_load(&holding);
}

static void drivers_violation(const char *what)
{
    fake_violation("%s", what);
}

const struct fake_vulkan fake_vulkan = {side,       fault_of,       strikes, import_file,
                                        end_import, count_acquired, holds,   drivers_violation};
