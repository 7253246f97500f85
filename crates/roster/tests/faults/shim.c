/* A disk that fails on demand, for the database files of one process.
 *
 * Loaded before libc, it stands in front of the calls by which those files are read, written and
 * synced.
 * Files in the directory that FAULTS_DIRECTORY names switch its faults on while they exist:
 *
 *   fail-sync           syncs fail with EIO
 *   fail-sync-database  syncs of roster.db fail with EIO
 *   fail-write          writes fail with EIO
 *   fail-read           reads of those pages of roster.db whose numbers the switch contains fail
 *                       with EIO
 *   fail-read-log       reads of the log fail with EIO
 *   full                writes that would make a file longer fail with ENOSPC; of the log, only
 *                       what was synced counts, so that a commit that was cut short leaves no room
 *
 * A failed sync of the log also takes away what was appended since the last one that succeeded:
 * a disk may do so, and what was answered before must not need it.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum file { OTHER, DATABASE, LOG, INDEX };

/* How long the log was when it was last synced; -1: not yet. */
static _Atomic off_t log_synced = -1;

static bool ends_with(const char *path, const char *end)
{
    size_t path_length = strlen(path), end_length = strlen(end);
    return path_length >= end_length && strcmp(path + path_length - end_length, end) == 0;
}

static enum file file_of(int fd)
{
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0)
        return OTHER;
    path[length] = '\0';
    if (ends_with(path, "/roster.db"))
        return DATABASE;
    if (ends_with(path, "/roster.db-wal"))
        return LOG;
    return ends_with(path, "/roster.db-shm") ? INDEX : OTHER;
}

/* The path of a switch; false if there are none. */
static bool path_of(const char *fault, char path[PATH_MAX])
{
    const char *directory = getenv("FAULTS_DIRECTORY");
    if (directory != NULL)
        snprintf(path, PATH_MAX, "%s/%s", directory, fault);
    return directory != NULL;
}

static bool is_on(const char *fault)
{
    char path[PATH_MAX];
    return path_of(fault, path) && access(path, F_OK) == 0;
}

static bool is_unreadable(off_t offset, size_t count)
{
    const off_t page_bytes = 4096;
    char path[PATH_MAX];
    FILE *pages = path_of("fail-read", path) ? fopen(path, "r") : NULL;
    if (pages == NULL)
        return false;
    bool fails = false;
    for (long page; fscanf(pages, "%ld", &page) == 1;) {
        off_t start = (page - 1) * page_bytes;
        fails |= offset < start + page_bytes && start < offset + (off_t)count;
    }
    fclose(pages);
    return fails;
}

static off_t length_of(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 ? status.st_size : -1;
}

static int sync_file(int fd, long call)
{
    enum file file = file_of(fd);
    bool fails = file != OTHER
        && (is_on("fail-sync") || (file == DATABASE && is_on("fail-sync-database")));
    if (fails) {
        if (file == LOG && log_synced >= 0 && syscall(SYS_ftruncate, fd, log_synced) != 0)
            abort();
        errno = EIO;
        return -1;
    }
    off_t length = file == LOG ? length_of(fd) : -1;
    int result = (int)syscall(call, fd);
    if (file == LOG && result == 0)
        log_synced = length;
    return result;
}

int fsync(int fd)
{
    return sync_file(fd, SYS_fsync);
}

int fdatasync(int fd)
{
    return sync_file(fd, SYS_fdatasync);
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t offset)
{
    enum file file = file_of(fd);
    if (file != OTHER && file != INDEX && is_on("fail-write")) {
        errno = EIO;
        return -1;
    }
    if (file != OTHER && is_on("full")) {
        off_t length = length_of(fd);
        if (file == LOG && log_synced >= 0 && log_synced < length)
            length = log_synced;
        if (offset >= length) {
            errno = ENOSPC;
            return -1;
        }
        if (offset + (off_t)count > length)
            count = (size_t)(length - offset);
    }
    return syscall(SYS_pwrite64, fd, bytes, count, offset);
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset)
{
    return pwrite64(fd, bytes, count, offset);
}

ssize_t pread64(int fd, void *bytes, size_t count, off64_t offset)
{
    enum file file = file_of(fd);
    if ((file == LOG && is_on("fail-read-log"))
        || (file == DATABASE && is_unreadable(offset, count))) {
        errno = EIO;
        return -1;
    }
    return syscall(SYS_pread64, fd, bytes, count, offset);
}

ssize_t pread(int fd, void *bytes, size_t count, off_t offset)
{
    return pread64(fd, bytes, count, offset);
}
