/* SPDX-License-Identifier: Apache-2.0 */
// Deformable RoI pooling, in C++: the mean of each bin of a region, and its gradient. On a map that
// grows evenly, the mean of a bin is the value at its centre.
// Among what it prints: "    42    44"
#include <cmath>
#include <cstdio>
#include <memory>
#include <numeric>
#include <vector>

#include "sample.h"

namespace {

// Memory of the device that frees itself.
template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(const std::vector<T> &host)
      : size_(host.size()), data_(to_device(host.data(), host.size() * sizeof(T)), free) {}

  std::vector<T> read() const {
    std::vector<T> host(size_);
    to_host(host.data(), data_.get(), size_ * sizeof(T));
    return host;
  }

  void *get() const { return data_.get(); }

 private:
  static void free(void *pointer) { CNRT_CHECK(cnrtFree(pointer)); }

  std::size_t size_;
  std::unique_ptr<void, void (*)(void *)> data_;
};

struct Descriptor {
  Descriptor(mluOpTensorLayout_t layout, const std::vector<int> &dims)
      : desc(make_desc(layout, MLUOP_DTYPE_FLOAT, static_cast<int>(dims.size()), dims.data())) {}
  ~Descriptor() { mluOpDestroyTensorDescriptor(desc); }
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;

  mluOpTensorDescriptor_t desc;
};

constexpr int kHeight = 8, kWidth = 8, kPooled = 2, kSamples = 2;
constexpr float kGamma = 0.125f;

}  // namespace

int main() {
  cnrtQueue_t queue;
  mluOpHandle_t handle;
  init_device(&queue, &handle);
  {
    std::vector<float> map(kHeight * kWidth);
    for (int i = 0; i < kHeight * kWidth; i++) {
      map[static_cast<std::size_t>(i)] = static_cast<float>(10 * (i / kWidth) + i % kWidth);
    }
    const Descriptor map_desc(MLUOP_LAYOUT_NHWC, {1, kHeight, kWidth, 1});
    const Descriptor rois_desc(MLUOP_LAYOUT_ARRAY, {1, 5});
    const Descriptor offset_desc(MLUOP_LAYOUT_ARRAY, {1, 2, kPooled, kPooled});
    const Descriptor output_desc(MLUOP_LAYOUT_NHWC, {1, kPooled, kPooled, 1});
    const DeviceArray<float> input(map), grad_input(std::vector<float>(map.size(), NAN));
    const DeviceArray<float> rois({0.0f, 1.5f, 1.5f, 5.5f, 5.5f});  // image, x1, y1, x2, y2
    // The first bin moves right by gamma * 4 pixels * 2 = 1 pixel; the others stay.
    const DeviceArray<float> offset({2, 0, 0, 0, 0, 0, 0, 0}), output(std::vector<float>(4, NAN));
    const DeviceArray<float> grad_offset(std::vector<float>(8, NAN));

    MLUOP_CHECK(mluOpDeformRoiPoolForward(
        handle, map_desc.desc, input.get(), rois_desc.desc, rois.get(), offset_desc.desc,
        offset.get(), kPooled, kPooled, 1.0f, kSamples, kGamma, output_desc.desc, output.get()));
    CNRT_CHECK(cnrtQueueSync(queue));
    const std::vector<float> bins = output.read();
    print_plane("deform_roi_pool bins", bins.data(), kPooled, kPooled, 1);
    // Bins are 2 pixels wide and begin at 1: their centres are at 2 and 4.
    expect(bins == std::vector<float>({23, 24, 42, 44}), "the bins");

    const DeviceArray<float> grad_output({1, 1, 1, 1});
    MLUOP_CHECK(mluOpDeformRoiPoolBackward(
        handle, output_desc.desc, grad_output.get(), map_desc.desc, input.get(), rois_desc.desc,
        rois.get(), offset_desc.desc, offset.get(), kPooled, kPooled, 1.0f, kSamples, kGamma,
        map_desc.desc, grad_input.get(), offset_desc.desc, grad_offset.get()));
    CNRT_CHECK(cnrtQueueSync(queue));
    const std::vector<float> gradient = grad_input.read(), moves = grad_offset.read();
    print_plane("deform_roi_pool grad_input", gradient.data(), kHeight, kWidth, 1);
    print_plane("deform_roi_pool grad_offset, x then y", moves.data(), 2, 4, 1);
    expect(std::accumulate(gradient.begin(), gradient.end(), 0.0f) == 4.0f, "the gradient's sum");
    // A step of the offset moves a bin by gamma * 4 = 0.5 pixels: 0.5 to the right, 5 downwards.
    expect(moves == std::vector<float>({0.5f, 0.5f, 0.5f, 0.5f, 5, 5, 5, 5}), "grad_offset");
  }
  release_device(queue, handle);
  std::printf("deform_roi_pool: ok\n");
  return 0;
}
