import type { ConsensusParams } from '../consensus/consensus-params.ts';
import { hashFromHex } from '../primitives/hash.ts';
import { assumedUtxoSet } from './assume-utxo.ts';
import { HEADLINE_2009 } from './genesis.ts';
import type { NetworkParams } from './network-params.ts';

/** The network for local tests, whose blocks cost almost no work. */
export const regtest: NetworkParams = {
  name: 'regtest',
  isTestnet: true,
  magic: 0xdab5_bffa,
  ports: { p2p: 18_444, http: 18_443 },
  address: { p2pkh: 0x6f, p2sh: 0xc4, hrp: 'bcrt' },
  wif: 0xef,
  bip32: { public: 0x0435_87cf, private: 0x0435_8394 },
  slip44: 1,
  genesis: { ...HEADLINE_2009, version: 1, time: 1_296_688_602, bits: 0x207f_ffff, nonce: 2 },
  consensus: {
    genesisHash: hashFromHex('0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206'),
    subsidyHalvingInterval: 150,
    bip34Height: 1,
    bip34Hash: null,
    bip65Height: 1,
    bip66Height: 1,
    csvHeight: 1,
    segwitHeight: 0,
    minBip9WarningHeight: 0,
    scriptFlagExceptions: new Map(),
    powLimit: (1n << 255n) - 1n,
    powTargetSpacing: 600,
    powTargetTimespan: 86_400,
    allowMinDifficultyBlocks: true,
    enforceBip94: false,
    noRetargeting: true,
    deployments: {
      testdummy: { bit: 28, startTime: 0, timeout: 'no-timeout', minActivationHeight: 0, period: 144, threshold: 108 },
    },
    minimumChainWork: 0n,
    assumeValid: null,
    signetChallenge: null,
  },
  dnsSeeds: [],
  pruneAfterHeight: 1000,
  chainTxData: { time: 0, count: 0, rate: 0.001 },
  headersSync: { commitmentPeriod: 275, redownloadBufferSize: 7017 },
  assumedUtxoSets: [
    assumedUtxoSet(
      110,
      '135eec25a6fb277884e5824e7aa7d052c4868161c99a5122170b5266f86c273d',
      '86e9a1205b418b16dde3a18a78c730e30137e28466bda5dbf6b33ab8fc05447c',
      111,
    ),
    assumedUtxoSet(
      200,
      '385901ccbd69dff6bbd00065d01fb8a9e464dede7cfe0372443884f9b1dcf6b9',
      '17dcc016d188d16068907cdeb38b75691a118d43053b8cd6a25969419381d13a',
      201,
    ),
    assumedUtxoSet(
      299,
      '0c552ced4721c249a389eb9b08cb8da261cd46f0e7b5f9d064d48f3113406853',
      '106b2c56233e378a824cf0d5ff2be42ed32c72f1605c9be288d00942908a40ac',
      334,
    ),
  ],
};

const HEIGHT_FIELDS = {
  segwit: 'segwitHeight',
  bip34: 'bip34Height',
  dersig: 'bip66Height',
  cltv: 'bip65Height',
  csv: 'csvHeight',
} as const satisfies Record<string, keyof ConsensusParams>;

/**
 * Returns regtest with other activation heights, each as `name@height`, and with or without the rules of BIP-94. Throws on
 * an invalid height.
 */
export function regtestWith(
  testActivationHeights: readonly string[],
  { enforceBip94 = false }: { readonly enforceBip94?: boolean } = {},
): NetworkParams {
  const heights: Partial<Record<(typeof HEIGHT_FIELDS)[keyof typeof HEIGHT_FIELDS], number>> = {};
  for (const text of testActivationHeights) {
    const at = text.indexOf('@');
    if (at < 0) throw new Error(`Invalid format (${text}) for -testactivationheight=name@height.`);
    const name = text.slice(0, at);
    const digits = text.slice(at + 1);
    const height = Number(digits);
    if (!/^\d+$/.test(digits) || height >= 0x7fff_ffff)
      throw new Error(`Invalid height value (${text}) for -testactivationheight=name@height.`);
    if (!Object.hasOwn(HEIGHT_FIELDS, name))
      throw new Error(`Invalid name (${text}) for -testactivationheight=name@height.`);
    heights[HEIGHT_FIELDS[name as keyof typeof HEIGHT_FIELDS]] = height;
  }
  return { ...regtest, consensus: { ...regtest.consensus, ...heights, enforceBip94 } };
}
