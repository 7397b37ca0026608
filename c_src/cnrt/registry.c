/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "runtime.h"

enum { ALIGNMENT = 64, FIRST_CAPACITY = 16 };

/* Addresses are kept inverted: a leak checker that looks for pointers does not find them here, and
   reports memory of the device that a program forgot to free like any other. */
struct entry {
  uintptr_t inverted;
  size_t bytes;
  enum cnrt_kind kind;
};

/* Sorted by address; guarded by the mutex; freed when the last object is. */
static struct {
  struct entry *entries;
  size_t count;
  size_t capacity;
} registry;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static void lock_mutex(void) { pthread_mutex_lock(&mutex); }
static void unlock_mutex(void) { pthread_mutex_unlock(&mutex); }

/* A child must not inherit a lock that a thread of its parent holds. */
static void register_fork_handlers(void) { pthread_atfork(lock_mutex, unlock_mutex, unlock_mutex); }

void cnrt_lock(void) {
  pthread_once(&fork_once, register_fork_handlers);
  lock_mutex();
}

void cnrt_unlock(void) { unlock_mutex(); }

static uintptr_t address_of(const struct entry *entry) { return ~entry->inverted; }

/* The number of entries at or below an address. */
static size_t count_up_to(uintptr_t address) {
  size_t low = 0, high = registry.count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (address_of(&registry.entries[middle]) <= address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

static struct entry *find(const void *object, enum cnrt_kind kind) {
  const size_t position = count_up_to((uintptr_t)object);
  if (position == 0) return NULL;
  struct entry *entry = &registry.entries[position - 1];
  return address_of(entry) == (uintptr_t)object && entry->kind == kind ? entry : NULL;
}

static bool reserve_one(void) {
  if (registry.count < registry.capacity) return true;
  const size_t capacity = registry.capacity == 0 ? FIRST_CAPACITY : 2 * registry.capacity;
  struct entry *entries = realloc(registry.entries, capacity * sizeof(*entries));
  if (entries == NULL) return false;
  registry.entries = entries;
  registry.capacity = capacity;
  return true;
}

static void insert(const void *object, size_t bytes, enum cnrt_kind kind) {
  const size_t position = count_up_to((uintptr_t)object);
  struct entry *entry = registry.entries + position;
  memmove(entry + 1, entry, (registry.count - position) * sizeof(*entry));
  *entry = (struct entry){~(uintptr_t)object, bytes, kind};
  registry.count++;
}

static void erase(struct entry *entry) {
  const size_t behind = registry.count - 1 - (size_t)(entry - registry.entries);
  memmove(entry, entry + 1, behind * sizeof(*entry));
  registry.count--;
  if (registry.count == 0) {
    free(registry.entries);
    registry.entries = NULL;
    registry.capacity = 0;
  }
}

cnrtRet_t cnrt_new(void **object, size_t bytes, enum cnrt_kind kind) {
  if (object == NULL || bytes > PTRDIFF_MAX) return cnrt_result(cnrtErrorArgsInvalid);
  if (bytes > cnrt_total_memory()) return cnrt_result(cnrtErrorNoMem);
  void *made;
  if (posix_memalign(&made, ALIGNMENT, bytes > 0 ? bytes : 1) != 0) {
    return cnrt_result(cnrtErrorNoMem);
  }
  cnrt_lock();
  const bool registered = reserve_one();
  if (registered) insert(made, bytes, kind);
  cnrt_unlock();
  if (!registered) {
    free(made);
    return cnrt_result(cnrtErrorNoMem);
  }
  *object = made;
  return cnrtSuccess;
}

cnrtRet_t cnrt_delete(void *object, enum cnrt_kind kind) {
  cnrt_lock();
  struct entry *entry = find(object, kind);
  if (entry != NULL) erase(entry);
  cnrt_unlock();
  if (entry == NULL) return cnrt_result(cnrtErrorArgsInvalid);
  free(object);
  return cnrtSuccess;
}

bool cnrt_alive_locked(const void *object, enum cnrt_kind kind) {
  return find(object, kind) != NULL;
}

bool cnrt_alive(const void *object, enum cnrt_kind kind) {
  cnrt_lock();
  const bool alive = cnrt_alive_locked(object, kind);
  cnrt_unlock();
  return alive;
}

/* Objects do not overlap: going back from the end of the area, the first device allocation that
   is met decides, and an object that ends in front of the area ends the search. */
static enum cnrt_place place_locked(uintptr_t begin, size_t bytes) {
  for (size_t i = count_up_to(begin + (bytes - 1)); i > 0; i--) {
    const struct entry *entry = &registry.entries[i - 1];
    const uintptr_t address = address_of(entry);
    const bool reaches = address >= begin || begin - address < entry->bytes;
    if (!reaches) return CNRT_OUTSIDE;
    if (entry->kind != CNRT_DEVICE_MEMORY) continue;
    const bool inside = address <= begin && bytes <= entry->bytes - (begin - address);
    return inside ? CNRT_INSIDE : CNRT_ACROSS;
  }
  return CNRT_OUTSIDE;
}

enum cnrt_place cnrt_place(const void *area, size_t bytes) {
  const uintptr_t begin = (uintptr_t)area;
  if (bytes - 1 > UINTPTR_MAX - begin) return CNRT_ACROSS;
  cnrt_lock();
  const enum cnrt_place place = place_locked(begin, bytes);
  cnrt_unlock();
  return place;
}
