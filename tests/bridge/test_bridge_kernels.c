/* Programs, kernels, samplers and events through the bridge: sources, binaries and parts of programs, arguments of every kind, launches and
 * wait lists. Every function is called so that a call without effect is seen. */
#include "bridge.h"

/* ---- programs ---- */

/* Runs a kernel whose only argument is a buffer of one number. */
static void gives(const struct base *base, cl_program program, const char *name, cl_int expected)
{
    const size_t one = 1;
    cl_int found = UNSET;
    cl_kernel kernel = kernel_of(program, name);
    cl_mem to = make_buffer(base, sizeof(found), &found);
    set_memory(kernel, 0, to);
    CHECK_INT(clEnqueueNDRangeKernel(base->queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL), CL_SUCCESS);
    read_all(base, to, &found, sizeof(found));
    CHECK_INT(found, expected);
    release_memory(to);
    CHECK_INT(clReleaseKernel(kernel), CL_SUCCESS);
}

/* Of several texts, one with a length. */
BASE_CASE("a program of several texts", sources)
{
    const char *texts[] = {"kernel void k(global int *p) #", "{ p[0] = VALUE; }"};
    const size_t lengths[] = {29, 0};
    char found[256] = "";
    cl_int status = UNSET;
    cl_program program = clCreateProgramWithSource(base->context, 2, texts, lengths, &status);
    CHECK_INT(status, CL_SUCCESS);
    CHECK_INT(clBuildProgram(program, 1, &base->device, "-DVALUE=42", NULL, NULL), CL_SUCCESS);
    gives(base, program, "k", 42);
    CHECK_INT(clGetProgramInfo(program, CL_PROGRAM_SOURCE, sizeof(found), found, NULL), CL_SUCCESS);
    CHECK_STR(found, "kernel void k(global int *p) { p[0] = VALUE; }");
    CHECK_INT(clGetProgramBuildInfo(program, base->device, CL_PROGRAM_BUILD_OPTIONS, sizeof(found), found, NULL),
              CL_SUCCESS);
    CHECK(strstr(found, "-DVALUE=42") != NULL);
    CHECK_INT(clReleaseProgram(program), CL_SUCCESS);
    program = program_of(base, "kernel void k(global int *p) { p[0] = VALUE; }");
    CHECK_INT(clBuildProgram(program, 0, NULL, "-DVALUE=43", NULL, NULL), CL_SUCCESS); /* for all devices */
    gives(base, program, "k", 43);
    CHECK_INT(clReleaseProgram(program), CL_SUCCESS);
    CHECK(clCreateProgramWithSource(base->context, 0, NULL, NULL, &status) == NULL);
    CHECK_INT(status, CL_INVALID_VALUE);
}

BASE_CASE("binaries of programs", binaries)
{
    cl_int status = UNSET, of_device = UNSET;
    size_t size = 0, answered = 0;
    cl_program first = built_program(base, "kernel void k(global int *p) { p[0] = 44; }", "");
    CHECK_INT(clGetProgramInfo(first, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, &answered), CL_SUCCESS);
    CHECK_INT(answered, sizeof(size));
    unsigned char *bytes = calloc(1, size + 1), *list[] = {bytes};
    bytes[size] = 0x55;
    CHECK_INT(clGetProgramInfo(first, CL_PROGRAM_BINARIES, sizeof(list), list, &answered), CL_SUCCESS);
    CHECK_INT(answered, sizeof(list));
    CHECK(list[0] == bytes);
    CHECK_INT(bytes[size], 0x55);
    unsigned char *skipped[] = {NULL, NULL};
    for (size_t room = 0; room <= sizeof(skipped); room += sizeof(skipped[0])) {
        answered = 0;
        CHECK_INT(clGetProgramInfo(first, CL_PROGRAM_BINARIES, room, room ? skipped : NULL, &answered), CL_SUCCESS);
        CHECK_INT(answered, sizeof(list));
        CHECK(!skipped[0] && !skipped[1]);
    }
    CHECK_INT(clReleaseProgram(first), CL_SUCCESS);
    cl_program again = clCreateProgramWithBinary(base->context, 1, &base->device, &size, (const unsigned char **)list,
                                                 &of_device, &status);
    CHECK_INT(status, CL_SUCCESS);
    CHECK_INT(of_device, CL_SUCCESS);
    if (CHECK(again != NULL)) {
        CHECK_INT(clBuildProgram(again, 1, &base->device, "", NULL, NULL), CL_SUCCESS);
        gives(base, again, "k", 44);
        CHECK_INT(clReleaseProgram(again), CL_SUCCESS);
    }
    free(bytes);
    const unsigned char *empty[] = {NULL};
    const size_t none = 0;
    CHECK(clCreateProgramWithBinary(base->context, 1, &base->device, &none, empty, NULL, &status) == NULL);
    CHECK_INT(status, CL_INVALID_VALUE);
}

/* rusticl 22.3 links no sum with what has none. */
BASE_CASE("programs are compiled with headers and linked", compile_and_link)
{
    const char *const names[] = {"seven.h", "eight.h"};
    cl_int status = UNSET;
    const cl_program headers[] = {program_of(base, "#define SEVEN 7\n"), program_of(base, "#define EIGHT 0x80\n")};
    const cl_program parts[] = {
        program_of(base, "#include \"seven.h\"\nint seven(void); int seven(void) { return SEVEN; }\n"),
        program_of(base, "#include \"eight.h\"\nint seven(void);\n"
                         "kernel void k(global int *p) { p[0] = EIGHT | seven(); }\n")};
    for (int i = 0; i < 2; i++)
        CHECK_INT(clCompileProgram(parts[i], 1, &base->device, "", 2, headers, (const char **)names, NULL, NULL),
                  CL_SUCCESS);
    cl_program linked = clLinkProgram(base->context, 1, &base->device, "", 2, parts, NULL, NULL, &status);
    if (CHECK_INT(status, CL_SUCCESS) && CHECK(linked != NULL)) {
        gives(base, linked, "k", 0x87);
        CHECK_INT(clReleaseProgram(linked), CL_SUCCESS);
    }
    for (int i = 0; i < 2; i++) {
        CHECK_INT(clReleaseProgram(parts[i]), CL_SUCCESS);
        CHECK_INT(clReleaseProgram(headers[i]), CL_SUCCESS);
    }
}

/* PoCL has some kernels of this kind. */
BASE_CASE("built-in kernels", built_in_kernels)
{
    static char names[16384];
    cl_int status = UNSET;
    cl_uint devices = 0;
    CHECK_INT(clGetDeviceInfo(base->device, CL_DEVICE_BUILT_IN_KERNELS, sizeof(names), names, NULL), CL_SUCCESS);
    names[strcspn(names, ";")] = '\0';
    if (names[0]) {
        cl_program program = clCreateProgramWithBuiltInKernels(base->context, 1, &base->device, names, &status);
        CHECK_INT(status, CL_SUCCESS);
        CHECK_INT(clGetProgramInfo(program, CL_PROGRAM_NUM_DEVICES, sizeof(devices), &devices, NULL), CL_SUCCESS);
        CHECK_INT(devices, 1);
        CHECK_INT(clReleaseProgram(program), CL_SUCCESS);
    }
    status = UNSET;
    CHECK(clCreateProgramWithBuiltInKernels(base->context, 1, &base->device, "nobody has this", &status) == NULL);
    CHECK(status < 0);
}

/* ---- kernels ---- */

/* More than fit into small arrays. */
enum { MANY = 20 };

BASE_CASE("all kernels of a program", kernels_of_a_program)
{
    static char text[MANY * 64];
    cl_kernel kernels[MANY + 1] = {NULL};
    cl_uint count = 0;
    bool seen[MANY] = {false};
    for (int i = 0; i < MANY; i++)
        sprintf(text + strlen(text), "kernel void k%d(global int *p) { p[0] = %d; }\n", i, i);
    cl_program program = built_program(base, text, "");
    CHECK_INT(clCreateKernelsInProgram(program, 0, NULL, &count), CL_SUCCESS);
    CHECK_INT(count, MANY);
    CHECK_INT(clCreateKernelsInProgram(program, MANY - 1, kernels, NULL), CL_INVALID_VALUE);
    CHECK_INT(clCreateKernelsInProgram(program, MANY + 1, kernels, &count), CL_SUCCESS);
    CHECK(kernels[MANY] == NULL);
    for (int i = 0; i < MANY; i++) {
        char name[16] = "";
        CHECK_INT(clGetKernelInfo(kernels[i], CL_KERNEL_FUNCTION_NAME, sizeof(name), name, NULL), CL_SUCCESS);
        seen[strtoul(name + 1, NULL, 10) % MANY] = name[0] == 'k';
        CHECK_INT(clReleaseKernel(kernels[i]), CL_SUCCESS);
    }
    for (int i = 0; i < MANY; i++)
        CHECK(seen[i]);
    CHECK(clCreateKernel(program, "none", NULL) == NULL);
    CHECK_INT(clReleaseProgram(program), CL_SUCCESS);
}

static const char arguments_source[] =
    "kernel void arguments(global int *to, int four, long eight, uint4 sixteen, short two, constant int *read,\n"
    "                      local int *mine)\n"
    "{\n"
    "    mine[get_local_id(0)] = (int)get_local_id(0) + 1000;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    if (get_global_id(0) == 0) {\n"
    "        to[0] = four;\n"
    "        to[1] = (int)eight;\n"
    "        to[2] = (int)(eight >> 32);\n"
    "        to[3] = (int)sixteen.w;\n"
    "        to[4] = two;\n"
    "        to[5] = read[1];\n"
    "        to[6] = mine[get_local_size(0) - 1];\n"
    "    }\n"
    "}\n";

enum { GROUP = 8, RESULTS = 7 };

static void arguments_are(const struct base *base, cl_kernel kernel, cl_mem to, cl_int four, cl_long eight)
{
    const size_t group = GROUP;
    const cl_int expected[RESULTS] = {four, (cl_int)eight, (cl_int)(eight >> 32), 14, -3, 22, 1000 + GROUP - 1};
    CHECK_INT(clEnqueueNDRangeKernel(base->queue, kernel, 1, NULL, &group, &group, 0, NULL, NULL), CL_SUCCESS);
    buffer_has(base, to, expected, sizeof(expected));
}

/* A number of the program may be what a handle is, too. */
BASE_CASE("arguments of every kind", arguments)
{
    static const cl_int numbers[] = {21, 22, 23, 24};
    const cl_int four = -12345;
    const cl_long eight = 0x123456789ABCDEF0;
    const cl_uint4 sixteen = {{11, 12, 13, 14}};
    const cl_short two = -3;
    cl_kernel kernel = built_kernel(base, arguments_source, "arguments");
    cl_mem to = make_buffer(base, RESULTS * sizeof(cl_int), NULL), read = make_buffer(base, sizeof(numbers), numbers);
    set_memory(kernel, 0, to);
    CHECK_INT(clSetKernelArg(kernel, 1, sizeof(four), &four), CL_SUCCESS);
    CHECK_INT(clSetKernelArg(kernel, 2, sizeof(eight), &eight), CL_SUCCESS);
    CHECK_INT(clSetKernelArg(kernel, 3, sizeof(sixteen), &sixteen), CL_SUCCESS);
    CHECK_INT(clSetKernelArg(kernel, 4, sizeof(two), &two), CL_SUCCESS);
    set_memory(kernel, 5, read);
    CHECK_INT(clSetKernelArg(kernel, 6, GROUP * sizeof(cl_int), NULL), CL_SUCCESS);
    arguments_are(base, kernel, to, four, eight);

    /* What is refused changes nothing. */
    const cl_int other = 17;
    CHECK_INT(clSetKernelArg(kernel, 7, sizeof(other), &other), CL_INVALID_ARG_INDEX);
    CHECK_INT(clSetKernelArg(kernel, 1, 2, &other), CL_INVALID_ARG_SIZE);
    CHECK_INT(clSetKernelArg(kernel, 2, 4, &other), CL_INVALID_ARG_SIZE);
    CHECK_INT(clSetKernelArg(kernel, 3, 4, &other), CL_INVALID_ARG_SIZE);
    CHECK_INT(clSetKernelArg(kernel, 0, 3, &to), CL_INVALID_ARG_SIZE);
    arguments_are(base, kernel, to, four, eight);

    const cl_int like_handle = (cl_int)(uintptr_t)to;
    const cl_long like_handle_too = (cl_long)(uintptr_t)read;
    CHECK_INT(clSetKernelArg(kernel, 1, sizeof(like_handle), &like_handle), CL_SUCCESS);
    CHECK_INT(clSetKernelArg(kernel, 2, sizeof(like_handle_too), &like_handle_too), CL_SUCCESS);
    arguments_are(base, kernel, to, like_handle, like_handle_too);
    release_memory(read);
    release_memory(to);
    CHECK_INT(clReleaseKernel(kernel), CL_SUCCESS);
}

BASE_CASE("no memory as an argument", no_memory_as_argument)
{
    const size_t one = 1;
    const cl_mem none = NULL;
    cl_int found = UNSET;
    cl_kernel kernel =
        built_kernel(base, "kernel void k(global int *to, global int *maybe) { to[0] = maybe ? 1 : 2; }", "k");
    cl_mem to = make_buffer(base, sizeof(found), &found), some = make_buffer(base, sizeof(found), &found);
    set_memory(kernel, 0, to);
    for (int way = 0; way < 3; way++) {
        CHECK_INT(clSetKernelArg(kernel, 1, sizeof(none),
                                 way == 0   ? NULL
                                 : way == 1 ? (void *)&some
                                            : (void *)&none),
                  CL_SUCCESS);
        CHECK_INT(clEnqueueNDRangeKernel(base->queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL), CL_SUCCESS);
        read_all(base, to, &found, sizeof(found));
        CHECK_INT(found, way == 1 ? 1 : 2);
    }
    release_memory(some);
    release_memory(to);
    CHECK_INT(clReleaseKernel(kernel), CL_SUCCESS);
}

BASE_CASE("a kernel's clone has its arguments", clone_kernel)
{
    const cl_int seven = 7, nine = 9;
    const size_t four = 4;
    cl_int status = UNSET, values[4] = {0};
    cl_kernel kernel =
        built_kernel(base, "kernel void fill(global int *p, int v) { p[get_global_id(0)] = v; }", "fill");
    cl_mem out = make_buffer(base, sizeof(values), values);
    set_memory(kernel, 0, out);
    CHECK_INT(clSetKernelArg(kernel, 1, sizeof(seven), &seven), CL_SUCCESS);
    cl_kernel clone = clCloneKernel(kernel, &status);
    if (CHECK_INT(status, CL_SUCCESS) && CHECK(clone != NULL && clone != kernel)) {
        CHECK_INT(clSetKernelArg(kernel, 1, sizeof(nine), &nine), CL_SUCCESS);
        CHECK_INT(clEnqueueNDRangeKernel(base->queue, clone, 1, NULL, &four, NULL, 0, NULL, NULL), CL_SUCCESS);
        read_all(base, out, values, sizeof(values));
        CHECK_INT(values[3], 7);
        CHECK_INT(clReleaseKernel(clone), CL_SUCCESS);
    }
    release_memory(out);
    CHECK_INT(clReleaseKernel(kernel), CL_SUCCESS);
}

/* ---- launches ---- */

BASE_CASE("launches in three dimensions", launches)
{
    static const size_t offset[3] = {1, 2, 3}, global[3] = {4, 3, 2}, local[3] = {2, 3, 1};
    enum { ITEMS = 4 * 3 * 2 };
    cl_int expected[ITEMS], found[ITEMS];
    cl_event event = NULL;
    cl_kernel kernel = built_kernel(base,
                                    "kernel void ids(global int *to)\n"
                                    "{\n"
                                    "    const int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);\n"
                                    "    to[(z - 3) * 12 + (y - 2) * 4 + x - 1] =\n"
                                    "        x + 100 * y + 10000 * z + 1000000 * get_local_size(0);\n"
                                    "}\n",
                                    "ids");
    cl_mem to = make_buffer(base, sizeof(found), NULL);
    set_memory(kernel, 0, to);
    CHECK_INT(clEnqueueNDRangeKernel(base->queue, kernel, 3, offset, global, local, 0, NULL, &event), CL_SUCCESS);
    for (int i = 0; i < ITEMS; i++)
        expected[i] = (i % 4 + 1) + 100 * (i / 4 % 3 + 2) + 10000 * (i / 12 + 3) + 2000000;
    buffer_has(base, to, expected, sizeof(expected));
    finish_event(event);
    CHECK_INT(clEnqueueNDRangeKernel(base->queue, kernel, 0, NULL, global, NULL, 0, NULL, NULL),
              CL_INVALID_WORK_DIMENSION);
    CHECK_INT(clEnqueueNDRangeKernel(base->queue, kernel, 4, NULL, global, NULL, 0, NULL, NULL),
              CL_INVALID_WORK_DIMENSION);
    release_memory(to);
    CHECK_INT(clReleaseKernel(kernel), CL_SUCCESS);
}

static void CL_CALLBACK native_kernel(void *arguments)
{
    (void)arguments;
}

BASE_CASE("a kernel of the host's", native_kernels)
{
    CHECK(clEnqueueNativeKernel(base->queue, native_kernel, NULL, 0, 0, NULL, NULL, 0, NULL, NULL) < 0);
}

/* ---- samplers ---- */

static void sampler_gives(const struct base *base, cl_sampler sampler, cl_uint expected)
{
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 4, .image_height = 4};
    unsigned char texels[4 * 4 * 4];
    const size_t one = 1;
    cl_uint found = UNSET;
    cl_int status = UNSET;
    memset(texels, 77, sizeof(texels));
    cl_mem image = clCreateImage(base->context, CL_MEM_COPY_HOST_PTR, &format, &desc, texels, &status);
    CHECK_INT(status, CL_SUCCESS);
    cl_mem to = make_buffer(base, sizeof(found), NULL);
    cl_kernel kernel = built_kernel(base,
                                    "kernel void k(read_only image2d_t from, sampler_t how, global uint *to)\n"
                                    "{\n"
                                    "    to[0] = read_imageui(from, how, (int2)(-1, 0)).x;\n"
                                    "}\n",
                                    "k");
    set_memory(kernel, 0, image);
    CHECK_INT(clSetKernelArg(kernel, 1, sizeof(sampler), &sampler), CL_SUCCESS);
    set_memory(kernel, 2, to);
    CHECK_INT(clEnqueueNDRangeKernel(base->queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL), CL_SUCCESS);
    read_all(base, to, &found, sizeof(found));
    CHECK_INT(found, expected);
    CHECK_INT(clReleaseKernel(kernel), CL_SUCCESS);
    release_memory(to);
    release_memory(image);
}

/* One that reads black beyond the edge, and one that goes on with the edge. */
BASE_CASE("samplers", samplers)
{
    const cl_sampler_properties edge[] = {CL_SAMPLER_NORMALIZED_COORDS,
                                          CL_FALSE,
                                          CL_SAMPLER_ADDRESSING_MODE,
                                          CL_ADDRESS_CLAMP_TO_EDGE,
                                          CL_SAMPLER_FILTER_MODE,
                                          CL_FILTER_NEAREST,
                                          0};
    const cl_sampler_properties unknown[] = {0x4711, 1, 0};
    cl_int status = UNSET;
    cl_sampler black = clCreateSampler(base->context, CL_FALSE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, &status);
    CHECK_INT(status, CL_SUCCESS);
    cl_sampler edges = clCreateSamplerWithProperties(base->context, edge, &status);
    CHECK_INT(status, CL_SUCCESS);
    if (has_image_kernels(base)) {
        sampler_gives(base, black, 0);
        sampler_gives(base, edges, 77);
    }
    CHECK_INT(clReleaseSampler(edges), CL_SUCCESS);
    CHECK_INT(clReleaseSampler(black), CL_SUCCESS);
    CHECK(clCreateSamplerWithProperties(base->context, unknown, &status) == NULL);
    CHECK_INT(status, CL_INVALID_VALUE);
}

/* ---- events ---- */

/* A marker waits for each event of a long list. */
BASE_CASE("long lists of events to wait for", wait_lists)
{
    cl_event gates[MANY], marker = NULL, barrier = NULL;
    for (int i = 0; i < MANY; i++)
        gates[i] = user_event(base);
    CHECK_INT(clEnqueueMarkerWithWaitList(base->queue, MANY, gates, &marker), CL_SUCCESS);
    CHECK_INT(clEnqueueBarrierWithWaitList(base->queue, 1, &marker, &barrier), CL_SUCCESS);
    CHECK_INT(clFlush(base->queue), CL_SUCCESS);
    for (int i = 0; i < MANY; i++) {
        Sleep(i < MANY - 1 ? 0 : 20);
        CHECK(event_status(marker) > CL_COMPLETE);
        set_event(gates[i], CL_COMPLETE);
    }
    CHECK_INT(clWaitForEvents(MANY, gates), CL_SUCCESS);
    finish_event(marker);
    finish_event(barrier);
    CHECK_INT(clSetUserEventStatus(gates[0], CL_COMPLETE), CL_INVALID_OPERATION);
    for (int i = 0; i < MANY; i++)
        CHECK_INT(clReleaseEvent(gates[i]), CL_SUCCESS);
}

/* What OpenCL 1.2 has replaced. PoCL 3.1 has no clEnqueueWaitForEvents: it ends the process. */
BASE_CASE("what OpenCL 1.2 has replaced", older)
{
    cl_event marked = NULL;
    cl_event gate = user_event(base);
    CHECK_INT(clEnqueueBarrierWithWaitList(base->queue, 1, &gate, NULL), CL_SUCCESS);
    CHECK_INT(clEnqueueBarrier(base->queue), CL_SUCCESS);
    CHECK_INT(clEnqueueMarker(base->queue, &marked), CL_SUCCESS);
    CHECK_INT(clFlush(base->queue), CL_SUCCESS);
    Sleep(20);
    CHECK(event_status(marked) > CL_COMPLETE);
    set_event(gate, CL_COMPLETE);
    finish_event(marked);
    CHECK_INT(clReleaseEvent(gate), CL_SUCCESS);
    CHECK_INT(clUnloadCompiler(), CL_SUCCESS);
}

TAP_MAIN
