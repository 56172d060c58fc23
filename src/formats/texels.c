/* The host's work on the texels of a frame: it copies them, and it converts them if the device works in host memory
 * anyway. There, the conversions of convert.cl need no commands and no device memory. Only R and RG in RGBA of the same
 * channel type. Little-endian, like all systems with Direct3D. */
#include "formats/storage.h"

#include "d3d/formats.h"

#include <stdint.h>
#include <string.h>

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#define FOR_AVX2 __attribute__((target("avx2")))
#define HAS_AVX2 __builtin_cpu_supports("avx2")
#else
#define FOR_AVX2
#define HAS_AVX2 false
#endif

enum texels_processor texels_processor;

bool texels_convertible(const struct converter *c)
{
    const cl_channel_order order = c->declared.image_channel_order;
    return (order == CL_R || order == CL_RG) &&
           c->declared.image_channel_data_type == c->stored.image_channel_data_type;
}

/* The alpha bits, at their place above a texel's other channels. */
static uint64_t alpha_bits(const struct converter *c)
{
    const unsigned channel = (unsigned)c->wide_texel * 2; /* bits of one of four channels */
    return storage_alpha(c->declared.image_channel_data_type) << (channel < 32 ? 3 * channel : channel);
}

/* Texels at any address: the alignment of memory that Direct3D maps is arbitrary. */
typedef uint8_t unaligned_8 __attribute__((aligned(1), may_alias));
typedef uint16_t unaligned_16 __attribute__((aligned(1), may_alias));
typedef uint32_t unaligned_32 __attribute__((aligned(1), may_alias));
typedef uint64_t unaligned_64 __attribute__((aligned(1), may_alias));

/* Compiled once for every processor, and once for those with AVX2, whose vectors are twice as long. */
#define IN_BOTH static inline __attribute__((always_inline))

/* Loops over memory that does not overlap, with types known to the compiler, so that it vectorizes them (meson.build
 * raises the optimisation level for this file). */
#define WIDEN(narrow, wide)                                                                                 \
    IN_BOTH void widen_##narrow##_to_##wide(void *restrict wide_texels, const void *restrict narrow_texels, \
                                            size_t texels, uint64_t alpha)                                  \
    {                                                                                                       \
        unaligned_##wide *restrict to = wide_texels;                                                        \
        const unaligned_##narrow *restrict from = narrow_texels;                                            \
        for (size_t i = 0; i < texels; i++)                                                                 \
            to[i] = (unaligned_##wide)alpha | from[i];                                                      \
    }
WIDEN(8, 32)
WIDEN(16, 32)
WIDEN(16, 64)
WIDEN(32, 64)
#undef WIDEN

/* A wide texel of 16 bytes has two halves: the declared channels, and blue and alpha. */
#define WIDEN(narrow)                                                                                    \
    IN_BOTH void widen_##narrow##_to_128(void *restrict wide_texels, const void *restrict narrow_texels, \
                                         size_t texels, uint64_t alpha)                                  \
    {                                                                                                    \
        unaligned_64 *restrict to = wide_texels;                                                         \
        const unaligned_##narrow *restrict from = narrow_texels;                                         \
        for (size_t i = 0; i < texels; i++) {                                                            \
            to[i * 2] = from[i];                                                                         \
            to[i * 2 + 1] = alpha;                                                                       \
        }                                                                                                \
    }
WIDEN(32)
WIDEN(64)
#undef WIDEN

/* The declared channels are the first of `step` words. */
#define NARROW(wide, narrow, word, step)                                                                     \
    IN_BOTH void narrow_##wide##_to_##narrow(void *restrict narrow_texels, const void *restrict wide_texels, \
                                             size_t texels)                                                  \
    {                                                                                                        \
        unaligned_##narrow *restrict to = narrow_texels;                                                     \
        const unaligned_##word *restrict from = wide_texels;                                                 \
        for (size_t i = 0; i < texels; i++)                                                                  \
            to[i] = (unaligned_##narrow)from[i * (step)];                                                    \
    }
NARROW(32, 8, 32, 1)
NARROW(32, 16, 32, 1)
NARROW(64, 16, 64, 1)
NARROW(64, 32, 64, 1)
NARROW(128, 32, 64, 2)
NARROW(128, 64, 64, 2)
#undef NARROW

enum work { COPY, WIDEN, NARROW };

IN_BOTH void move(enum work work, const struct converter *c, void *to, const void *from, size_t texels)
{
    const uint64_t alpha = work == WIDEN ? alpha_bits(c) : 0;
    switch (c->narrow_texel << 8 | c->wide_texel) {
#define CASE(narrow, wide)                                       \
    case narrow / 8 << 8 | wide / 8:                             \
        if (work == WIDEN)                                       \
            widen_##narrow##_to_##wide(to, from, texels, alpha); \
        else                                                     \
            narrow_##wide##_to_##narrow(to, from, texels);       \
        break;
        CASE(8, 32)
        CASE(16, 32)
        CASE(16, 64)
        CASE(32, 64)
        CASE(32, 128)
        CASE(64, 128)
#undef CASE
    }
}

FOR_AVX2 static void move_by_avx2(enum work work, const struct converter *c, void *to, const void *from, size_t texels)
{
    move(work, c, to, from, texels);
}

static void move_here(enum work work, const struct converter *c, void *to, const void *from, size_t texels)
{
    if (HAS_AVX2 && texels_processor != TEXELS_ANY)
        move_by_avx2(work, c, to, from, texels);
    else
        move(work, c, to, from, texels);
}

/* ---- non-temporal stores ---- */

#if defined(__x86_64__) || defined(__i386__)

/* Sanitizers check memcpy, but not non-temporal stores. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) /* gcc */
#define IS_SANITIZED 1
#elif defined(__has_feature) /* clang */
#define IS_SANITIZED \
    (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer))
#else
#define IS_SANITIZED 0
#endif

enum {
    LINE = 64,
    BLOCK = 512, /* so short that a processor reads the next while it writes this one */
    PAGE = 4096,
    AHEAD = 4 * PAGE
};

/* Whole pairs of cache lines are written with non-temporal stores, the rest with ordinary ones. */
FOR_AVX2 static void stream_bytes(char *to, const char *from, size_t bytes)
{
    enum { PAIR = 2 * LINE };
    size_t at = -(uintptr_t)to % LINE;
    at = at < bytes ? at : bytes;
    memcpy(to, from, at);
    for (; bytes - at >= PAIR; at += PAIR) {
        const __m256i *in = (const __m256i *)(from + at);
        const __m256i a = _mm256_loadu_si256(in), b = _mm256_loadu_si256(in + 1), c = _mm256_loadu_si256(in + 2),
                      d = _mm256_loadu_si256(in + 3);
        __m256i *out = (__m256i *)(to + at);
        _mm256_stream_si256(out, a);
        _mm256_stream_si256(out + 1, b);
        _mm256_stream_si256(out + 2, c);
        _mm256_stream_si256(out + 3, d);
    }
    memcpy(to + at, from + at, bytes - at);
}

/* All blocks but the first and the last are whole cache lines, if the texels are aligned. False: the processor does
 * not have these stores, and nothing is done. */
static bool stream_texels(enum work work, const struct converter *c, char *to, size_t to_texel, const char *from,
                          size_t from_texel, size_t texels)
{
    char converted[BLOCK];
    const size_t block = work == COPY ? PAGE : BLOCK;
    size_t count = -(uintptr_t)to % LINE / to_texel;
    if (!HAS_AVX2 || texels_processor == TEXELS_ANY || IS_SANITIZED)
        return false;
    for (size_t i = 0; i < texels; i += count, count = block / to_texel) {
        char *out = to + i * to_texel;
        const char *in = from + i * from_texel;
        count = count < texels - i ? count : texels - i;
        if ((uintptr_t)out % PAGE < block) {
            /* The processor looks up the addresses of pages that come soon. A prefetch may go beyond the end. */
            __builtin_prefetch((const void *)((uintptr_t)in + AHEAD));
            __builtin_prefetch((const void *)((uintptr_t)out + AHEAD), 1);
        }
        if (work != COPY)
            move_here(work, c, converted, in, count);
        stream_bytes(out, work == COPY ? in : converted, count * to_texel);
    }
    __asm__ volatile("sfence" ::: "memory"); /* later writes come after these, also for other threads */
    return true;
}

#else

static bool stream_texels(enum work work, const struct converter *c, char *to, size_t to_texel, const char *from,
                          size_t from_texel, size_t texels)
{
    return work && c && to && to_texel && from && from_texel && texels && false;
}

#endif

void texels_widen(const struct converter *c, void *to, const void *from, size_t texels, bool stream)
{
    if (!stream || !stream_texels(WIDEN, c, to, c->wide_texel, from, c->narrow_texel, texels))
        move_here(WIDEN, c, to, from, texels);
}

void texels_narrow(const struct converter *c, void *to, const void *from, size_t texels, bool stream)
{
    if (!stream || !stream_texels(NARROW, c, to, c->narrow_texel, from, c->wide_texel, texels))
        move_here(NARROW, c, to, from, texels);
}

void texels_copy(void *to, const void *from, size_t bytes, bool stream)
{
    if (!stream || !stream_texels(COPY, NULL, to, 1, from, 1, bytes))
        memcpy(to, from, bytes);
}
