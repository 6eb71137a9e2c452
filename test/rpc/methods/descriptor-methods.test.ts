import { afterAll, describe, expect, test } from 'bun:test';
import { type ApiFixture, describeWithVectors, mixedChainDir, startTestApi } from '../../lib/chain-api.ts';

const KEYS = [
  '03789ed0bb717d88f7d321a368d905e7430207ebbd82bd342cf11ae157a7ace5fd',
  '03dbc6764b8884a92e871274b87583e6d5c2a58819473e17e107ef3f6aa5a61626',
];
const UNCOMPRESSED =
  '04a34b99f22c790c4e36b2b3c2c35a36db06226e41c692fc82b8b56ac1c540c5bd5b8dec5235a0fa8722476c7709c02559e3aa73aa03918ba2d492eea75abea235';
const WIF = 'cUeKHd5orzT3mz8P9pxyREHfsWtVfgsfDjiZZBcjUBAaGk1BTj7N';
const TPRV =
  'tprv8ZgxMBicQKsPd7Uf69XL1XwhmjHopUGep8GuEiJDZmbQz6o58LninorQAfcKZWARbtRtfnLcJ5MQ2AtHcQJCCRUcMRvmDUjyEmNUWwx8UbK';
const SIGNATURE = 'INbVnW4e6PeRmsv2Qgu8NuopvrVjkcxob+sX8OcZG0SALhWybUjzMLPdAsXI46YZGb0KQTRii+wWIQzRpG/U+S0=';
const MESSAGE = 'This is just a test message';

describeWithVectors('methods about descriptors, keys and messages', () => {
  const api: ApiFixture = startTestApi(mixedChainDir());
  afterAll(() => api.close());

  const errorOf = async (method: string, ...params: unknown[]) => {
    const response = await api.post('/', JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
    const { error } = (await response.json()) as { error?: { code: number; message: string } };
    return error && [error.code, error.message];
  };
  const checksummed = async (text: string) => {
    const { checksum } = await api.rpc<{ checksum: string }>('getdescriptorinfo', text);
    return `${text}#${checksum}`;
  };

  describe('getdescriptorinfo', () => {
    test('the canonical form has no private key, and the checksum is that of the given text', async () => {
      const info = await api.rpc<Record<string, unknown>>('getdescriptorinfo', `wpkh(${WIF})`);
      expect(Object.keys(info)).toEqual(['descriptor', 'checksum', 'isrange', 'issolvable', 'hasprivatekeys']);
      expect(info).toMatchObject({ isrange: false, issolvable: true, hasprivatekeys: true });
      expect(info.descriptor as string).toMatch(/^wpkh\(0[23][0-9a-f]{64}\)#[a-z0-9]{8}$/);
      expect((info.descriptor as string).endsWith(info.checksum as string)).toBe(false);
    });

    test('a descriptor with several paths is expanded', async () => {
      const info = await api.rpc<Record<string, unknown>>('getdescriptorinfo', `pkh(${TPRV}/<0;1>/*)`);
      expect(Object.keys(info)[1]).toBe('multipath_expansion');
      expect(info.multipath_expansion).toHaveLength(2);
      expect(info.descriptor).toBe((info.multipath_expansion as string[])[0]);
      expect(info.isrange).toBe(true);
    });

    test('errors', async () => {
      expect(await errorOf('getdescriptorinfo', '')).toEqual([-5, "'' is not a valid descriptor function"]);
      expect(await errorOf('getdescriptorinfo', `pkh(${WIF}/0)`)).toEqual([-5, "pkh(): key 'cUeK…' is not valid"]);
      expect(await errorOf('getdescriptorinfo', 1)).toEqual([
        -3,
        'Wrong type passed:\n{\n    "Position 1 (descriptor)": "JSON value of type number is not of expected type string"\n}',
      ]);
    });
  });

  describe('deriveaddresses', () => {
    // Addresses of Bitcoin Core's functional test of the method.
    const single =
      'wpkh(tprv8ZgxMBicQKsPd7Uf69XL1XwhmjHopUGep8GuEiJDZmbQz6o58LninorQAfcKZWARbtRtfnLcJ5MQ2AtHcQJCCRUcMRvmDUjyEmNUWwx8UbK/1/1/0)#t6wfjs64';
    const ranged =
      'wpkh(tprv8ZgxMBicQKsPd7Uf69XL1XwhmjHopUGep8GuEiJDZmbQz6o58LninorQAfcKZWARbtRtfnLcJ5MQ2AtHcQJCCRUcMRvmDUjyEmNUWwx8UbK/1/1/*)#kft60nuy';
    const addresses = [
      'bcrt1qjqmxmkpmxt80xz4y3746zgt0q3u3ferr34acd5',
      'bcrt1qhku5rq7jz8ulufe2y6fkcpnlvpsta7rq4442dy',
      'bcrt1qpgptk2gvshyl0s9lqshsmx932l9ccsv265tvaq',
    ];

    test('one address, and a range with both ends, are derived', async () => {
      expect(await api.rpc<string[]>('deriveaddresses', single)).toEqual([addresses[0]!]);
      expect(await api.rpc<string[]>('deriveaddresses', ranged, [1, 2])).toEqual(addresses.slice(1));
      expect(await api.rpc<string[]>('deriveaddresses', ranged, 2)).toEqual(addresses);
      expect(await api.rpc<string[]>('deriveaddresses', ranged, [0, 0])).toEqual([addresses[0]!]);
    });

    test('each path has its own list', async () => {
      const text = await checksummed(`wpkh(${TPRV}/1/<1;2>/*)`);
      const [first, second] = await api.rpc<string[][]>('deriveaddresses', text, 1);
      expect(first).toEqual(addresses.slice(0, 2));
      expect(second).toHaveLength(2);
    });

    test('combo() yields the addresses of all its scripts except P2PK', async () => {
      const combo = await checksummed(`combo(${KEYS[0]})`);
      expect(await api.rpc<string[]>('deriveaddresses', combo)).toHaveLength(3);
    });

    test('a long range is derived by a worker', async () => {
      const many = await api.rpc<string[]>('deriveaddresses', ranged, [0, 299]);
      expect(many.slice(0, 3)).toEqual(addresses);
      expect(new Set(many).size).toBe(300);
    });

    test.each([
      [[single.slice(0, -9)], [-5, 'Missing checksum']],
      [
        [single, [0, 2]],
        [-8, 'Range should not be specified for an un-ranged descriptor'],
      ],
      [[ranged], [-8, 'Range must be specified for a ranged descriptor']],
      [
        [ranged, 10_000_000_000],
        [-8, 'End of range is too high'],
      ],
      [
        [ranged, [1_000_000_000, 2_000_000_000]],
        [-8, 'Range is too large'],
      ],
      [
        [ranged, [2, 0]],
        [-8, 'Range specified as [begin,end] must not have begin after end'],
      ],
      [
        [ranged, [-1, 0]],
        [-8, 'Range should be greater or equal than 0'],
      ],
      [
        [ranged, -1],
        [-8, 'End of range is too high'],
      ],
      [
        [ranged, 'x'],
        [-8, 'Range must be specified as end or as [begin,end]'],
      ],
      [
        [ranged, [1]],
        [-8, 'Range must be specified as end or as [begin,end]'],
      ],
    ] as const)('%j', async (params, error) => {
      expect(await errorOf('deriveaddresses', ...params)).toEqual([...error]);
    });

    test('a script without address and a missing private key are errors', async () => {
      const xpub = (await api.rpc<{ descriptor: string }>('getdescriptorinfo', `pkh(${TPRV})`)).descriptor.slice(
        4,
        -10,
      );
      const hardened = await checksummed(`wpkh(${xpub}/1h/*)`);
      expect(await errorOf('deriveaddresses', hardened, [0, 2])).toEqual([
        -5,
        'Cannot derive script without private keys',
      ]);
      const bare = await checksummed('raw(6a)');
      expect(await errorOf('deriveaddresses', bare)).toEqual([-5, 'Descriptor does not have a corresponding address']);
      const unused = await checksummed(`unused(${xpub})`);
      expect(await errorOf('deriveaddresses', unused)).toEqual([-1, 'Unexpected empty result']);
    });
  });

  describe('createmultisig', () => {
    test.each([
      ['legacy', /^2/, 'sh(multi('],
      ['p2sh-segwit', /^2/, 'sh(wsh(multi('],
      ['bech32', /^bcrt1q/, 'wsh(multi('],
    ])('%s', async (type, address, descriptor) => {
      const made = await api.rpc<Record<string, string>>('createmultisig', 2, KEYS, type);
      expect(Object.keys(made)).toEqual(['address', 'redeemScript', 'descriptor']);
      expect(made.address).toMatch(address);
      expect(made.redeemScript).toBe(`5221${KEYS[0]}21${KEYS[1]}52ae`);
      expect(made.descriptor).toStartWith(`${descriptor}2,${KEYS[0]},${KEYS[1]})`);
      expect(await api.rpc<string[]>('deriveaddresses', made.descriptor)).toEqual([made.address!]);
    });

    test('uncompressed keys yield a legacy address with a warning', async () => {
      const made = await api.rpc<Record<string, unknown>>('createmultisig', 1, [UNCOMPRESSED], 'bech32');
      expect(made.descriptor as string).toStartWith('sh(multi(');
      expect(made.warnings).toEqual([
        'Unable to make chosen address type, please ensure no uncompressed public keys are present.',
      ]);
    });

    test.each([
      [
        [1, ['zz']],
        [-5, 'Pubkey "zz" must be a hex string'],
      ],
      [
        [1, ['']],
        [-5, 'Pubkey "" must be a hex string'],
      ],
      [
        [1, ['00']],
        [-5, 'Pubkey "00" must have a length of either 33 or 65 bytes'],
      ],
      [
        [1, ['05'.repeat(33)]],
        [-5, `Pubkey "${'05'.repeat(33)}" must be cryptographically valid.`],
      ],
      [
        [1, [WIF]],
        [-5, 'Pubkey "cUeK…" must be a hex string'],
      ],
      [
        [0, KEYS],
        [-8, 'a multisignature address must require at least one key to redeem'],
      ],
      [
        [3, KEYS],
        [-8, 'not enough keys supplied (got 2 keys, but need at least 3 to redeem)'],
      ],
      [
        [1, KEYS, 'bech32m'],
        [-5, 'createmultisig cannot create bech32m multisig addresses'],
      ],
      [
        [1, KEYS, 'x'],
        [-5, "Unknown address type 'x'"],
      ],
      [
        [1, Array(16).fill(KEYS[0])],
        [-8, 'redeemScript exceeds size limit: 547 > 520'],
      ],
      [
        [1, Array(21).fill(KEYS[0])],
        [-8, 'Number of keys involved in the multisignature address creation > 20\nReduce the number'],
      ],
    ] as const)('%j', async (params, error) => {
      expect(await errorOf('createmultisig', ...params)).toEqual([...error]);
    });
  });

  test('messages', async () => {
    expect(await api.rpc<string>('signmessagewithprivkey', WIF, MESSAGE)).toBe(SIGNATURE);
    const address = 'mpLQjfK79b7CCV4VMJWEWAj5Mpx8Up5zxB';
    expect(await api.rpc<boolean>('verifymessage', address, SIGNATURE, MESSAGE)).toBe(true);
    expect(await api.rpc<boolean>('verifymessage', address, SIGNATURE, 'another')).toBe(false);
    expect(await errorOf('signmessagewithprivkey', 'x', MESSAGE)).toEqual([-5, 'Invalid private key']);
    expect(await errorOf('verifymessage', 'x', SIGNATURE, MESSAGE)).toEqual([-5, 'Invalid address']);
    const witness = 'bcrt1qt7pza5a6n0awfj0shwp7hyyrpqammac6rj05c6';
    expect(await errorOf('verifymessage', witness, SIGNATURE, MESSAGE)).toEqual([-3, 'Address does not refer to key']);
    expect(await errorOf('verifymessage', address, 'x', MESSAGE)).toEqual([-3, 'Malformed base64 encoding']);
  });
});
