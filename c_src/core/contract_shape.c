/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/contract.h"

/* Shapes: see CHECK_SHAPE in contract.h. */

/* A product read from a shape word: the value of what is known, and the letter that is not. */
struct product {
  int64_t known;
  bool overflow; /* `known` does not fit into 64 bits: no extent equals it */
  char unbound;  /* 0 if everything is known */
};

static void multiply(struct product *product, int64_t factor) {
  if (__builtin_mul_overflow(product->known, factor, &product->known)) product->overflow = true;
}

static struct product read_product(const struct mluop_call *call, const char *word, size_t length) {
  struct product product = {.known = 1};
  const char *end = word + length;
  while (word < end) {
    const char *stop = memchr(word, '*', (size_t)(end - word));
    const size_t size = (size_t)((stop != NULL ? stop : end) - word);
    if (*word >= '0' && *word <= '9') {
      int64_t number = 0;
      for (size_t i = 0; i < size; i++) number = number * 10 + (word[i] - '0');
      multiply(&product, number);
    } else if (size == 1 && *word >= 'A' && *word <= 'Z') {
      const int letter = *word - 'A';
      if ((call->letters_bound >> letter & 1u) != 0) {
        multiply(&product, call->letters[letter]);
      } else {
        product.unbound = *word;
      }
    } else {
      const struct mluop_scalar *scalar = mluop_find_scalar(call, word, size);
      multiply(&product, scalar != NULL ? scalar->value : -1);
    }
    word += size + 1;
  }
  return product;
}

static mluOpStatus_t fail_extent(const struct mluop_call *call, const struct mluop_rule *rule,
                                 const struct mluop_tensor *tensor, int dim,
                                 const struct product *product, const char *word, size_t length) {
  char expected[48] = "another value";
  if (!product->overflow) {
    snprintf(expected, sizeof(expected), "%s%" PRId64,
             product->unbound != 0 ? "a multiple of " : "", product->known);
  }
  const bool plain = length == strspn(word, "0123456789");
  return mluop_fail(rule->status, call->api, "%s: dim %d is %" PRId64 ", expected %s%s%.*s%s",
                    tensor->name, dim, tensor->desc->dims[dim], expected, plain ? "" : " (",
                    plain ? 0 : (int)length, word, plain ? "" : ")");
}

bool mluop_check_shape(struct mluop_call *call, const struct mluop_rule *rule,
                       const struct mluop_tensor *tensor, mluOpStatus_t *status) {
  const char *word = rule->text;
  for (int dim = 0; *word != '\0'; dim++) {
    const size_t length = strcspn(word, " ");
    const struct product product = read_product(call, word, length);
    const int64_t extent = tensor->desc->dims[dim];
    bool fits = !product.overflow;
    if (fits && product.unbound == 0) {
      fits = extent == product.known;
    } else if (fits) {
      fits = product.known > 0 && extent % product.known == 0;
      if (fits) {
        call->letters[product.unbound - 'A'] = extent / product.known;
        call->letters_bound |= 1u << (product.unbound - 'A');
      }
    }
    if (!fits) {
      *status = fail_extent(call, rule, tensor, dim, &product, word, length);
      return false;
    }
    word += length;
    if (*word == ' ') word++;
  }
  return true;
}
