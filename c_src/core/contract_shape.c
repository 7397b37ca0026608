/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/contract.h"

/* Shapes: see CHECK_SHAPE in contract.h. */

/* A product read from a shape word: the value of what is known, the letter that is not, and where
   the word ends. */
struct product {
  int64_t known;
  bool overflow; /* `known` does not fit into 64 bits: no extent equals it */
  char unbound;  /* 0 if everything is known */
  const char *end;
};

static void multiply(struct product *product, int64_t factor) {
  if (__builtin_mul_overflow(product->known, factor, &product->known)) product->overflow = true;
}

static bool ends_factor(char c) { return c == '\0' || c == ' ' || c == '*'; }

/* Multiplies the factor at `word` into the product, and returns where it ends. */
static const char *read_factor(const struct mluop_call *call, const char *word,
                               struct product *product) {
  const char *end = word + 1;
  while (!ends_factor(*end)) end++;
  if (*word >= '0' && *word <= '9') {
    int64_t number = 0;
    for (; word < end; word++) number = number * 10 + (*word - '0');
    multiply(product, number);
  } else if (end == word + 1 && *word >= 'A' && *word <= 'Z') {
    const int letter = *word - 'A';
    if ((call->letters_bound >> letter & 1u) != 0) {
      multiply(product, call->letters[letter]);
    } else {
      product->unbound = *word;
    }
  } else {
    int64_t value;
    multiply(product, mluop_find_integer(call, word, &value) ? value : -1);
  }
  return end;
}

static struct product read_product(const struct mluop_call *call, const char *word) {
  struct product product = {.known = 1};
  do {
    product.end = read_factor(call, word, &product);
    word = product.end + 1;
  } while (*product.end == '*');
  return product;
}

static mluOpStatus_t fail_extent(const struct mluop_call *call, const struct mluop_rule *rule,
                                 const struct mluop_tensor *tensor, int dim,
                                 const struct product *product, const char *word) {
  const size_t length = (size_t)(product->end - word);
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
    const struct product product = read_product(call, word);
    const int64_t extent = tensor->desc->dims[dim];
    bool fits = !product.overflow;
    if (fits && product.unbound == 0) {
      fits = extent == product.known;
    } else if (fits) {
      const int64_t letter = product.known > 1 ? extent / product.known : extent;
      fits = product.known > 0 && letter * product.known == extent;
      if (fits) {
        call->letters[product.unbound - 'A'] = letter;
        call->letters_bound |= 1u << (product.unbound - 'A');
      }
    }
    if (!fits) {
      *status = fail_extent(call, rule, tensor, dim, &product, word);
      return false;
    }
    word = product.end + (*product.end == ' ');
  }
  return true;
}
