// emscripten's C library declares Linux's fallocate and does not have it; POSIX's asks file systems
// the same.
#pragma once

#include_next <fcntl.h>

#include <errno.h>

extern "C" inline int fallocate(int file, int, off_t offset, off_t bytes) {
    const int error = posix_fallocate(file, offset, bytes);
    if (error == 0) return 0;
    errno = error;
    return -1;
}
