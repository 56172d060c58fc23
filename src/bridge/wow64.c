#include "bridge/wow64.h"

#include "os/os.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ---- handles ---- */

/* A handle's number is FIRST + 4 * its place. The table only grows: an address that is used again keeps its place. */
enum { FIRST = 0x40000000, BLOCK = 1024, BLOCKS = 16384, BUCKETS = 16384 };
struct place {
    const void *handle;
    uint32_t after;       /* in the bucket */
    cl_command_type type; /* what it says if it is a marker's event */
};
static struct place *blocks[BLOCKS];
static uint32_t buckets[BUCKETS];
static atomic_uint used = 1;
static os_mutex lock = OS_MUTEX_INIT; /* guards additions and buckets */

static struct place *place_at(uint32_t i)
{
    return &blocks[i / BLOCK][i % BLOCK];
}

static uint32_t add_locked(const void *handle, uint32_t *bucket)
{
    const uint32_t i = atomic_load(&used);
    struct place **block = &blocks[i / BLOCK];
    if (i / BLOCK == BLOCKS - 1 || (!*block && !(*block = calloc(BLOCK, sizeof(**block)))))
        return 0;
    *place_at(i) = (struct place){handle, *bucket, CL_COMMAND_MARKER};
    atomic_store(&used, i + 1);
    return *bucket = i;
}

uint32_t wow64_id(const void *handle)
{
    if (!handle)
        return 0;
    uint32_t *bucket = &buckets[((uintptr_t)handle >> 4 ^ (uintptr_t)handle >> 18) % BUCKETS];
    os_lock(&lock);
    uint32_t i = *bucket;
    while (i && place_at(i)->handle != handle)
        i = place_at(i)->after;
    if (!i)
        i = add_locked(handle, bucket);
    os_unlock(&lock);
    return i ? FIRST + 4 * i : 0;
}

void *wow64_handle(uint32_t id)
{
    const uint32_t i = (id - FIRST) / 4;
    return id > FIRST && id % 4 == 0 && i < atomic_load(&used) ? (void *)place_at(i)->handle : NULL;
}

uint32_t wow64_new_id(const void *handle, cl_command_type type)
{
    const uint32_t id = wow64_id(handle);
    if (id)
        place_at((id - FIRST) / 4)->type = type;
    return id;
}

static cl_int CL_API_CALL get_event_info(cl_event event, cl_event_info name, size_t size, void *value, size_t *size_ret)
{
    const cl_int status = next.clGetEventInfo(event, name, size, value, size_ret);
    cl_command_type *type = value;
    if (status == CL_SUCCESS && name == CL_EVENT_COMMAND_TYPE && type && *type == CL_COMMAND_MARKER)
        *type = place_at((wow64_id(event) - FIRST) / 4)->type;
    return status;
}

int host_start_wow64(void *arguments)
{
    struct bridge_start *start = arguments;
    host_start(start);
    start->checks = true;
    host_table.clGetEventInfo = get_event_info;
    return 0;
}

/* ---- memory of a call ---- */

struct block {
    struct block *after;
    _Alignas(16) char bytes[];
};

static void *take(struct scratch *scratch, uint32_t count, size_t each)
{
    const size_t size = ((size_t)count * each + 7) / 8 * 8;
    if (size <= sizeof(scratch->inside) - scratch->used) {
        scratch->used += size;
        return scratch->inside + scratch->used - size;
    }
    struct block *block = malloc(sizeof(*block) + size);
    if (!block) {
        scratch->failed = true;
        return NULL;
    }
    block->after = scratch->blocks;
    scratch->blocks = block;
    return block->bytes;
}

void scratch_end(struct scratch *scratch)
{
    for (struct block *block = scratch->blocks, *after; block; block = after) {
        after = block->after;
        free(block);
    }
}

/* ---- what the program passes ---- */

static const uint32_t *words_at(uint32_t address)
{
    return (const uint32_t *)(uintptr_t)address;
}

void *const *handles_in(struct scratch *scratch, uint32_t address, uint32_t count)
{
    void **handles = address ? take(scratch, count, sizeof(*handles)) : NULL;
    for (uint32_t i = 0; handles && i < count; i++)
        handles[i] = wow64_handle(words_at(address)[i]);
    return handles;
}

void *const *pointers_in(struct scratch *scratch, uint32_t address, uint32_t count)
{
    void **pointers = address ? take(scratch, count, sizeof(*pointers)) : NULL;
    for (uint32_t i = 0; pointers && i < count; i++)
        pointers[i] = (void *)(uintptr_t)words_at(address)[i];
    return pointers;
}

const size_t *sizes_in(struct scratch *scratch, uint32_t address, uint32_t count)
{
    size_t *sizes = address ? take(scratch, count, sizeof(*sizes)) : NULL;
    for (uint32_t i = 0; sizes && i < count; i++)
        sizes[i] = words_at(address)[i];
    return sizes;
}

const intptr_t *words_in(struct scratch *scratch, uint32_t address, bool of_context)
{
    const uint32_t step = of_context ? 2 : 1, *from = words_at(address);
    uint32_t count = 0;
    if (!address)
        return NULL;
    while (from[count])
        count += step;
    intptr_t *words = take(scratch, count + 1, sizeof(*words));
    for (uint32_t i = 0; words && i < count; i++)
        words[i] = of_context && i % 2 && from[i - 1] == CL_CONTEXT_PLATFORM ? (intptr_t)wow64_handle(from[i])
                                                                             : (intptr_t)from[i];
    if (words)
        words[count] = 0;
    return words;
}

const cl_image_desc *desc_in(cl_image_desc *desc, uint32_t address)
{
    const struct {
        uint32_t type, width, height, depth, array_size, row_pitch, slice_pitch, levels, samples, memory;
    } *from = (const void *)(uintptr_t)address;
    if (!from)
        return NULL;
    *desc = (cl_image_desc){.image_type = from->type,
                            .image_width = from->width,
                            .image_height = from->height,
                            .image_depth = from->depth,
                            .image_array_size = from->array_size,
                            .image_row_pitch = from->row_pitch,
                            .image_slice_pitch = from->slice_pitch,
                            .num_mip_levels = from->levels,
                            .num_samples = from->samples,
                            .buffer = wow64_handle(from->memory)};
    return desc;
}

const cl_buffer_region *region_in(cl_buffer_region *region, uint32_t address)
{
    if (!address)
        return NULL;
    *region = (cl_buffer_region){words_at(address)[0], words_at(address)[1]};
    return region;
}

/* ---- what the program gets ---- */

static uint32_t fitting(uint64_t value)
{
    return value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

void **handles_out(struct scratch *scratch, uint32_t address, uint32_t count)
{
    void **handles = address ? take(scratch, count, sizeof(*handles)) : NULL;
    if (handles)
        memset(handles, 0, count * sizeof(*handles));
    return handles;
}

void handles_back(uint32_t address, void *const *handles, uint32_t count, bool done)
{
    for (uint32_t i = 0; handles && done && i < count; i++)
        if (handles[i])
            ((uint32_t *)(uintptr_t)address)[i] = wow64_new_id(handles[i], CL_COMMAND_MARKER);
}

void size_back(uint32_t address, size_t size, bool done)
{
    if (address && done)
        *(uint32_t *)(uintptr_t)address = fitting(size);
}

/* ---- queries ---- */

enum { BYTES, SIZES, IDS, WORDS, CONTEXT_PROPERTIES };

/* Values whose size depends on the program's bitness; all others are the same bytes. */
static unsigned kind_of(cl_uint name)
{
    switch (name) {
    /* clang-format off */
    case CL_DEVICE_MAX_WORK_GROUP_SIZE: case CL_DEVICE_MAX_WORK_ITEM_SIZES: case CL_DEVICE_IMAGE2D_MAX_WIDTH:
    case CL_DEVICE_IMAGE2D_MAX_HEIGHT: case CL_DEVICE_IMAGE3D_MAX_WIDTH: case CL_DEVICE_IMAGE3D_MAX_HEIGHT:
    case CL_DEVICE_IMAGE3D_MAX_DEPTH: case CL_DEVICE_MAX_PARAMETER_SIZE: case CL_DEVICE_PROFILING_TIMER_RESOLUTION:
    case CL_DEVICE_IMAGE_MAX_BUFFER_SIZE: case CL_DEVICE_IMAGE_MAX_ARRAY_SIZE: case CL_DEVICE_PRINTF_BUFFER_SIZE:
    case CL_DEVICE_MAX_GLOBAL_VARIABLE_SIZE: case CL_DEVICE_GLOBAL_VARIABLE_PREFERRED_TOTAL_SIZE:
    case CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE: case CL_MEM_SIZE: case CL_MEM_OFFSET:
    case CL_IMAGE_ELEMENT_SIZE: case CL_IMAGE_ROW_PITCH: case CL_IMAGE_SLICE_PITCH: case CL_IMAGE_WIDTH:
    case CL_IMAGE_HEIGHT: case CL_IMAGE_DEPTH: case CL_IMAGE_ARRAY_SIZE: case CL_PROGRAM_BINARY_SIZES:
    case CL_PROGRAM_NUM_KERNELS: case CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE: case CL_KERNEL_WORK_GROUP_SIZE:
    case CL_KERNEL_COMPILE_WORK_GROUP_SIZE: case CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE:
    case CL_KERNEL_GLOBAL_WORK_SIZE: case CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE:
    case CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE: case CL_KERNEL_LOCAL_SIZE_FOR_SUB_GROUP_COUNT:
    case CL_KERNEL_MAX_NUM_SUB_GROUPS: case CL_KERNEL_COMPILE_NUM_SUB_GROUPS: case CL_DEVICE_SUB_GROUP_SIZES_INTEL:
    case CL_KERNEL_COMPILE_SUB_GROUP_SIZE_INTEL: return SIZES;
    case CL_DEVICE_PLATFORM: case CL_DEVICE_PARENT_DEVICE: case CL_CONTEXT_DEVICES: case CL_QUEUE_CONTEXT:
    case CL_QUEUE_DEVICE: case CL_QUEUE_DEVICE_DEFAULT: case CL_MEM_CONTEXT: case CL_MEM_ASSOCIATED_MEMOBJECT:
    case CL_IMAGE_BUFFER: case CL_SAMPLER_CONTEXT: case CL_PROGRAM_CONTEXT: case CL_PROGRAM_DEVICES:
    case CL_KERNEL_CONTEXT: case CL_KERNEL_PROGRAM: case CL_EVENT_COMMAND_QUEUE: case CL_EVENT_CONTEXT: return IDS;
    case CL_MEM_HOST_PTR: case CL_PROGRAM_BINARIES: case CL_DEVICE_PARTITION_PROPERTIES:
    case CL_DEVICE_PARTITION_TYPE: case CL_PIPE_PROPERTIES: return WORDS;
    /* clang-format on */
    case CL_CONTEXT_PROPERTIES: return CONTEXT_PROPERTIES;
    default: return BYTES;
    }
}

struct info info_begin(struct scratch *scratch, cl_uint name, uint32_t size, uint32_t address)
{
    struct info info = {kind_of(name), name, size, 0, (void *)(uintptr_t)address};
    if (info.kind != BYTES) {
        info.size = (size_t)size * 2;
        info.value = address ? take(scratch, size, 2) : NULL;
        if (name == CL_PROGRAM_BINARIES) /* the program gives an array of its addresses */
            info.value = (void *)pointers_in(scratch, address, size / sizeof(uint32_t));
    }
    return info;
}

void info_end(const struct info *info, uint32_t address, uint32_t size_ret, bool done)
{
    const uint64_t *from = info->value;
    uint32_t *to = (uint32_t *)(uintptr_t)address;
    if (!done)
        return;
    for (size_t i = 0; info->kind != BYTES && from && i < info->size_ret / 8; i++)
        switch (info->kind) {
        case SIZES: to[i] = fitting(from[i]); break;
        case IDS: to[i] = wow64_id((void *)(uintptr_t)from[i]); break;
        case CONTEXT_PROPERTIES:
            to[i] =
                i % 2 && from[i - 1] == CL_CONTEXT_PLATFORM ? wow64_id((void *)(uintptr_t)from[i]) : (uint32_t)from[i];
            break;
        default: to[i] = (uint32_t)from[i];
        }
    size_back(size_ret, info->kind == BYTES ? info->size_ret : info->size_ret / 2, true);
}

/* ---- calls with rules of their own ---- */

/* What is asked with is an array of sizes, or one. */
int wow64_on_clGetKernelSubGroupInfo(void *arguments)
{
    struct wow64_clGetKernelSubGroupInfo *p = host_enter(arguments);
    struct scratch s;
    scratch_begin(&s);
    struct info info = info_begin(&s, p->param_name, p->param_value_size, p->param_value);
    const size_t *input = sizes_in(&s, p->input_value, p->input_value_size / (uint32_t)sizeof(uint32_t));
    cl_int status = CL_OUT_OF_HOST_MEMORY;
    if (!s.failed)
        status = host_table.clGetKernelSubGroupInfo(wow64_handle(p->kernel), wow64_handle(p->device), p->param_name,
                                                    (size_t)p->input_value_size * 2, input, info.size, info.value,
                                                    &info.size_ret);
    info_end(&info, p->param_value, p->param_value_size_ret, status == CL_SUCCESS);
    scratch_end(&s);
    return status;
}

/* Whether an argument may be a handle, and whether the driver has told that: some know nothing of arguments. */
static bool may_be_handle(cl_kernel kernel, cl_uint index, bool *told)
{
    cl_kernel_arg_address_qualifier qualifier = CL_KERNEL_ARG_ADDRESS_GLOBAL;
    char type[64] = "";
    *told = next.clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof(qualifier), &qualifier,
                                    NULL) == CL_SUCCESS;
    next.clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_TYPE_NAME, sizeof(type) - 1, type, NULL);
    return qualifier != CL_KERNEL_ARG_ADDRESS_PRIVATE || strstr(type, "image") || strstr(type, "_t");
}

/* A driver wants 8 bytes for a handle, of which the program passes 4. Whether an argument is a handle shows in the driver's
 * answer to 4 bytes. */
int wow64_on_clSetKernelArg(void *arguments)
{
    struct wow64_clSetKernelArg *p = host_enter(arguments);
    const void *value = (const void *)(uintptr_t)p->arg_value;
    cl_kernel kernel = wow64_handle(p->kernel);
    bool told = false;
    cl_int status = host_table.clSetKernelArg(kernel, p->arg_index, p->arg_size, value);
    if (status == CL_INVALID_ARG_SIZE && p->arg_size == sizeof(uint32_t) &&
        may_be_handle(kernel, p->arg_index, &told)) {
        const uint32_t id = value ? *words_at(p->arg_value) : 0;
        void *handle = wow64_handle(id);
        if (!id || handle)
            status = host_table.clSetKernelArg(kernel, p->arg_index, sizeof(handle), value ? &handle : NULL);
        else if (told)
            status = CL_INVALID_MEM_OBJECT;
    }
    return status;
}
