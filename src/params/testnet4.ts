import { hashFromHex } from '../primitives/hash.ts';
import { assumedUtxoSet } from './assume-utxo.ts';
import type { NetworkParams } from './network-params.ts';
import { NEVER_ACTIVE_TESTDUMMY } from './testdummy.ts';

/** The fourth public test network (BIP-94). */
export const testnet4: NetworkParams = {
  name: 'testnet4',
  isTestnet: true,
  magic: 0x283f_161c,
  ports: { p2p: 48_333, http: 48_332 },
  address: { p2pkh: 0x6f, p2sh: 0xc4, hrp: 'tb' },
  wif: 0xef,
  bip32: { public: 0x0435_87cf, private: 0x0435_8394 },
  slip44: 1,
  genesis: {
    version: 1,
    time: 1_714_777_860,
    bits: 0x1d00_ffff,
    nonce: 393_743_547,
    message: '03/May/2024 000000000000000000001ebd58c244970b3aa9d783bb001011fbe8ea8e98e00e',
    publicKey: '00'.repeat(33),
  },
  consensus: {
    genesisHash: hashFromHex('00000000da84f2bafbbc53dee25a72ae507ff4914b867c565be350b0da8bf043'),
    subsidyHalvingInterval: 210_000,
    bip34Height: 1,
    bip34Hash: null,
    bip65Height: 1,
    bip66Height: 1,
    csvHeight: 1,
    segwitHeight: 1,
    minBip9WarningHeight: 0,
    scriptFlagExceptions: new Map(),
    powLimit: (1n << 224n) - 1n,
    powTargetSpacing: 600,
    powTargetTimespan: 1_209_600,
    allowMinDifficultyBlocks: true,
    enforceBip94: true,
    noRetargeting: false,
    deployments: {
      testdummy: { ...NEVER_ACTIVE_TESTDUMMY, threshold: 1512 },
    },
    minimumChainWork: 0x9a0_fe15_d017_7d08_6304n,
    // Height 123,613.
    assumeValid: hashFromHex('0000000002368b1e4ee27e2e85676ae6f9f9e69579b29093e9a82c170bf7cf8a'),
    signetChallenge: null,
  },
  dnsSeeds: ['seed.testnet4.bitcoin.sprovoost.nl', 'seed.testnet4.wiz.biz'],
  pruneAfterHeight: 1000,
  chainTxData: { time: 1_772_013_387, count: 14_191_421, rate: 0.01848579579528412 },
  headersSync: { commitmentPeriod: 606, redownloadBufferSize: 16_092 },
  assumedUtxoSets: [
    assumedUtxoSet(
      90_000,
      '0000000002ebe8bcda020e0dd6ccfbdfac531d2f6a81457191b99fc2df2dbe3b',
      '784fb5e98241de66fdd429f4392155c9e7db5c017148e66e8fdbc95746f8b9b5',
      11_347_043,
    ),
    assumedUtxoSet(
      120_000,
      '000000000bd2317e51b3c5794981c35ba894ce27d3e772d5c39ecd9cbce01dc8',
      '10b05d05ad468d0971162e1b222a4aa66caca89da2bb2a93f8f37fb29c4794b0',
      14_141_057,
    ),
  ],
};
