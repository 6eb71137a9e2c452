import { describe, expect, test } from 'bun:test';
import { blockScriptFlags } from '../../src/consensus/deployments.ts';
import { genesisBlock } from '../../src/params/genesis.ts';
import type { NetworkName } from '../../src/params/network-params.ts';
import { NETWORK_NAMES, paramsFor } from '../../src/params/networks.ts';
import { chainNameOf } from '../../src/params/signet.ts';
import { parseBlock } from '../../src/primitives/block.ts';
import { type BlockHash, hashFromHex, hashToHex } from '../../src/primitives/hash.ts';
import { scriptFlagNames } from '../../src/script/flags.ts';

/** The four bytes in wire order. */
function magicBytes(magic: number): string {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, magic, true);
  return bytes.toHex();
}

describe('genesis blocks have their known hashes', () => {
  const ROOT_2009 = '4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b';
  test.each<[NetworkName, string, string]>([
    ['main', '000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f', ROOT_2009],
    [
      'testnet4',
      '00000000da84f2bafbbc53dee25a72ae507ff4914b867c565be350b0da8bf043',
      '7aa0a7ae1e223414cb807e40cd57e667b718e42aaf9306db9102fe28912b7b4e',
    ],
    ['signet', '00000008819873e925422c1ff0f99f7cc9bbb232af63a077a480a3633bee1ef6', ROOT_2009],
    ['regtest', '0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206', ROOT_2009],
  ])('%s', (name, hash, root) => {
    const params = paramsFor(name);
    const block = parseBlock(genesisBlock(params));
    expect(hashToHex(block.hash)).toBe(hash);
    expect(hashToHex(params.consensus.genesisHash)).toBe(hash);
    expect(hashToHex(block.header.merkleRoot)).toBe(root);
    expect(hashToHex(block.txs[0]!.txid)).toBe(root);
    expect(block.txs[0]!.tx.outputs[0]!.value).toBe(5_000_000_000n);
  });

  test('the genesis block of the main network has 285 bytes', () =>
    expect(genesisBlock(paramsFor('main')).length).toBe(285));
});

describe('wire and address constants', () => {
  test.each<[NetworkName, string, number, number, number, number, string, number, number, number, number, boolean]>([
    ['main', 'f9beb4d9', 8333, 8332, 0, 5, 'bc', 128, 0x0488b21e, 0x0488ade4, 0, false],
    ['testnet4', '1c163f28', 48333, 48332, 111, 196, 'tb', 239, 0x043587cf, 0x04358394, 1, true],
    ['signet', '0a03cf40', 38333, 38332, 111, 196, 'tb', 239, 0x043587cf, 0x04358394, 1, true],
    ['regtest', 'fabfb5da', 18444, 18443, 111, 196, 'bcrt', 239, 0x043587cf, 0x04358394, 1, true],
  ])('%s', (name, magic, p2p, http, p2pkh, p2sh, hrp, wif, pub, priv, slip44, isTestnet) => {
    const params = paramsFor(name);
    expect(params.name).toBe(name);
    expect(magicBytes(params.magic)).toBe(magic);
    expect(params.ports).toEqual({ p2p, http });
    expect(params.address).toEqual({ p2pkh, p2sh, hrp });
    expect(params.wif).toBe(wif);
    expect(params.bip32).toEqual({ public: pub, private: priv });
    expect(params.slip44).toBe(slip44);
    expect(params.isTestnet).toBe(isTestnet);
  });

  test('names', () => expect(NETWORK_NAMES).toEqual(['main', 'testnet4', 'signet', 'regtest']));
});

describe('main network', () => {
  const { consensus } = paramsFor('main');

  test('activation heights', () => {
    expect(consensus).toMatchObject({
      bip34Height: 227931,
      bip66Height: 363725,
      bip65Height: 388381,
      csvHeight: 419328,
      segwitHeight: 481824,
      subsidyHalvingInterval: 210000,
      powTargetSpacing: 600,
      powTargetTimespan: 1209600,
    });
    expect(hashToHex(consensus.bip34Hash!)).toBe('000000000000024b89b42a942fe0d9fea3bb44ab7bd1b19115dd6a759c0808b8');
  });

  test('minimum work', () =>
    expect(consensus.minimumChainWork.toString(16).padStart(64, '0')).toBe(
      '0000000000000000000000000000000000000001128750f82f4c366153a3a030',
    ));

  test('signet has its own proof-of-work limit', () =>
    expect(paramsFor('signet').consensus.powLimit.toString(16).padStart(64, '0')).toBe(
      '00000377ae000000000000000000000000000000000000000000000000000000',
    ));
});

describe('script flags of a block', () => {
  const flagsAt = (name: NetworkName, height: number, hash = '11'.repeat(32)) =>
    scriptFlagNames(blockScriptFlags(hashFromHex(hash), height, paramsFor(name).consensus)).join();

  test.each([
    [0, 'P2SH,TAPROOT,WITNESS'],
    [363724, 'P2SH,TAPROOT,WITNESS'],
    [363725, 'DERSIG,P2SH,TAPROOT,WITNESS'],
    [388381, 'CHECKLOCKTIMEVERIFY,DERSIG,P2SH,TAPROOT,WITNESS'],
    [419328, 'CHECKLOCKTIMEVERIFY,CHECKSEQUENCEVERIFY,DERSIG,P2SH,TAPROOT,WITNESS'],
    [481824, 'CHECKLOCKTIMEVERIFY,CHECKSEQUENCEVERIFY,DERSIG,NULLDUMMY,P2SH,TAPROOT,WITNESS'],
  ])('main at %p', (height, expected) => expect(flagsAt('main', height)).toBe(expected));

  test('have two exceptions for historical blocks', () => {
    expect(flagsAt('main', 170060, '00000000000002dc756eebf4f49723ed8d30cc28a5f108eb94b1ba88ac4f9c22')).toBe('');
    expect(flagsAt('main', 692261, '0000000000000000000f14c35b2d841e986ab5441de8c585d5ffe55ea1e395ad')).toBe(
      'CHECKLOCKTIMEVERIFY,CHECKSEQUENCEVERIFY,DERSIG,NULLDUMMY,P2SH,WITNESS',
    );
  });

  test('are complete from the first block on regtest', () => {
    expect(flagsAt('regtest', 0)).toBe('NULLDUMMY,P2SH,TAPROOT,WITNESS');
    expect(flagsAt('regtest', 1)).toBe('CHECKLOCKTIMEVERIFY,CHECKSEQUENCEVERIFY,DERSIG,NULLDUMMY,P2SH,TAPROOT,WITNESS');
  });
});

describe('options', () => {
  test('assumeValid and minimumChainWork replace those of the network, and nothing else', () => {
    const hash = hashFromHex<BlockHash>('ab'.repeat(32));
    const changed = paramsFor('main', { assumeValid: hash, minimumChainWork: 5n });
    const usual = paramsFor('main');
    expect(changed).toEqual({ ...usual, consensus: { ...usual.consensus, assumeValid: hash, minimumChainWork: 5n } });
    expect(paramsFor('main', { assumeValid: null }).consensus.assumeValid).toBeNull();
    expect(paramsFor('main').consensus.assumeValid).not.toBeNull();
  });

  test('testActivationHeight sets activation heights of regtest', () => {
    const { consensus } = paramsFor('regtest', {
      testActivationHeight: ['segwit@1', 'bip34@2', 'dersig@3', 'cltv@4', 'csv@5', 'csv@432'],
    });
    expect(consensus).toMatchObject({
      segwitHeight: 1,
      bip34Height: 2,
      bip66Height: 3,
      bip65Height: 4,
      csvHeight: 432,
    });
    expect(paramsFor('regtest').consensus.csvHeight).toBe(1);
  });

  test.each([
    ['segwit', 'Invalid format (segwit) for -testactivationheight=name@height.'],
    ['taproot@1', 'Invalid name (taproot@1) for -testactivationheight=name@height.'],
    ['toString@1', 'Invalid name (toString@1) for -testactivationheight=name@height.'],
    ['csv@-1', 'Invalid height value (csv@-1) for -testactivationheight=name@height.'],
    ['csv@', 'Invalid height value (csv@) for -testactivationheight=name@height.'],
    ['csv@1e3', 'Invalid height value (csv@1e3) for -testactivationheight=name@height.'],
    ['csv@2147483647', 'Invalid height value (csv@2147483647) for -testactivationheight=name@height.'],
  ])('testActivationHeight %p is refused', (text, message) =>
    expect(() => paramsFor('regtest', { testActivationHeight: [text] })).toThrow(message),
  );

  test('testActivationHeight is rejected on other networks', () =>
    expect(() => paramsFor('main', { testActivationHeight: ['csv@1'] })).toThrow('regtest only'));

  test('signetChallenge creates a custom signet', () => {
    const own = paramsFor('signet', { signetChallenge: Uint8Array.of(0x51) });
    expect(own.consensus.signetChallenge).toEqual(Uint8Array.of(0x51));
    expect(own.consensus.minimumChainWork).toBe(0n);
    expect(own.consensus.assumeValid).toBeNull();
    expect(own.dnsSeeds).toEqual([]);
    expect([own, paramsFor('signet')].map(chainNameOf)).toEqual(['signet-54d26fbd', 'signet']);
    // The first bytes of the double SHA-256 of the challenge with its length.
    expect(magicBytes(own.magic)).toBe('54d26fbd');
    expect(own.consensus.genesisHash).toBe(paramsFor('signet').consensus.genesisHash);
    expect(() => paramsFor('regtest', { signetChallenge: Uint8Array.of(0x51) })).toThrow('signet only');
  });
});
