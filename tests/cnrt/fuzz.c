/* SPDX-License-Identifier: Apache-2.0 */
/* The host runtime: memory, queues and notifiers come and go, are used and are misused, beside a
   model that knows which are alive. */
#include <string.h>

#include "cn_api.h"
#include "cnrt.h"
#include "input.h"

enum { OBJECTS = 6, STEPS = 64, MOST_BYTES = 300, HOST_BYTES = 512 };

struct area {
  unsigned char *memory;
  size_t bytes;
  unsigned char content[MOST_BYTES];
};

static struct area device[OBJECTS], host[OBJECTS];
static cnrtQueue_t queues[OBJECTS];
static cnrtNotifier_t notifiers[OBJECTS];

static bool placed[OBJECTS];

/* One that was alive once, or never: freed memory may be given again, so only the model knows. */
static void allocate(struct area *areas, int at, size_t bytes,
                     cnrtRet_t (*allocator)(void **, size_t)) {
  struct area *area = &areas[at];
  if (area->memory != NULL) return;
  void *memory = NULL;
  FUZZ_CHECK(allocator(&memory, bytes) == cnrtSuccess && memory != NULL);
  FUZZ_CHECK((uintptr_t)memory % 64 == 0 || bytes == 0);
  area->memory = memory;
  area->bytes = bytes;
  memset(memory, at, bytes);
  memset(area->content, at, bytes);
}

static void release(struct area *area, bool wrong, cnrtRet_t (*liberator)(void *),
                    cnrtRet_t (*other)(void *)) {
  if (area->memory == NULL) {
    FUZZ_CHECK(liberator(NULL) == cnrtErrorArgsInvalid);
    return;
  }
  if (wrong) {
    FUZZ_CHECK(other(area->memory) == cnrtErrorArgsInvalid);
    FUZZ_CHECK(liberator(area->memory + 1) == cnrtErrorArgsInvalid);
  }
  FUZZ_CHECK(liberator(area->memory) == cnrtSuccess);
  area->memory = NULL;
}

static const struct area *area_around(const unsigned char *at, size_t bytes, bool *touched) {
  for (int i = 0; i < OBJECTS; i++) {
    const struct area *area = &device[i];
    if (area->memory == NULL || area->bytes == 0) continue;
    if (at >= area->memory && at + bytes <= area->memory + area->bytes) return area;
    *touched |= at < area->memory + area->bytes && at + bytes > area->memory;
  }
  return NULL;
}

/* Between any two of device memory and memory of the program, in any direction. */
static void copy(struct fuzz_input *in) {
  static unsigned char program[HOST_BYTES], before[HOST_BYTES];
  unsigned char *ends[2];
  const size_t bytes = (size_t)fuzz_extent(in, MOST_BYTES);
  for (int i = 0; i < 2; i++) {
    const struct area *area = &device[fuzz_range(in, 0, OBJECTS - 1)];
    const int offset = fuzz_range(in, 0, 64);
    const bool inside = fuzz_range(in, 0, 1) && area->memory != NULL;
    ends[i] = (inside ? area->memory : program) + offset;
  }
  const int direction = fuzz_range(in, -1, 6);
  bool places[2], across = false;
  for (int i = 0; i < 2; i++) places[i] = area_around(ends[i], bytes, &across) != NULL;
  const bool of_device[2] = {places[0], places[1]};
  static const int wanted[4][2] = {{1, 0}, {1, 1}, {0, 1}, {0, 0}}; /* dst, src */
  bool valid = direction >= 0 && direction <= 5 && !across;
  for (int i = 0; i < 2; i++) {
    const bool in_program = ends[i] >= program && ends[i] < program + HOST_BYTES;
    if (!of_device[i] && !in_program) valid = false;
    if (direction < 4)
      valid = valid && of_device[i] == (wanted[direction < 0 ? 0 : direction][i] == 1);
    if (direction == 4) valid = valid && of_device[i];
  }
  if (bytes == 0) valid = direction >= 0 && direction <= 5;
  /* What lies behind an area belongs to nobody that the model knows. */
  bool known = true;
  for (int i = 0; i < 2; i++) {
    const bool in_program = ends[i] >= program && ends[i] + bytes <= program + HOST_BYTES;
    known = known && (of_device[i] || in_program || across || bytes == 0);
  }
  if (!known) return;
  memcpy(before, program, sizeof(before));
  const cnrtRet_t result = cnrtMemcpy(ends[0], ends[1], bytes, (cnrtMemTransDir_t)direction);
  FUZZ_CHECK((result == cnrtSuccess) == valid);
  if (!valid) FUZZ_CHECK(memcmp(before, program, sizeof(before)) == 0);
  for (int i = 0; i < OBJECTS; i++) {
    struct area *area = &device[i];
    if (area->memory == NULL) continue;
    const bool written =
        valid && bytes > 0 && ends[0] >= area->memory && ends[0] < area->memory + area->bytes;
    if (!written) FUZZ_CHECK(memcmp(area->content, area->memory, area->bytes) == 0);
    if (written) memcpy(area->content, area->memory, area->bytes);
  }
}

static void fill(struct fuzz_input *in) {
  struct area *area = &device[fuzz_range(in, 0, OBJECTS - 1)];
  const size_t offset = (size_t)fuzz_range(in, 0, 64), count = (size_t)fuzz_extent(in, MOST_BYTES);
  const bool wide = fuzz_range(in, 0, 1) != 0;
  const uint32_t value = fuzz_word(in);
  if (area->memory == NULL || area->bytes == 0) return;
  const size_t bytes = wide ? 4 * count : count;
  bool valid = offset + bytes <= area->bytes || count == 0;
  if (wide && offset % 4 != 0) valid = false;
  const cnrtRet_t result = wide ? cnrtMemsetD32(area->memory + offset, value, count)
                                : cnrtMemset(area->memory + offset, (int)value, count);
  FUZZ_CHECK((result == cnrtSuccess) == valid);
  for (size_t i = 0; valid && i < bytes; i++) {
    area->content[offset + i] = (unsigned char)(wide ? value >> 8 * (i % 4) : value);
  }
  FUZZ_CHECK(memcmp(area->content, area->memory, area->bytes) == 0);
}

static void use_queue(int at, uint32_t what) {
  const bool alive = queues[at] != NULL;
  if (!alive && what % 2 == 0) {
    FUZZ_CHECK(cnrtQueueCreate(&queues[at]) == cnrtSuccess);
    return;
  }
  FUZZ_CHECK(cnrtQueueSync(queues[at]) == cnrtSuccess); /* NULL is the default one */
  if (what % 4 != 3) return;
  FUZZ_CHECK((cnrtQueueDestroy(queues[at]) == cnrtSuccess) == alive);
  queues[at] = NULL;
}

static void use_notifier(int at, int other, uint32_t what) {
  const bool alive = notifiers[at] != NULL;
  if (!alive && what % 2 == 0) {
    FUZZ_CHECK(cnrtNotifierCreate(&notifiers[at]) == cnrtSuccess);
    placed[at] = false;
    return;
  }
  float time = -1;
  FUZZ_CHECK((cnrtPlaceNotifier(notifiers[at], queues[other]) == cnrtSuccess) == alive);
  placed[at] |= alive;
  const bool both = alive && notifiers[other] != NULL && placed[at] && placed[other];
  FUZZ_CHECK((cnrtNotifierDuration(notifiers[other], notifiers[at], &time) == cnrtSuccess) == both);
  FUZZ_CHECK(!both || time >= 0);
  if (what % 4 != 3) return;
  FUZZ_CHECK((cnrtNotifierDestroy(notifiers[at]) == cnrtSuccess) == alive);
  notifiers[at] = NULL;
}

static void cast(struct fuzz_input *in) {
  float from[8], back[8];
  uint16_t half[8];
  for (int i = 0; i < 8; i++) from[i] = fuzz_float(in);
  FUZZ_CHECK(cnrtCastDataType(from, CNRT_FLOAT32, half, CNRT_FLOAT16, 8, NULL) == cnrtSuccess);
  FUZZ_CHECK(cnrtCastDataType(half, CNRT_FLOAT16, back, CNRT_FLOAT32, 8, NULL) == cnrtSuccess);
  for (int i = 0; i < 8; i++) {
    uint16_t again;
    FUZZ_CHECK(cnrtConvertFloatToHalf(&again, back[i]) == cnrtSuccess && again == half[i]);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fuzz_input in = fuzz_input_of(data, size);
  for (int step = 0; step < STEPS && in.left > 0; step++) {
    const uint32_t what = fuzz_byte(&in);
    const int at = fuzz_range(&in, 0, OBJECTS - 1);
    switch (what % 8) {
      case 0:
        allocate(device, at, (size_t)fuzz_extent(&in, MOST_BYTES), cnrtMalloc);
        break;
      case 1:
        allocate(host, at, (size_t)fuzz_extent(&in, MOST_BYTES), cnrtHostMalloc);
        break;
      case 2:
        release(&device[at], what & 16, cnrtFree, cnrtFreeHost);
        break;
      case 3:
        release(&host[at], what & 16, cnrtFreeHost, cnrtFree);
        break;
      case 4:
        copy(&in);
        break;
      case 5:
        fill(&in);
        break;
      case 6:
        use_queue(at, what >> 3);
        use_notifier(at, (int)(what >> 5) % OBJECTS, what >> 3);
        break;
      default:
        cast(&in);
    }
  }
  for (int i = 0; i < OBJECTS; i++) {
    if (device[i].memory != NULL) release(&device[i], false, cnrtFree, cnrtFreeHost);
    if (host[i].memory != NULL) release(&host[i], false, cnrtFreeHost, cnrtFree);
    if (queues[i] != NULL) FUZZ_CHECK(cnrtQueueDestroy(queues[i]) == cnrtSuccess);
    if (notifiers[i] != NULL) FUZZ_CHECK(cnrtNotifierDestroy(notifiers[i]) == cnrtSuccess);
    queues[i] = NULL;
    notifiers[i] = NULL;
  }
  return 0;
}
