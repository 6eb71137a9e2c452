import { describe, expect, test } from 'bun:test';
import { type AddressRejection, addressOf, parseAddress } from '../../src/script/address.ts';
import { decodeBase58, decodeBase58Check, encodeBase58Check } from '../../src/script/base58.ts';
import { type Bech32Encoding, decodeBech32, encodeBech32 } from '../../src/script/bech32.ts';
import { locateBech32Errors } from '../../src/script/bech32-errors.ts';
import { multisig, p2pk } from '../../src/script/templates.ts';
import { decodeWif, encodeWif } from '../../src/script/wif.ts';
import { hexToBytes } from '../../src/util/bytes.ts';
import { hasVectors, readVectorJson } from '../lib/vectors.ts';

const main = { p2pkh: 0, p2sh: 5, hrp: 'bc' };
const test4 = { p2pkh: 111, p2sh: 196, hrp: 'tb' };
const regtest = { p2pkh: 111, p2sh: 196, hrp: 'bcrt' };
const FORMATS: Record<string, typeof main> = { main, test: test4, testnet4: test4, signet: test4, regtest };
const WIF_PREFIX: Record<string, number> = { main: 128, testnet4: 239, signet: 239, regtest: 239 };

interface KeyIoOptions {
  readonly chain: string;
  readonly isPrivkey: boolean;
  readonly isCompressed?: boolean;
  readonly tryCaseFlip?: boolean;
}

describe.skipIf(!hasVectors)('key_io', () => {
  test('key_io_valid.json', () => {
    const rows = readVectorJson<[string, string, KeyIoOptions][]>('core/key_io_valid.json');
    expect(rows.length).toBe(70);
    for (const [text, payload, options] of rows) {
      const net = FORMATS[options.chain]!;
      const prefix = WIF_PREFIX[options.chain]!;
      if (options.isPrivkey) {
        const key = { secret: hexToBytes(payload), compressed: options.isCompressed! };
        expect(decodeWif(text, prefix)).toEqual(key);
        expect(encodeWif(key, prefix)).toBe(text);
        expect(parseAddress(text, net).ok).toBe(false);
        continue;
      }
      expect(parseAddress(text, net)).toMatchObject({ ok: true, script: hexToBytes(payload), address: text });
      expect(addressOf(hexToBytes(payload), net)).toBe(text);
      expect(decodeWif(text, prefix)).toBeNull();
      const upper = text.toUpperCase();
      expect(parseAddress(upper === text ? text.toLowerCase() : upper, net).ok).toBe(options.tryCaseFlip === true);
      for (const other of Object.values(FORMATS))
        if (other.hrp !== net.hrp && other.p2pkh !== net.p2pkh) {
          const foreign = parseAddress(text, other);
          expect(foreign.ok || foreign.reason).toBe('wrong_network');
        }
    }
  });

  test('key_io_invalid.json', () => {
    const rows = readVectorJson<[string][]>('core/key_io_invalid.json');
    expect(rows.length).toBe(70);
    for (const [text] of rows)
      for (const chain of Object.keys(WIF_PREFIX)) {
        expect(parseAddress(text, FORMATS[chain]!).ok).toBe(false);
        expect(decodeWif(text, WIF_PREFIX[chain]!)).toBeNull();
      }
  });

  test('base58_encode_decode.json', () => {
    const rows = readVectorJson<[string, string][]>('core/base58_encode_decode.json');
    expect(rows.length).toBe(21);
    for (const [hex, text] of rows) {
      expect(decodeBase58(text, 256)).toEqual(hexToBytes(hex));
      expect(decodeBase58(text, hex.length / 2 - 1)).toBeNull();
    }
  });
});

test('base58 ignores whitespace around the text', () => {
  expect(decodeBase58('  \t111 \n', 10)).toEqual(new Uint8Array(3));
  expect(decodeBase58('1 1', 10)).toBeNull();
  expect(decodeBase58('0', 10)).toBeNull();
  expect(decodeBase58('\u00e9', 10)).toBeNull();
  const payload = Uint8Array.of(0, 0, 7, 255);
  expect(decodeBase58Check(encodeBase58Check(payload), 4)).toEqual(payload);
  expect(decodeBase58Check(encodeBase58Check(payload), 3)).toBeNull();
});

// Published results of Bitcoin Core on regtest: address, error, positions.
const FAULTS: readonly (readonly [string, AddressRejection, string, number[]])[] = [
  [
    'bcrt1s0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7v8n0nx0muaewav25430mtr',
    'malformed',
    'Invalid Bech32 address program size (41 bytes)',
    [],
  ],
  [
    'bc1pw508d6qejxtdg4y5r3zarvary0c5xw7kw508d6qejxtdg4y5r3zarvary0c5xw7k7grplx',
    'wrong_network',
    'Invalid or unsupported Segwit (Bech32) or Base58 encoding.',
    [],
  ],
  [
    'bcrt1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqdmchcc',
    'checksum',
    'Version 1+ witness address must use Bech32m checksum',
    [],
  ],
  [
    'bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7k35mrzd',
    'checksum',
    'Version 0 witness address must use Bech32 checksum',
    [],
  ],
  [
    'bcrt130xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqynjegk',
    'unsupported_version',
    'Invalid Bech32 address witness version',
    [],
  ],
  [
    'bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kqqq5k3my',
    'malformed',
    'Invalid Bech32 v0 address program size (21 bytes), per BIP141',
    [],
  ],
  [
    'bcrt1q049edschfnwystcqnsvyfpj23mpsg3jcedq9xv049edschfnwystcqnsvyfpj23mpsg3jcedq9xv049edschfnwystcqnsvyfpj23m',
    'malformed',
    'Bech32 string too long',
    [90, 91, 92, 93, 94, 95, 96, 97, 98, 99, 100, 101, 102, 103, 104, 105, 106, 107],
  ],
  ['bcrt1q049edschfnwystcqnsvyfpj23mpsg3jcedq9xv', 'checksum', 'Invalid Bech32 checksum', [9]],
  ['bcrt1qax9suht3qv95sw33xavx8crpxduefdrsvgsklu', 'checksum', 'Invalid Bech32 checksum', [22, 43]],
  ['BCRT1QPLMTZKC2XHARPPZDLNPAQL78RSHJ68U32RAH7R', 'checksum', 'Invalid Bech32 checksum', [38]],
  ['bcrtq049ldschfnwystcqnsvyfpj23mpsg3jcedq9xv', 'malformed', 'Missing separator', []],
  ['bcrt1q04oldschfnwystcqnsvyfpj23mpsg3jcedq9xv', 'malformed', 'Invalid Base 32 character', [8]],
  ['bcrt1qdg3myrgvzw7ml8q0ejxhlkyxn7vl9r56yzkfgvzclrf4hkpx9yfqhpsuks', 'checksum', 'Invalid Bech32 checksum', [19, 30]],
  ['bcrt1ptmp74ayg7p24uslctssvjm06q5phz4yrxucgnv', 'checksum', 'Invalid Bech32 checksum', [5]],
  ['17VZNX1SN5NtKa8UQFxwQbFeFc3iqRYhem', 'wrong_network', 'Invalid or unsupported Base58-encoded address.', []],
  [
    'mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJJfn',
    'checksum',
    'Invalid checksum or length of Base58 address (P2PKH or P2SH)',
    [],
  ],
  [
    '2VKf7XKMrp4bVNVmuRbyCewkP8FhGLP2E54LHDPakr9Sq5mtU2',
    'malformed',
    'Invalid checksum or length of Base58 address (P2PKH or P2SH)',
    [],
  ],
  ['asfah14i8fajz0123f', 'malformed', 'Invalid or unsupported Segwit (Bech32) or Base58 encoding.', []],
  [
    '1q049ldschfnwystcqnsvyfpj23mpsg3jcedq9xv',
    'malformed',
    'Invalid or unsupported Segwit (Bech32) or Base58 encoding.',
    [],
  ],
];

for (const [text, reason, error, errorLocations] of FAULTS)
  test(`${error}: ${text}`, () => {
    expect(parseAddress(text, regtest)).toMatchObject({ ok: false, reason, error, errorLocations });
  });

test('unusual addresses are valid', () => {
  for (const address of [
    'bcrt1qtmp74ayg7p24uslctssvjm06q5phz4yrxucgnv',
    'bcrt1p424qxxyd0r',
    'BCRT1QPLMTZKC2XHARPPZDLNPAQL78RSHJ68U33RAH7R',
    'bcrt1qdg3myrgvzw7ml9q0ejxhlkyxm7vl9r56yzkfgvzclrf4hkpx9yfqhpsuks',
    'mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfn',
  ])
    expect(parseAddress(address, regtest).ok).toBe(true);
});

// Invalid strings of BIP-173 and BIP-350 with the results that Bitcoin Core publishes for them.
const BECH32_FAULTS: readonly (readonly [string, string, number[]])[] = [
  [' 1nwldj5', 'Invalid character or mixed case', [0]],
  ['\x7f1axkwrx', 'Invalid character or mixed case', [0]],
  [
    'an84characterslonghumanreadablepartthatcontainsthenumber1andtheexcludedcharactersbio1569pvx',
    'Bech32 string too long',
    [90],
  ],
  ['pzry9x0s0muk', 'Missing separator', []],
  ['1pzry9x0s0muk', 'Invalid separator position', [0]],
  ['x1b4n0q5v', 'Invalid Base 32 character', [2]],
  ['li1dgmt3', 'Invalid separator position', [2]],
  ['A1G7SGD8', 'Invalid checksum', []],
  ['10a06t8', 'Invalid separator position', [0]],
  ['a12UEL5L', 'Invalid character or mixed case', [3, 4, 5, 7]],
  ['A12uEL5L', 'Invalid character or mixed case', [3]],
  ['abcdef1qpzrz9x8gf2tvdw0s3jn54khce6mua7lmqqqxw', 'Invalid Bech32 checksum', [11]],
  ['test1zg69w7y6hn0aqy352euf40x77qddq3dc', 'Invalid Bech32 checksum', [9, 16]],
  ['M1VUXWEZ', 'Invalid checksum', []],
  ['mm1crxm3i', 'Invalid Base 32 character', [8]],
];

test('errors in strings of BIP-173 and BIP-350 are located', () => {
  for (const [text, error, locations] of BECH32_FAULTS) {
    expect(decodeBech32(text)).toBeNull();
    expect(locateBech32Errors(text)).toEqual({ error, locations });
  }
});

test('valid strings of BIP-173 and BIP-350 are accepted', () => {
  const good: readonly (readonly [Bech32Encoding, string])[] = [
    ['bech32', 'a12uel5l'],
    ['bech32', 'an83characterlonghumanreadablepartthatcontainsthenumber1andtheexcludedcharactersbio1tt5tgs'],
    ['bech32', 'abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw'],
    ['bech32', 'split1checkupstagehandshakeupstreamerranterredcaperred2y9e3w'],
    ['bech32', '?1ezyfcl'],
    ['bech32m', 'A1LQFN3A'],
    ['bech32m', 'abcdef1l7aum6echk45nj3s0wdvt2fg8x9yrzpqzd3ryx'],
    ['bech32m', 'split1checkupstagehandshakeupstreamerranterredcaperredlc445v'],
    ['bech32m', '?1v759aa'],
  ];
  for (const [encoding, text] of good) {
    const decoded = decodeBech32(text)!;
    expect(decoded.encoding).toBe(encoding);
    expect(encodeBech32(encoding, decoded.hrp, decoded.data)).toBe(text.toLowerCase());
  }
});

test('base58 addresses are rejected with a reason', () => {
  const address = '1FsSia9rv4NeEwvJ2GvXrX7LyxYspbN2mo';
  expect(parseAddress(` ${address}\n`, main)).toMatchObject({ ok: true, address, type: 'pubkeyhash' });
  expect(parseAddress(address, regtest)).toMatchObject({ reason: 'wrong_network', network: 'main' });
  expect(parseAddress(`${address.slice(0, -1)}p`, main)).toMatchObject({
    reason: 'checksum',
    error: 'Invalid checksum or length of Base58 address (P2PKH or P2SH)',
  });
  const payload = new Uint8Array(21);
  payload[0] = 48;
  expect(parseAddress(encodeBase58Check(payload), main)).toMatchObject({
    reason: 'unsupported_version',
    error: 'Invalid or unsupported Base58-encoded address.',
  });
  expect(parseAddress(encodeBase58Check(new Uint8Array(20)), main)).toMatchObject({
    reason: 'malformed',
    error: 'Invalid length for Base58 address (P2PKH or P2SH)',
  });
  expect(parseAddress('', main)).toMatchObject({ ok: false, reason: 'malformed' });
});

test('a prefix of another network with the same beginning is rejected', () => {
  expect(parseAddress('bcrt1qamhwamhwamhwamhwamhwamhwamhwamhwamhwamhwamhwamhwamhqgdn98t', main)).toMatchObject({
    reason: 'wrong_network',
    network: 'regtest',
    error: 'Invalid or unsupported prefix for Segwit (Bech32) address (expected bc, got bcrt).',
  });
});

// BIP-350's string with one or two changed characters; each change must be located.
test('wrong characters are located', () => {
  const good = 'bcrt1pamhwamhwamhwamhwamhwamhwamhwamhwamhwamhwamhwamhwamhqz6nvlh';
  expect(parseAddress(good, regtest).ok).toBe(true);
  const changed = (text: string, at: number): string =>
    `${text.slice(0, at)}${text[at] === 'q' ? 'p' : 'q'}${text.slice(at + 1)}`;
  for (let first = 6; first < good.length; first++) {
    const one = changed(good, first);
    expect(locateBech32Errors(one).locations).toEqual([first]);
    expect(locateBech32Errors(one).error).toBe('Invalid Bech32m checksum');
  }
  expect(locateBech32Errors(changed(changed(good, 10), 40)).locations).toEqual([10, 40]);
});

test('unusual outputs have addresses, or none', () => {
  const key = hexToBytes('0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798');
  expect(addressOf(p2pk(key), main)).toBeNull();
  expect(addressOf(multisig(1, [key]), main)).toBeNull();
  expect(addressOf(hexToBytes('6a0568656c6c6f'), main)).toBeNull();
  expect(addressOf(hexToBytes('51024e73'), main)).toBe('bc1pfeessrawgf');
  expect(addressOf(hexToBytes('51024e73'), regtest)).toBe('bcrt1pfeesnyr2tx');
  expect(parseAddress('bc1pfeessrawgf', main)).toMatchObject({ ok: true, type: 'anchor', witnessVersion: 1 });
  expect(addressOf(hexToBytes('0003aabbcc'), main)).toBeNull();
  expect(addressOf(hexToBytes('6002751e'), main)).toBe('bc1sw50qgdz25j');
});

test('a text far longer than any address is rejected without positions', () => {
  for (const prefix of ['bc1', '1', '']) {
    const parsed = parseAddress(prefix + 'q'.repeat(1_000_000), { p2pkh: 0, p2sh: 5, hrp: 'bc' });
    expect(parsed).toMatchObject({ ok: false, reason: 'malformed', errorLocations: [] });
  }
});
