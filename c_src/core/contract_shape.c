/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/contract.h"

/* Shapes: see CHECK_SHAPE in contract.h. */

/* A product read from a shape word: the value of what is known, the letter that is not, and where
   the word ends. */
struct shape_word {
  int64_t known;
  int64_t divisor; /* in front of '|', or 1 */
  bool overflow;   /* a product does not fit into 64 bits: no extent equals it */
  char letter;     /* the one that is not bound; else the last one; 0 if the word has none */
  bool is_bound;   /* whether the letter is part of `known` */
  const char *bar; /* the '|', or NULL */
  const char *end;
};

static void multiply(struct shape_word *product, int64_t factor) {
  if (__builtin_mul_overflow(product->known, factor, &product->known)) product->overflow = true;
}

static bool ends_factor(char c) { return c == '\0' || c == ' ' || c == '*' || c == '|'; }

/* Multiplies the factor at `word` into the product, and returns where it ends. */
static const char *read_factor(const struct mluop_call *call, const char *word,
                               struct shape_word *product) {
  const char *end = word + 1;
  if (*word >= '0' && *word <= '9') {
    int64_t number = *word - '0';
    for (; !ends_factor(*end); end++) number = number * 10 + (*end - '0');
    multiply(product, number);
  } else if (ends_factor(*end) && *word >= 'A' && *word <= 'Z') {
    const bool is_bound = (call->letters_bound >> (*word - 'A') & 1u) != 0;
    if (product->letter == 0 || product->is_bound) {
      product->letter = *word;
      product->is_bound = is_bound;
    }
    if (is_bound) multiply(product, mluop_extent(call, *word));
  } else {
    int64_t value = -1;
    const char *behind = mluop_find_integer(call, word, &value);
    multiply(product, value);
    if (behind != NULL) return behind;
    while (!ends_factor(*end)) end++;
  }
  return end;
}

static struct shape_word read_product(const struct mluop_call *call, const char *word) {
  struct shape_word product = {.known = 1, .divisor = 1};
  do {
    product.end = read_factor(call, word, &product);
    if (*product.end == '|') {
      product.bar = product.end;
      product.divisor = product.known;
      product.known = 1;
    }
    word = product.end + 1;
  } while (*product.end == '*' || *product.end == '|');
  return product;
}

/* ---------------------------------------------------------------------------------- messages */

/* A message that is put together; what does not fit is cut off. */
struct text {
  char chars[384];
  size_t used;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *text, const char *format, ...) {
  va_list values;
  va_start(values, format);
  const size_t room = sizeof(text->chars) - text->used;
  const int length = vsnprintf(text->chars + text->used, room, format, values);
  va_end(values);
  if (length > 0) text->used += (size_t)length < room ? (size_t)length : room - 1;
}

static void add_layout(struct text *text, mluOpTensorLayout_t layout) {
  if (layout == MLUOP_LAYOUT_NHWC) add(text, ", read as [N,H,W,C]");
  if (layout == MLUOP_LAYOUT_NCHW) add(text, ", read as [N,C,H,W]");
}

/* "; input is [1,2,3,4], read as [N,H,W,C]: N=1, H=2, W=3, C=4": what was taken from a tensor. */
static void add_tensor(struct text *text, const struct mluop_call *call, int tensor) {
  const struct mluOpTensorStruct *desc = call->tensors[tensor].desc;
  add(text, "; %s is [", call->tensors[tensor].name);
  for (int i = 0; i < desc->dim_nb; i++) add(text, "%s%" PRId64, i > 0 ? "," : "", desc->dims[i]);
  add(text, "]");
  const char *before = ": ";
  for (const char *letter = "NHWCABDEFGIJKLMOPQRSTUVXYZ"; *letter != '\0'; letter++) {
    if (call->letters_from[*letter - 'A'] != tensor + 1) continue;
    if (*before == ':' && strchr("NHWC", *letter) != NULL) add_layout(text, desc->layout);
    add(text, "%s%c=%" PRId64, before, *letter, mluop_extent(call, *letter));
    before = ", ";
  }
}

/* The extent that was expected, then the shape of the tensor and of the one that it must fit. */
static mluOpStatus_t fail_extent(const struct mluop_call *call, const struct mluop_rule *rule,
                                 int tensor, int dim, const struct shape_word *product,
                                 const char *word) {
  struct text text = {.used = 0};
  const int64_t extent = call->tensors[tensor].desc->dims[dim];
  const bool is_bound = product->letter == 0 || product->is_bound;
  const bool compared = is_bound && extent != product->known;
  const char *shown = product->bar != NULL && compared ? product->bar + 1 : word;
  const char *end = product->bar != NULL && !compared ? product->bar : product->end;
  const int64_t factor = product->bar != NULL ? product->divisor : product->known;
  const int length = (int)(end - shown);
  add(&text, "%s: dim %d is %" PRId64 ", expected ", call->tensors[tensor].name, dim, extent);
  if (product->overflow) {
    add(&text, "another value");
  } else if (compared) {
    add(&text, "%" PRId64, product->known);
  } else {
    add(&text, "a multiple of %" PRId64, factor);
  }
  if ((size_t)length != strspn(shown, "0123456789")) add(&text, " (%.*s)", length, shown);
  add_tensor(&text, call, tensor);
  const int source = product->letter != 0 ? call->letters_from[product->letter - 'A'] - 1 : tensor;
  if (source >= 0 && source != tensor) add_tensor(&text, call, source);
  return mluop_fail(rule->status, call->api, "%s", text.chars);
}

/* ------------------------------------------------------------------------------------- check */

/* Division takes long, and most divisors are 1. */
static bool divides(int64_t divisor, int64_t extent) {
  return divisor == 1 || (divisor > 0 && extent % divisor == 0);
}

static void bind(struct mluop_call *call, int tensor, int letter, int64_t value) {
  call->letters[letter] = value;
  call->letters_bound |= 1u << letter;
  call->letters_from[letter] = (int8_t)(tensor + 1);
}

/* Compares an extent with a product, or takes the letter from it that is not bound yet. */
static bool fits(struct mluop_call *call, int tensor, const struct shape_word *product,
                 int64_t extent) {
  if (product->overflow || !divides(product->divisor, extent)) return false;
  if (product->letter == 0 || product->is_bound) return extent == product->known;
  if (!divides(product->known, extent)) return false;
  bind(call, tensor, product->letter - 'A', extent / product->known);
  return true;
}

/* The same for a word that is one letter, as most are: true only then. */
static bool fits_letter(struct mluop_call *call, int tensor, const char *word, int64_t extent) {
  if (*word < 'A' || *word > 'Z' || (word[1] != ' ' && word[1] != '\0')) return false;
  const int letter = *word - 'A';
  if ((call->letters_bound >> letter & 1u) == 0) bind(call, tensor, letter, extent);
  return call->letters[letter] == extent;
}

static bool check_shape(struct mluop_call *call, const struct mluop_rule *rule, int index,
                        mluOpStatus_t *status) {
  const int64_t *dims = call->tensors[index].desc->dims;
  const char *word = rule->text;
  for (int dim = 0; *word != '\0'; dim++) {
    const char *end = word + 1;
    if (!fits_letter(call, index, word, dims[dim])) {
      const struct shape_word product = read_product(call, word);
      if (!fits(call, index, &product, dims[dim])) {
        *status = fail_extent(call, rule, index, dim, &product, word);
        return false;
      }
      end = product.end;
    }
    word = end + (*end == ' ');
  }
  return true;
}

static bool same_extents(const struct mluOpTensorStruct *one,
                         const struct mluOpTensorStruct *other) {
  return one->dim_nb == other->dim_nb &&
         memcmp(one->dims, other->dims, (size_t)one->dim_nb * sizeof(*one->dims)) == 0;
}

bool mluop_check_shapes(struct mluop_call *call, const struct mluop_rule *rule, unsigned tensors,
                        mluOpStatus_t *status) {
  const struct mluOpTensorStruct *accepted = NULL;
  for (unsigned left = tensors; left != 0; left &= left - 1) {
    const int index = __builtin_ctz(left);
    const struct mluOpTensorStruct *desc = call->tensors[index].desc;
    /* What has fitted fits again: its text need not be read again. */
    if (accepted != NULL && same_extents(accepted, desc)) continue;
    if (!check_shape(call, rule, index, status)) return false;
    accepted = desc;
  }
  return true;
}
