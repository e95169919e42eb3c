// The page's data, as nn/pages/page_data.cpp wrote it into the page.

export function readData() {
  return JSON.parse(document.getElementById('data').textContent);
}

// binary16 in base64 -> Float32Array
export function decodeHalf(text) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const halves = new Uint16Array(bytes.buffer);
  const numbers = new Float32Array(halves.length);
  for (let i = 0; i < halves.length; ++i) numbers[i] = halfValue(halves[i]);
  return numbers;
}

// f32 in base64 -> Float32Array
export function decodeFloats(text) {
  return new Float32Array(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
}

function halfValue(half) {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >> 10) & 31;
  const mantissa = half & 1023;
  if (exponent === 31) return mantissa ? NaN : sign * Infinity;
  if (exponent === 0) return sign * mantissa * 2 ** -24;
  return sign * (1024 + mantissa) * 2 ** (exponent - 25);
}
