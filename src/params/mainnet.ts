import { hashFromHex } from '../primitives/hash.ts';
import { SCRIPT_FLAGS } from '../script/flags.ts';
import { assumedUtxoSet } from './assume-utxo.ts';
import { HEADLINE_2009 } from './genesis.ts';
import type { NetworkParams } from './network-params.ts';
import { NEVER_ACTIVE_TESTDUMMY } from './testdummy.ts';

export const mainnet: NetworkParams = {
  name: 'main',
  isTestnet: false,
  magic: 0xd9b4_bef9,
  ports: { p2p: 8333, http: 8332 },
  address: { p2pkh: 0x00, p2sh: 0x05, hrp: 'bc' },
  wif: 0x80,
  bip32: { public: 0x0488_b21e, private: 0x0488_ade4 },
  slip44: 0,
  genesis: { ...HEADLINE_2009, version: 1, time: 1_231_006_505, bits: 0x1d00_ffff, nonce: 2_083_236_893 },
  consensus: {
    genesisHash: hashFromHex('000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f'),
    subsidyHalvingInterval: 210_000,
    // BIP-90: fixed activation heights, without counting version bits.
    bip34Height: 227_931,
    bip34Hash: hashFromHex('000000000000024b89b42a942fe0d9fea3bb44ab7bd1b19115dd6a759c0808b8'),
    bip65Height: 388_381,
    bip66Height: 363_725,
    csvHeight: 419_328,
    segwitHeight: 481_824,
    minBip9WarningHeight: 711_648,
    scriptFlagExceptions: new Map([
      // Violates BIP-16.
      ['00000000000002dc756eebf4f49723ed8d30cc28a5f108eb94b1ba88ac4f9c22', 0],
      // Violates BIP-341.
      ['0000000000000000000f14c35b2d841e986ab5441de8c585d5ffe55ea1e395ad', SCRIPT_FLAGS.P2SH | SCRIPT_FLAGS.WITNESS],
    ]),
    powLimit: (1n << 224n) - 1n,
    powTargetSpacing: 600,
    powTargetTimespan: 1_209_600,
    allowMinDifficultyBlocks: false,
    enforceBip94: false,
    noRetargeting: false,
    deployments: {
      testdummy: NEVER_ACTIVE_TESTDUMMY,
    },
    minimumChainWork: 0x1_1287_50f8_2f4c_3661_53a3_a030n,
    // Height 938,343.
    assumeValid: hashFromHex('00000000000000000000ccebd6d74d9194d8dcdc1d177c478e094bfad51ba5ac'),
    signetChallenge: null,
  },
  dnsSeeds: [
    'dnsseed.bluematt.me',
    'seed.bitcoin.jonasschnelli.ch',
    'seed.btc.petertodd.net',
    'seed.bitcoin.sprovoost.nl',
    'dnsseed.emzy.de',
    'seed.bitcoin.wiz.biz',
    'seed.mainnet.achownodes.xyz',
  ],
  pruneAfterHeight: 100_000,
  chainTxData: { time: 1_772_055_173, count: 1_315_805_869, rate: 5.40111006496122 },
  headersSync: { commitmentPeriod: 641, redownloadBufferSize: 15_218 },
  assumedUtxoSets: [
    assumedUtxoSet(
      840_000,
      '0000000000000000000320283a032748cef8227873ff4872689bf23f1cda83a5',
      'a2a5521b1b5ab65f67818e5e8eccabb7171a517f9e2382208f77687310768f96',
      991_032_194,
    ),
    assumedUtxoSet(
      880_000,
      '000000000000000000010b17283c3c400507969a9c2afd1dcf2082ec5cca2880',
      'dbd190983eaf433ef7c15f78a278ae42c00ef52e0fd2a54953782175fbadcea9',
      1_145_604_538,
    ),
    assumedUtxoSet(
      910_000,
      '0000000000000000000108970acb9522ffd516eae17acddcb1bd16469194a821',
      '4daf8a17b4902498c5787966a2b51c613acdab5df5db73f196fa59a4da2f1568',
      1_226_586_151,
    ),
    assumedUtxoSet(
      935_000,
      '0000000000000000000147034958af1652b2b91bba607beacc5e72a56f0fb5ee',
      'e4b90ef9eae834f56c4b64d2d50143cee10ad87994c614d7d04125e2a6025050',
      1_305_397_408,
    ),
  ],
};
