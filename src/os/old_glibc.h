#ifndef CLD3D_OLD_GLIBC_H
#define CLD3D_OLD_GLIBC_H

/* Read before each file of the library on x86-64 with glibc, and so without headers of its own. glibc 2.34 moved libdl and libpthread into
   libc and gave their functions a new version, so what is linked with it does not load with an older one. It still has the versions of
   2.31 (Debian 11) too, which this asks for. There the two libraries have them; they are empty now. */
__asm__(".symver dladdr, dladdr@GLIBC_2.2.5\n"
        ".symver dlclose, dlclose@GLIBC_2.2.5\n"
        ".symver dlerror, dlerror@GLIBC_2.2.5\n"
        ".symver dlopen, dlopen@GLIBC_2.2.5\n"
        ".symver dlsym, dlsym@GLIBC_2.2.5\n"
        ".symver pthread_cond_clockwait, pthread_cond_clockwait@GLIBC_2.30\n"
        ".symver pthread_create, pthread_create@GLIBC_2.2.5\n"
        ".symver pthread_detach, pthread_detach@GLIBC_2.2.5\n"
        ".symver pthread_kill, pthread_kill@GLIBC_2.2.5\n");

#endif
