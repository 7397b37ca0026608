/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/contract.h"

/* The scalars of a call, and the rules about them. */

struct mluop_scalar mluop_integers(const char *name, const int *array, int count) {
  struct mluop_scalar scalar = {.name = name, .count = count};
  if (array != NULL) memcpy(scalar.as.array, array, (size_t)count * sizeof(*array));
  return scalar;
}

void mluop_add_scalars(struct mluop_call *call, const struct mluop_scalar *scalars, int count) {
  int at = 0;
  while (at < MLUOP_MAX_SCALARS && call->scalars[at].name != NULL) at++;
  for (int i = 0; i < count && scalars[i].name != NULL && at < MLUOP_MAX_SCALARS; i++) {
    call->scalars[at++] = scalars[i];
  }
}

static int64_t integer_at(const struct mluop_scalar *scalar, int64_t i) {
  return scalar->count > 1 ? scalar->as.array[i] : scalar->as.integer;
}

static bool ends_name(char c) { return c == '\0' || c == '[' || c == '*' || c == '|' || c == ' '; }

/* The scalar that `name` begins with, and what follows there. Most names differ in the first
   letter: comparing them in a loop is faster than by a function. */
static const struct mluop_scalar *find(const struct mluop_call *call, const char *name,
                                       const char **rest) {
  for (int i = 0; i < MLUOP_MAX_SCALARS && call->scalars[i].name != NULL; i++) {
    const char *own = call->scalars[i].name, *other = name;
    if (*own != *other) continue;
    while (*own != '\0' && *own == *other) own++, other++;
    if (*own != '\0' || !ends_name(*other)) continue;
    *rest = other;
    return &call->scalars[i];
  }
  return NULL;
}

const char *mluop_find_integer(const struct mluop_call *call, const char *name, int64_t *value) {
  const char *rest;
  const struct mluop_scalar *scalar = find(call, name, &rest);
  if (scalar == NULL) return NULL;
  const bool has_index = *rest == '[';
  const int index = has_index ? rest[1] - '0' : 0;
  if (index >= scalar->count) return NULL;
  *value = integer_at(scalar, index);
  return has_index ? rest + 3 : rest;
}

int64_t mluop_integer_of(const struct mluop_call *call, const char *name) {
  int64_t value = 0;
  mluop_find_integer(call, name, &value);
  return value;
}

const int *mluop_integers_of(const struct mluop_call *call, const char *name) {
  static const int none[MLUOP_MAX_NUMBERS];
  const char *rest;
  const struct mluop_scalar *scalar = find(call, name, &rest);
  return scalar != NULL ? scalar->as.array : none;
}

float mluop_real_of(const struct mluop_call *call, const char *name) {
  const char *rest;
  const struct mluop_scalar *scalar = find(call, name, &rest);
  return scalar != NULL ? scalar->as.real : 0;
}

/* ------------------------------------------------------------------------------------ rules */

enum { UNORDERED = 2 };

/* -1, 0 or 1 as a number is less than `limit`, equal to it or greater; UNORDERED for NaN. */
static int compare(const struct mluop_scalar *scalar, int i, int64_t limit) {
  if (scalar->is_real) {
    const double value = (double)scalar->as.real, other = (double)limit;
    return value != value ? UNORDERED : (value > other) - (value < other);
  }
  const int64_t value = integer_at(scalar, i);
  return (value > limit) - (value < limit);
}

/* Whether number `i` is as the rule says, and what that is in words. */
static bool holds(const struct mluop_rule *rule, const struct mluop_scalar *scalar, int i,
                  const char **expected) {
  const int order = compare(scalar, i, rule->value);
  switch (rule->check) {
    case CHECK_MIN:
      *expected = "at least ";
      return order == 0 || order == 1;
    case CHECK_MAX:
      *expected = "at most ";
      return order == 0 || order == -1;
    case CHECK_EQUAL:
      *expected = "";
      return order == 0;
    case CHECK_ODD:
      *expected = "an odd number";
      return integer_at(scalar, i) % 2 != 0;
    default: /* CHECK_NUMBER */
      *expected = "a number";
      return order != UNORDERED;
  }
}

static mluOpStatus_t fail_number(const struct mluop_call *call, const struct mluop_rule *rule,
                                 const struct mluop_scalar *scalar, int i, const char *expected) {
  char index[16] = "", value[32], limit[24] = "";
  if (scalar->count > 1) snprintf(index, sizeof(index), "[%d]", i);
  if (scalar->is_real) {
    snprintf(value, sizeof(value), "%g", (double)scalar->as.real);
  } else {
    snprintf(value, sizeof(value), "%" PRId64, integer_at(scalar, i));
  }
  if (rule->check != CHECK_ODD && rule->check != CHECK_NUMBER) {
    snprintf(limit, sizeof(limit), "%" PRId64, rule->value);
  }
  return mluop_fail(rule->status, call->api, "%s%s is %s, expected %s%s", rule->text, index, value,
                    expected, limit);
}

bool mluop_check_scalar(const struct mluop_call *call, const struct mluop_rule *rule,
                        mluOpStatus_t *status) {
  static const struct mluop_scalar zero = {.count = 1};
  const char *rest;
  const struct mluop_scalar *scalar = find(call, rule->text, &rest);
  if (scalar == NULL) scalar = &zero;
  for (int i = 0; i < scalar->count; i++) {
    const char *expected;
    if (holds(rule, scalar, i, &expected)) continue;
    *status = fail_number(call, rule, scalar, i, expected);
    return false;
  }
  return true;
}
