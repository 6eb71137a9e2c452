const C1 = 0xcc9e_2d51;
const C2 = 0x1b87_3593;

/** MurmurHash3 (x86, 32 bits) of `data`, unsigned. Not cryptographic: for hash tables and bloom filters. */
export function murmur3(seed: number, data: Uint8Array): number {
  let h = seed | 0;
  const whole = data.length & ~3;
  for (let i = 0; i < whole; i += 4) {
    const word = data[i]! | (data[i + 1]! << 8) | (data[i + 2]! << 16) | (data[i + 3]! << 24);
    h ^= scramble(word);
    h = Math.imul((h << 13) | (h >>> 19), 5) + 0xe654_6b64;
  }
  let tail = 0;
  for (let i = data.length - 1; i >= whole; i--) tail = (tail << 8) | data[i]!;
  if (whole < data.length) h ^= scramble(tail);
  h ^= data.length;
  h = Math.imul(h ^ (h >>> 16), 0x85eb_ca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2_ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

function scramble(word: number): number {
  const mixed = Math.imul(word, C1);
  return Math.imul((mixed << 15) | (mixed >>> 17), C2);
}
