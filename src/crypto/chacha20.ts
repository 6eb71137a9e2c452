const CONSTANTS = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];
const BLOCK = 64;

/**
 * The key stream of ChaCha20 (RFC 8439, 64-bit block counter from zero, 64-bit nonce of zero), written over the whole of
 * `out`, whose length is a multiple of 64. `key` has 32 bytes.
 */
export function chacha20KeyStream(key: Uint8Array, out: Uint8Array): void {
  const keyView = new DataView(key.buffer, key.byteOffset, 32);
  const outView = new DataView(out.buffer, out.byteOffset, out.length);
  const start = new Int32Array(16);
  start.set(CONSTANTS);
  for (let i = 0; i < 8; i++) start[4 + i] = keyView.getInt32(i * 4, true);
  const x = new Int32Array(16);
  for (let at = 0; at < out.length; at += BLOCK) {
    x.set(start);
    for (let round = 0; round < 10; round++) {
      quarter(x, 0, 4, 8, 12);
      quarter(x, 1, 5, 9, 13);
      quarter(x, 2, 6, 10, 14);
      quarter(x, 3, 7, 11, 15);
      quarter(x, 0, 5, 10, 15);
      quarter(x, 1, 6, 11, 12);
      quarter(x, 2, 7, 8, 13);
      quarter(x, 3, 4, 9, 14);
    }
    for (let i = 0; i < 16; i++) outView.setInt32(at + i * 4, (x[i]! + start[i]!) | 0, true);
    start[12] = (start[12]! + 1) | 0;
  }
}

function quarter(x: Int32Array, a: number, b: number, c: number, d: number): void {
  let xa = x[a]!;
  let xb = x[b]!;
  let xc = x[c]!;
  let xd = x[d]!;
  xa = (xa + xb) | 0;
  xd ^= xa;
  xd = (xd << 16) | (xd >>> 16);
  xc = (xc + xd) | 0;
  xb ^= xc;
  xb = (xb << 12) | (xb >>> 20);
  xa = (xa + xb) | 0;
  xd ^= xa;
  xd = (xd << 8) | (xd >>> 24);
  xc = (xc + xd) | 0;
  xb ^= xc;
  xb = (xb << 7) | (xb >>> 25);
  x[a] = xa;
  x[b] = xb;
  x[c] = xc;
  x[d] = xd;
}
