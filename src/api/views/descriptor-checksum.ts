const INPUT_CHARSET =
  '0123456789()[],\'/*abcdefgh@:$%{}IJKLMNOPQRSTUVWXYZ&+-.;<=>?!^_|~ijklmnopqrstuvwxyzABCDEFGH`#"\\ ';
const CHECKSUM_CHARSET = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l';

const POSITIONS = new Int8Array(128).fill(-1);
for (const [i, character] of [...INPUT_CHARSET].entries()) POSITIONS[character.charCodeAt(0)] = i;

// BIP-380: the generator's 40-bit coefficients, in halves of 20 bits.
const GENERATOR_HIGH = [0xf5dee, 0xa9fdc, 0x1bab1, 0x3706b, 0x644d6];
const GENERATOR_LOW = [0x51989, 0xa3312, 0x0e32d, 0x1677a, 0x26ffd];

/** BIP-380: the eight characters that guard a descriptor. Throws on a character no descriptor has. */
export function descriptorChecksum(descriptor: string): string {
  let high = 0;
  let low = 1;
  const mix = (value: number) => {
    const top = high >>> 15;
    high = ((high & 0x7fff) << 5) | (low >>> 15);
    low = ((low & 0x7fff) << 5) ^ value;
    for (let i = 0; i < 5; i++) {
      if (!((top >>> i) & 1)) continue;
      high ^= GENERATOR_HIGH[i]!;
      low ^= GENERATOR_LOW[i]!;
    }
  };
  let groups = 0;
  let count = 0;
  for (let i = 0; i < descriptor.length; i++) {
    const position = POSITIONS[descriptor.charCodeAt(i)] ?? -1;
    if (position < 0) throw new Error('a character that descriptors do not have');
    mix(position & 31);
    groups = groups * 3 + (position >> 5);
    if (++count === 3) {
      mix(groups);
      groups = 0;
      count = 0;
    }
  }
  if (count > 0) mix(groups);
  for (let i = 0; i < 8; i++) mix(0);
  low ^= 1;
  let checksum = '';
  for (const half of [high, low])
    for (let shift = 15; shift >= 0; shift -= 5) checksum += CHECKSUM_CHARSET[(half >>> shift) & 31]!;
  return checksum;
}

export function withChecksum(descriptor: string): string {
  return `${descriptor}#${descriptorChecksum(descriptor)}`;
}
