import { hash256 } from '../crypto/hash-functions.ts';
import { writeVarBytes } from '../primitives/compact-size.ts';
import { hashFromHex } from '../primitives/hash.ts';
import { ByteWriter, hexToBytes } from '../util/bytes.ts';
import { assumedUtxoSet } from './assume-utxo.ts';
import { HEADLINE_2009 } from './genesis.ts';
import type { NetworkParams } from './network-params.ts';
import { NEVER_ACTIVE_TESTDUMMY } from './testdummy.ts';

/** 1-of-2 multisig of the operators of the public signet. */
const PUBLIC_CHALLENGE = hexToBytes(
  '512103ad5e0edad18cb1f0fc0d28a3d4f1f3e445640337489abb10404f2d1e086be430210359ef5021964fe22d6f8e05b2463c9540ce96883fe3b278760f048f5189f2e6c452ae',
);

/** The public test network with signed blocks (BIP-325). */
export const signet: NetworkParams = {
  name: 'signet',
  isTestnet: true,
  magic: signetMagic(PUBLIC_CHALLENGE),
  ports: { p2p: 38_333, http: 38_332 },
  address: { p2pkh: 0x6f, p2sh: 0xc4, hrp: 'tb' },
  wif: 0xef,
  bip32: { public: 0x0435_87cf, private: 0x0435_8394 },
  slip44: 1,
  genesis: { ...HEADLINE_2009, version: 1, time: 1_598_918_400, bits: 0x1e03_77ae, nonce: 52_613_770 },
  consensus: {
    genesisHash: hashFromHex('00000008819873e925422c1ff0f99f7cc9bbb232af63a077a480a3633bee1ef6'),
    subsidyHalvingInterval: 210_000,
    bip34Height: 1,
    bip34Hash: null,
    bip65Height: 1,
    bip66Height: 1,
    csvHeight: 1,
    segwitHeight: 1,
    minBip9WarningHeight: 0,
    scriptFlagExceptions: new Map(),
    powLimit: 0x377aen << 216n,
    powTargetSpacing: 600,
    powTargetTimespan: 1_209_600,
    allowMinDifficultyBlocks: false,
    enforceBip94: false,
    noRetargeting: false,
    deployments: {
      testdummy: NEVER_ACTIVE_TESTDUMMY,
    },
    minimumChainWork: 0xb46_3ea0_a4b8n,
    // Height 293,175.
    assumeValid: hashFromHex('00000008414aab61092ef93f1aacc54cf9e9f16af29ddad493b908a01ff5c329'),
    signetChallenge: PUBLIC_CHALLENGE,
  },
  dnsSeeds: ['seed.signet.bitcoin.sprovoost.nl', 'seed.signet.achownodes.xyz'],
  pruneAfterHeight: 1000,
  chainTxData: { time: 1_772_055_248, count: 28_676_833, rate: 0.06736623436338929 },
  headersSync: { commitmentPeriod: 620, redownloadBufferSize: 15_724 },
  assumedUtxoSets: [
    assumedUtxoSet(
      160_000,
      '0000003ca3c99aff040f2563c2ad8f8ec88bd0fd6b8f0895cfaf1ef90353a62c',
      'fe0a44309b74d6b5883d246cb419c6221bcccf0b308c9b59b7d70783dbdf928a',
      2_289_496,
    ),
    assumedUtxoSet(
      290_000,
      '0000000577f2741bb30cd9d39d6d71b023afbeb9764f6260786a97969d5c9ac0',
      '97267e000b4b876800167e71b9123f1529d13b14308abec2888bbd2160d14545',
      28_547_497,
    ),
  ],
};

/** Returns the parameters of a custom signet: its challenge and magic, without seeds and without known work. */
export function customSignet(challenge: Uint8Array): NetworkParams {
  return {
    ...signet,
    magic: signetMagic(challenge),
    consensus: { ...signet.consensus, signetChallenge: challenge, minimumChainWork: 0n, assumeValid: null },
    dnsSeeds: [],
    assumedUtxoSets: [],
    chainTxData: { time: 0, count: 0, rate: 0 },
  };
}

/** Whether a network is a custom signet. */
export function isCustomSignet({ name, magic }: Pick<NetworkParams, 'name' | 'magic'>): boolean {
  return name === 'signet' && magic !== signet.magic;
}

/**
 * Returns the name by which stored data belongs to a chain: that of the network, and for a custom signet also its magic,
 * since all signets have the same genesis block.
 */
export function chainNameOf(params: NetworkParams): string {
  return isCustomSignet(params) ? `signet-${magicHex(params)}` : params.name;
}

/** Returns the message start of a network in hexadecimal digits, as it is sent. */
export function magicHex({ magic }: NetworkParams): string {
  const w = new ByteWriter(4);
  w.u32(magic);
  return w.finish().toHex();
}

/** Returns the message start: the first four bytes of the hash of the challenge (BIP-325). */
function signetMagic(challenge: Uint8Array): number {
  const w = new ByteWriter();
  writeVarBytes(w, challenge);
  const hash = hash256(w.finish());
  return new DataView(hash.buffer, hash.byteOffset).getUint32(0, true);
}
