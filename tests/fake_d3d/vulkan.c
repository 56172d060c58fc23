/* The Vulkan side of a Direct3D on a Vulkan that is played: what stands behind src/vulkan_layer/vulkan.h, and behind an OpenCL that imports. */
#include "fake_internal.h"
#include "vulkan_layer/vulkan.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define UUID "a fake GPU's id."
static const uint32_t pci_address[4] = {0, 3, 1, 0};

enum { FILES = 256 };

pthread_mutex_t fake_vulkan_lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static struct fake_store *named;                              /* stores that have names */
static uint64_t last_name = 0x1000;
static uint64_t shift;                  /* of all names: with another one every image is another */
static struct fake_store *files[FILES]; /* by file descriptor; one reference each */
static enum fake_d3d_vulkan_fault the_fault;
static int fault_number, passes;
static unsigned held, open_files, imported, acquired, passed, rows_made;

/* ---- knobs ---- */

enum fake_d3d_vulkan fake_vulkan_way(void)
{
    const char *text = getenv("FAKE_D3D_VULKAN");

    if (!text)
        return FAKE_D3D_VULKAN_OFF;
    return !strcmp(text, "mapped")   ? FAKE_D3D_VULKAN_MAPPED
           : !strcmp(text, "export") ? FAKE_D3D_VULKAN_EXPORT
           : !strcmp(text, "record") ? FAKE_D3D_VULKAN_RECORD
                                     : FAKE_D3D_VULKAN_OFF;
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

static unsigned read_count(const unsigned *count)
{
    unsigned value;

    pthread_mutex_lock(&fake_vulkan_lock);
    value = *count;
    pthread_mutex_unlock(&fake_vulkan_lock);
    return value;
}

#define COUNTER(name, counter)            \
    unsigned fake_d3d_vulkan_##name(void) \
    {                                     \
        return read_count(&(counter));    \
    }
COUNTER(held, held)
COUNTER(files, open_files)
COUNTER(imported, imported)
COUNTER(acquired, acquired)
COUNTER(passed, passed)
COUNTER(rows, rows_made)
#undef COUNTER

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
    bool export = fake_vulkan_way() == FAKE_D3D_VULKAN_EXPORT, mapped = fake_vulkan_way() == FAKE_D3D_VULKAN_MAPPED;
    size_t lead = store->desc.kind == FAKE_BUFFER ? FAKE_BUFFER_LEAD : 0;

    *memory = (struct vulkan_memory){
        .memory = name,
        .memory_size = store->size,
        .offset = lead,
        .size = store->size - lead,
        .mapped = mapped ? (uint64_t)(uintptr_t)(store->bytes + lead) : 0,
        .exportable = export && !has(FAKE_VULKAN_NOT_EXPORTABLE),
        .dedicated = store->desc.kind != FAKE_BUFFER && !has(FAKE_VULKAN_NOT_DEDICATED),
    };
    memcpy(memory->gpu.pci, pci_address, sizeof memory->gpu.pci);
    memory->gpu.pci[3] += has(FAKE_VULKAN_OTHER_DEVICE);
    memcpy(memory->gpu.uuid, has(FAKE_VULKAN_OTHER_DEVICE) ? "another GPU's id" : UUID, 16);
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

static const struct fake_format *plane_format(const struct fake_format *format, unsigned plane)
{
    switch (vulkan_format(format)) {
    case 1000156003: return fake_format_dxgi(plane ? DXGI_FORMAT_R8G8_UNORM : DXGI_FORMAT_R8_UNORM);
    case 1000156013:
    case 1000156030: return fake_format_dxgi(plane ? DXGI_FORMAT_R16G16_UNORM : DXGI_FORMAT_R16_UNORM);
    default: return format;
    }
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
        struct fake_store *store = find(moves[i].name);

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
        struct fake_store *store = find(moves[i].name);

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

/* ---- rows ---- */

struct rows {
    uint64_t name;
    unsigned char *bytes;
    size_t size;
    size_t pitch;             /* of an image's rows, or 0 */
    struct fake_store *store; /* one reference, of the memory of the device; NULL: it is the caller's */
    struct rows *next;
};

static struct rows *all_rows; /* guarded by the lock */
static bool refuses_rows(uint32_t kind)
{
    int kinds;

    return fault_of(&kinds) == FAKE_VULKAN_NO_ROWS && (!kinds || (kinds >> kind & 1));
}

/* The memory of the device: a buffer's, or an image's as large as a subresource of `source`. */
static struct fake_store *rows_store(const struct fake_store *source, const struct vulkan_rows *wanted)
{
    const bool trial = wanted->kind == VULKAN_ROWS_TRIAL, plane = wanted->aspect == 0x20;
    const struct fake_subresource *sub = &source->subresources[wanted->level + wanted->layer * source->desc.mips];
    struct fake_desc desc = {.kind = FAKE_BUFFER,
                             .format = fake_format_dxgi(DXGI_FORMAT_UNKNOWN),
                             .width = (unsigned)wanted->size,
                             .height = 1,
                             .depth = 1,
                             .mips = 1,
                             .layers = 1,
                             .samples = 1};

    if (wanted->kind != VULKAN_ROWS_DMA_BUF) {
        desc.kind = trial ? FAKE_TEXTURE2D : source->desc.kind;
        desc.format = plane_format(source->desc.format, plane);
        desc.width = trial ? VULKAN_ROWS_TRIAL_SIDE : sub->width >> plane;
        desc.height = trial ? VULKAN_ROWS_TRIAL_SIDE : sub->height >> plane;
        desc.depth = trial ? 1 : sub->depth;
    }
    return fake_store_create(&desc, NULL);
}

static uint64_t make_rows(uint64_t image, struct vulkan_rows *wanted, char *why)
{
    static uint64_t last;
    struct fake_store *source =
        fake_vulkan_way() == FAKE_D3D_VULKAN_MAPPED || refuses_rows(wanted->kind) || strikes("make_rows") ? NULL
                                                                                                          : find(image);
    struct rows *rows = source ? fake_alloc(sizeof *rows) : NULL;
    uint64_t made = 1;

    wanted->file = -1;
    if (rows && wanted->kind != VULKAN_ROWS_HOST)
        rows->store = rows_store(source, wanted);
    fake_store_release(source);
    if (!rows)
        return refuse(why, "this Vulkan makes no rows");
    if (wanted->size % VULKAN_ROWS_PAGE || wanted->address % VULKAN_ROWS_PAGE)
        fake_violation("make_rows: of parts of pages");
    rows->size = (size_t)wanted->size;
    rows->bytes = (unsigned char *)(uintptr_t)wanted->address;
    if (rows->store) {
        const struct fake_view *view = &rows->store->subresources[0].view;

        rows->bytes = rows->store->desc.kind == FAKE_BUFFER ? rows->store->bytes : view->base;
        rows->pitch = rows->store->desc.kind == FAKE_BUFFER ? 0 : view->pitch;
        wanted->size = rows->size = rows->store->size;
        if (wanted->kind == VULKAN_ROWS_TRIAL)
            wanted->address = fake_vulkan_name(rows->store);
        else
            made = export_memory(fake_vulkan_name(rows->store), &wanted->file, why);
    }
    if (!made) {
        fake_store_release(rows->store);
        free(rows);
        return 0;
    }
    pthread_mutex_lock(&fake_vulkan_lock);
    wanted->rows = rows->name = ++last;
    rows->next = all_rows;
    all_rows = rows;
    rows_made++;
    pthread_mutex_unlock(&fake_vulkan_lock);
    return 1;
}

/* With the lock held. */
static struct rows **find_rows(uint64_t name)
{
    struct rows **place = &all_rows;

    while (*place && (*place)->name != name)
        place = &(*place)->next;
    return place;
}

static uint64_t drop_rows(uint64_t name)
{
    struct rows *rows, **place;

    pthread_mutex_lock(&fake_vulkan_lock);
    place = find_rows(name);
    rows = *place;
    if (rows) {
        *place = rows->next;
        rows_made--;
    }
    pthread_mutex_unlock(&fake_vulkan_lock);
    if (!rows) {
        fake_violation("drop_rows: of no rows");
        return 0;
    }
    fake_store_release(rows->store);
    free(rows);
    return 1;
}

static uint64_t fit_rows(uint64_t name, uint64_t image)
{
    struct fake_store *store = find(image);
    bool there;

    pthread_mutex_lock(&fake_vulkan_lock);
    there = store && *find_rows(name);
    pthread_mutex_unlock(&fake_vulkan_lock);
    fake_store_release(store);
    return there;
}

static bool move_one(const struct rows *rows, struct fake_store *store, const struct vulkan_move *move, bool back)
{
    const unsigned plane = move->aspect == 0x20, shift_by = plane ? 1 : 0;
    const struct fake_subresource *sub = &store->subresources[move->level + move->layer * store->desc.mips];
    const struct fake_format *format = plane_format(store->desc.format, plane);
    const unsigned width = sub->width >> shift_by, height = sub->height >> shift_by;
    const size_t row = fake_format_row_bytes(format, width),
                 pitch = rows->pitch ? rows->pitch : fake_format_row_bytes(format, move->row_texels);
    unsigned y, z;

    if (move->row_texels < width || pitch * (sub->depth * height - 1) + row > rows->size)
        return false;
    for (z = 0; z < sub->depth; z++)
        for (y = 0; y < height; y++) {
            unsigned char *there = sub->view.base + z * sub->view.slice + y * sub->view.pitch +
                                   (plane ? sub->view.pitch * sub->height : 0);
            unsigned char *here = rows->bytes + pitch * (z * height + y);

            memcpy(back ? there : here, back ? here : there, row);
            here[0] ^= the_fault == FAKE_VULKAN_WRONG_ROWS && !back;
        }
    return true;
}

static uint64_t move_rows(const struct vulkan_move *moves, uint64_t count, uint64_t back, char *why)
{
    bool good = !has(back ? FAKE_VULKAN_BACK_FAILS : FAKE_VULKAN_OVER_FAILS) && !strikes("move");
    uint64_t i;

    if (has(FAKE_VULKAN_SLOW_ROWS))
        sleep(2);
    for (i = 0; i < count && good; i++) {
        struct fake_store *store = find(moves[i].image);

        good = store && wait_for_queue(store);
        pthread_mutex_lock(&fake_vulkan_lock);
        if (good && (!*find_rows(moves[i].name) || moves[i].layout != FAKE_VULKAN_LAYOUT ||
                     (moves[i].family != FAKE_VULKAN_FAMILY && moves[i].family != VULKAN_ANY_FAMILY) ||
                     !move_one(*find_rows(moves[i].name), store, &moves[i], back))) {
            fake_violation("move_rows: of no rows, or too small ones, or with another layout or family");
            good = false;
        }
        pthread_mutex_unlock(&fake_vulkan_lock);
        fake_store_release(store);
    }
    return good ? 1 : refuse(why, "the copy on the GPU failed");
}

static const struct vulkan_side *side(void)
{
    static const struct vulkan_side functions = {
        find_image, find_place, find_buffer, export_memory, close_file, hold,
        give_back,  pass,       make_rows,   drop_rows,     fit_rows,   move_rows,
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
    count(&acquired, difference);
}

static void drivers_violation(const char *what)
{
    fake_violation("%s", what);
}

const struct fake_vulkan fake_vulkan = {side,       fault_of,       strikes,           import_file,
                                        end_import, count_acquired, drivers_violation, pci_address};
