// The steps of an LSTM's layer but for the product: Hochreiter and Schmidhuber (1997), with the
// gates in the order input, forget, cell, output.

#ifndef HYBRIDNET_LSTM_H_
#define HYBRIDNET_LSTM_H_

#include <cstdint>

namespace lstm {

// A quotient of polynomials, right to 3e-7 (the one that XLA has, too), of which compilers make
// vector code. NaN stays.
inline float Tanh(float x) {
  constexpr float most = 7.90531110763549805f;
  x = x > most ? most : x;
  x = x < -most ? -most : x;
  const float s = x * x;
  float p = -2.76076847742355e-16f;
  p = p * s + 2.00018790482477e-13f;
  p = p * s - 8.60467152213735e-11f;
  p = p * s + 5.12229709037114e-08f;
  p = p * s + 1.48572235717979e-05f;
  p = p * s + 6.37261928875436e-04f;
  p = p * s + 4.89352455891786e-03f;
  float q = 1.19825839466702e-06f;
  q = q * s + 1.18534705686654e-04f;
  q = q * s + 2.26843463243900e-03f;
  q = q * s + 4.89352518554385e-03f;
  return x * p / q;
}

inline float Sigmoid(float x) { return 0.5f * Tanh(0.5f * x) + 0.5f; }

// A step of one row of the batch. What the hidden state makes of the four gates, and what the
// inputs do, become the gates, and with the cell state before them the new one and the hidden
// state.
inline void Step(const float* x, float* gates, const float* before, float* cell, float* hidden,
                 int64_t size) {
  float *input = gates, *forget = gates + size, *fresh = gates + 2 * size;
  float* output = gates + 3 * size;
#pragma GCC ivdep
  for (int64_t j = 0; j < size; ++j) {
    const float i = Sigmoid(x[j] + input[j]), f = Sigmoid(x[size + j] + forget[j]);
    const float g = Tanh(x[2 * size + j] + fresh[j]), o = Sigmoid(x[3 * size + j] + output[j]);
    const float c = f * before[j] + i * g;
    input[j] = i;
    forget[j] = f;
    fresh[j] = g;
    output[j] = o;
    cell[j] = c;
    hidden[j] = o * Tanh(c);
  }
}

// The gradient of the sums for the gates from those of the output and of both states after the
// step; the cell state's becomes that before the step.
inline void StepGradient(const float* gates, const float* before, const float* cell,
                         const float* output_grad, const float* hidden_grad, float* cell_grad,
                         float* sums_grad, int64_t size) {
  const float *input = gates, *forget = gates + size, *fresh = gates + 2 * size;
  const float* output = gates + 3 * size;
#pragma GCC ivdep
  for (int64_t j = 0; j < size; ++j) {
    const float i = input[j], f = forget[j], g = fresh[j], o = output[j];
    const float shown = Tanh(cell[j]), hidden = output_grad[j] + hidden_grad[j];
    const float c = cell_grad[j] + hidden * o * (1 - shown * shown);
    sums_grad[j] = c * g * i * (1 - i);
    sums_grad[size + j] = c * before[j] * f * (1 - f);
    sums_grad[2 * size + j] = c * i * (1 - g * g);
    sums_grad[3 * size + j] = hidden * shown * o * (1 - o);
    cell_grad[j] = c * f;
  }
}

}  // namespace lstm

#endif  // HYBRIDNET_LSTM_H_
