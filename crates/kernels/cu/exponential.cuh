// The functions eˣ and eˣ − 1. The arithmetic is that of src/bias/exponential.rs, operation by operation.
#pragma once

__device__ const unsigned long long powers[32] = {
    0x3ff0000000000000ull, 0x3fefd9b0d3158574ull, 0x3fefb5586cf9890full, 0x3fef9301d0125b51ull,
    0x3fef72b83c7d517bull, 0x3fef54873168b9aaull, 0x3fef387a6e756238ull, 0x3fef1e9df51fdee1ull,
    0x3fef06fe0a31b715ull, 0x3feef1a7373aa9cbull, 0x3feedea64c123422ull, 0x3feece086061892dull,
    0x3feebfdad5362a27ull, 0x3feeb42b569d4f82ull, 0x3feeab07dd485429ull, 0x3feea47eb03a5585ull,
    0x3feea09e667f3bcdull, 0x3fee9f75e8ec5f74ull, 0x3feea11473eb0187ull, 0x3feea589994cce13ull,
    0x3feeace5422aa0dbull, 0x3feeb737b0cdc5e5ull, 0x3feec49182a3f090ull, 0x3feed503b23e255dull,
    0x3feee89f995ad3adull, 0x3feeff76f2fb5e47ull, 0x3fef199bdd85529cull, 0x3fef3720dcef9069ull,
    0x3fef5818dcfba487ull, 0x3fef7c97337b9b5full, 0x3fefa4afa2a490daull, 0x3fefd0765b6e4540ull
};

// Coefficients 1/n! of the power series of the exponential, n = 14 down to 2.
__device__ const double series[13] = {
    1.0 / 87178291200.0, 1.0 / 6227020800.0, 1.0 / 479001600.0, 1.0 / 39916800.0, 1.0 / 3628800.0,
    1.0 / 362880.0, 1.0 / 40320.0, 1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0,
    1.0 / 24.0, 1.0 / 6.0, 1.0 / 2.0};

// If this constant is added to a number and subtracted again, the number is rounded to the nearest whole number.
#define SHIFT 6755399441055744.0
#define LOG2_E 1.4426950408889634

__device__ __forceinline__ float exponential(float x)
{
    if (x > 88.72283f) return __int_as_float(0x7f800000);
    if (x < -104.f) return 0.f;
    const double scaled = (double)x * (32.0 * LOG2_E);
    const double whole = (scaled + SHIFT) - SHIFT;
    const double r = scaled - whole;
    const unsigned long long k = (unsigned long long)(long long)whole;
    const double power = __longlong_as_double((long long)(powers[k % 32] + (k << 47)));
    const double above = 0.05550361559341535 / 32768.0 * r + 0.2402284522445722 / 1024.0;
    return (float)(((0.6931471806916203 / 32.0 * r + 1.0) + above * (r * r)) * power);
}

__device__ __forceinline__ double exponential_minus_one(double x)
{
    x = fmin(fmax(x, -700.0), 700.0);
    const double whole = (x * LOG2_E + SHIFT) - SHIFT;
    const double r = (x - whole * 6.931471803691238e-1) - whole * 1.9082149292705877e-10;
    double sum = 0.0;
#pragma unroll
    for (int n = 0; n < 13; ++n) sum = sum * r + series[n];
    sum = sum * r + 1.0;
    const double power = __longlong_as_double((1023 + (long long)whole) << 52);
    return power * (r * sum) + (power - 1.0);
}
