/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "internal.h"

/* Used where the system does not tell the size of its last-level cache. */
static const int64_t usual_cache_bytes = INT64_C(32) << 20;

/* Of a last-level cache that many cores share, more than this is seldom ours. */
static const int64_t most_cache_bytes = INT64_C(96) << 20;

/* Of the cache that this CPU reaches. (sysconf counts all of a socket, which may have many.) Read
   once, since opening the file takes longer than all else in mluOpCreate. */
static int64_t cache_bytes;
static pthread_once_t cache_once = PTHREAD_ONCE_INIT;

static void read_cache_bytes(void) {
  long long kilobytes = 0;
  FILE *file = fopen("/sys/devices/system/cpu/cpu0/cache/index3/size", "re");
  if (file != NULL) {
    if (fscanf(file, "%lldK", &kilobytes) != 1) kilobytes = 0;
    fclose(file);
  }
  cache_bytes = kilobytes > 0 ? (int64_t)kilobytes << 10 : usual_cache_bytes;
}

/* Digits alone: no sign, no space, no unit. */
static bool read_bytes(const char *text, int64_t *bytes) {
  if (!isdigit((unsigned char)*text)) return false;
  char *end;
  errno = 0;
  const long long value = strtoll(text, &end, 10);
  *bytes = value;
  return *end == '\0' && errno == 0;
}

mluOpStatus_t mluop_choose_cache_share(const char *api, int64_t *share) {
  const char *wanted = getenv("MLUOP_CPU_CACHE_BYTES");
  int64_t bytes;
  if (wanted == NULL || *wanted == '\0') {
    pthread_once(&cache_once, read_cache_bytes);
    bytes = cache_bytes;
  } else if (!read_bytes(wanted, &bytes)) {
    return mluop_fail(MLUOP_STATUS_BAD_PARAM, api,
                      "MLUOP_CPU_CACHE_BYTES is \"%s\", expected a number of bytes, 0 or more",
                      wanted);
  }
  *share = mluop_min(bytes, most_cache_bytes) / 2;
  return MLUOP_STATUS_SUCCESS;
}

bool mluop_exceeds_caches(mluOpHandle_t handle, int64_t bytes) {
  return bytes > handle->cache_share;
}
