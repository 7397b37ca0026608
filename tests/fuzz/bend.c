/* SPDX-License-Identifier: Apache-2.0 */
/* Defects: ways to make a valid call wrong, or strange. Those of shapes come before tensors get
   their memory, so that a call which is accepted all the same has memory of its size. */
#include <limits.h>
#include <stdlib.h>

#include "fuzz.h"

enum defect {
  NO_DEFECT,
  OTHER_INT,
  OTHER_FLOAT,
  OTHER_DIM,
  OTHER_DTYPE,
  OTHER_LAYOUT,
  OTHER_RANK,
  STRIDES,
  HUGE_DIMS,
  NO_TENSOR,
  NO_OBJECT,
  /* Of pointers: they come after memory. */
  NO_DESC,
  NO_DATA,
  MISALIGNED,
  OVERLAP,
  ONCHIP,
  DEFECT_COUNT
};

struct chosen {
  enum defect defect;
  uint32_t where, what;
};

static struct chosen chosen[2];

static int64_t count_of(const struct fuzz_tensor *t) {
  int64_t count = 1;
  for (int i = 0; i < t->rank; i++) {
    if (__builtin_mul_overflow(count, t->dims[i], &count)) return INT64_MAX;
  }
  return count;
}

/* A tensor of a size for which there is no memory must be one that is always refused. */
static bool can_be(const struct fuzz_tensor *t) {
  const int64_t count = count_of(t);
  return count <= FUZZ_ARENA_BYTES / 8 || count >= INT64_C(1) << 31;
}

static void bend_dim(struct fuzz_tensor *t, const struct chosen *c) {
  static const int64_t edges[] = {0, 1, 2, 3, 5, 7, 65536, INT_MAX, INT64_MAX};
  if (t->rank == 0) return;
  int64_t *dim = &t->dims[c->what % (uint32_t)t->rank];
  const int64_t was = *dim;
  const uint32_t how = c->what / 8 % 16;
  *dim = how < 4 ? was + 1 : how < 7 ? was - 1 : edges[how - 7];
  if (*dim < 0 || !can_be(t)) *dim = was;
}

static void bend_rank(struct fuzz_tensor *t, const struct chosen *c) {
  if (c->what % 2 == 0 && t->rank > 0) {
    t->rank--;
  } else if (t->rank < MLUOP_DIM_MAX) {
    t->dims[t->rank++] = 1 + c->what / 2 % 2;
  }
  if (!can_be(t)) t->rank = 0;
}

/* Packed but for one stride that is too large. */
static void bend_strides(struct fuzz_tensor *t, const struct chosen *c) {
  if (t->rank == 0 || count_of(t) > FUZZ_ARENA_BYTES / 16) return;
  int64_t packed = 1;
  for (int i = t->rank - 1; i >= 0; i--) {
    if (i == (int)(c->what % (uint32_t)t->rank)) packed += 1 + c->what / 8 % 2;
    t->strides[i] = packed;
    packed *= t->dims[i] > 0 ? t->dims[i] : 1;
  }
  t->strided = packed <= FUZZ_ARENA_BYTES / 8;
}

static void bend_tensor(struct fuzz_tensor *t, const struct chosen *c) {
  switch (c->defect) {
    case OTHER_DIM:
      bend_dim(t, c);
      return;
    case OTHER_DTYPE:
      t->dtype = (mluOpDataType_t)(1 + c->what % 17);
      if (t->dtype == 10) t->dtype = MLUOP_DTYPE_DOUBLE;
      return;
    case OTHER_LAYOUT:
      t->layout = (mluOpTensorLayout_t)(c->what % 11);
      return;
    case OTHER_RANK:
      bend_rank(t, c);
      return;
    case STRIDES:
      bend_strides(t, c);
      return;
    case HUGE_DIMS:
      for (int i = 0; i < t->rank; i++) t->dims[i] = i < 2 ? 65536 : t->dims[i] | 1;
      if (t->rank == 1) t->dims[0] = INT64_C(1) << 31;
      return;
    case NO_TENSOR:
      t->absent = !t->absent && c->what % 2 == 0;
      return;
    default:
      return;
  }
}

static void bend(struct fuzz *f, const struct chosen *c) {
  if (c->defect == OTHER_INT && f->p_count > 0) {
    struct fuzz_input what = f->in;
    f->p[c->where % (uint32_t)f->p_count] =
        c->what < 128 ? f->p[c->where % (uint32_t)f->p_count] + (int)(c->what % 5) - 2
                      : fuzz_int(&what);
  } else if (c->defect == OTHER_FLOAT && f->r_count > 0) {
    const uint8_t byte = (uint8_t)c->what;
    struct fuzz_input what = {&byte, 1, 0};
    f->r[c->where % (uint32_t)f->r_count] = fuzz_float(&what);
  } else if (c->defect == NO_OBJECT) {
    f->no_object = true;
  } else if (f->count > 0) {
    bend_tensor(&f->t[c->where % (uint32_t)f->count], c);
  }
}

int fuzz_bend(struct fuzz *f, struct fuzz_input *in) {
  const uint32_t number = fuzz_byte(in);
  const int wanted = number < 205 ? 0 : number < 240 ? 1 : 2;
  for (int i = 0; i < 2; i++) {
    const enum defect defect = (enum defect)(1 + fuzz_byte(in) % (DEFECT_COUNT - 1));
    const uint32_t where = fuzz_byte(in), what = fuzz_byte(in);
    chosen[i] = (struct chosen){i < wanted ? defect : NO_DEFECT, where, what};
    if (i < wanted) bend(f, &chosen[i]);
  }
  return wanted;
}

static void bend_pointer(struct fuzz *f, const struct chosen *c) {
  struct fuzz_tensor *t = &f->t[c->where % (uint32_t)f->count];
  const struct fuzz_tensor *other = &f->t[c->what % (uint32_t)f->count];
  switch (c->defect) {
    case NO_DESC:
      t->desc = NULL;
      return;
    case NO_DATA:
      t->data = NULL;
      return;
    case MISALIGNED:
      if ((uintptr_t)t->data % 2 == 0) t->data = (char *)t->data + 1 + 2 * (c->what % 2);
      return;
    case OVERLAP:
      if (t == other || t->held == 0 || other->held == 0) return;
      if (t->role != FUZZ_OUTPUT && other->role != FUZZ_OUTPUT) return;
      t->data = other->data;
      return;
    case ONCHIP:
      if (t->desc != NULL)
        mluOpSetTensorDescriptorOnchipDataType(t->desc, (mluOpDataType_t)(c->what % 10));
      return;
    default:
      return;
  }
}

void fuzz_bend_pointers(struct fuzz *f) {
  for (int i = 0; i < 2 && f->count > 0; i++) bend_pointer(f, &chosen[i]);
  /* Two defects may take all of a tensor away, which a plain loop would still get. */
  for (int i = 0; i < f->count; i++)
    f->no_plain |= !f->t[i].absent && f->t[i].desc == NULL && f->t[i].data == NULL;
}
