import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { ApiError } from '../../src/http/errors.ts';
import { mainnet } from '../../src/params/mainnet.ts';
import type { NetworkParams } from '../../src/params/network-params.ts';
import { regtest } from '../../src/params/regtest.ts';
import { testnet4 } from '../../src/params/testnet4.ts';
import { parseWatchedDescriptor } from '../../src/queries/watched-descriptor.ts';
import { encodeBase58Check } from '../../src/script/base58.ts';
import { encodeWif } from '../../src/script/wif.ts';
import {
  ExtendedPrivateKey,
  encodeExtendedPublicKey,
  formatExtendedPublicKey,
} from '../../src/wallet/keys/extended-key.ts';
import { HARDENED } from '../../src/wallet/keys/key-path.ts';
import { testSecret } from '../lib/tx-builder.ts';

/** The seed of the words "abandon abandon … about", to which the vectors of BIP-49, BIP-84 and BIP-86 belong. */
const MASTER = ExtendedPrivateKey.fromSeed(
  Uint8Array.fromHex(
    '5eb00bbddcf069084889a8ab9155568165f5c453ccb85e70811aaed6f6da5fc19a5ac40b389cd370d086206dec8aa6c43daea6690f20ad3d8d48b2d2ce9e38e4',
  ),
);

const ZPUB_84 =
  'zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs';
const XPUB_86 =
  'xpub6BgBgsespWvERF3LHQu6CnqdvfEvtMcQjYrcRzx53QJjSxarj2afYWcLteoGVky7D3UKDP9QyrLprQ3VCECoY49yfdDEHGCtMMj92pReUsQ';
const TPRV_49 =
  'tprv8gRrNu65W2Msef2BdBSUgFdRTGzC8EwVXnV7UGS3faeXtuMVtGfEdidVeGbThs4ELEoayCAzZQ4uUji9DUiAs7erdVskqju7hrBcDvDsdbY';

const accountOf = (purpose: number, coin: number) =>
  MASTER.derivePath([purpose, coin, 0].map((step) => step + HARDENED))!;
/** An extended public key of the account with other version bytes (SLIP-132). */
const versioned = (account: ExtendedPrivateKey, version: number) => {
  const payload = new Uint8Array(78);
  new DataView(payload.buffer).setUint32(0, version);
  payload.set(encodeExtendedPublicKey(account.neuter()), 4);
  return encodeBase58Check(payload);
};
const addresses = (text: string, params: NetworkParams, places: readonly (readonly [number, number])[]) => {
  const { branches } = parseWatchedDescriptor(text, params);
  return places.map(([branch, index]) => {
    for (let i = 0; i < index; i++) branches[branch]!.at(i);
    return branches[branch]!.at(index).map(({ address }) => address);
  });
};
const errorOf = (text: string, params: NetworkParams = mainnet) => {
  try {
    parseWatchedDescriptor(text, params);
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  throw new Error('the descriptor was accepted');
};

describe('addresses agree with the published vectors', () => {
  const FIRST_THREE = [
    [0, 0],
    [0, 1],
    [1, 0],
  ] as const;

  test('BIP-44', () => {
    const xpub = versioned(accountOf(44, 0), 0x0488_b21e);
    expect(parseWatchedDescriptor(xpub, mainnet).text).toStartWith(`pkh(${xpub}/<0;1>/*)#`);
    expect(addresses(xpub, mainnet, [[0, 0]])).toEqual([['1LqBGSKuX5yYUonjxT5qGfpUsXKYYWeabA']]);
  });

  test('BIP-49', () => {
    const account = ExtendedPrivateKey.parse(TPRV_49, testnet4.bip32)!;
    const upub = versioned(account, 0x044a_5262);
    expect(upub).toStartWith('upub');
    expect(addresses(upub, testnet4, [[0, 0]])).toEqual([['2Mww8dCYPUpKHofjgcXcBCEGmniw9CoaiD2']]);
    const tpub = formatExtendedPublicKey(account.neuter(), testnet4.bip32);
    expect(parseWatchedDescriptor(upub, testnet4).text).toStartWith(`sh(wpkh(${tpub}/<0;1>/*))#`);
    expect(versioned(account, 0x049d_7cb2)).toStartWith('ypub');
  });

  test('BIP-84', () => {
    expect(addresses(ZPUB_84, mainnet, FIRST_THREE)).toEqual([
      ['bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu'],
      ['bc1qnjg0jd8228aq7egyzacy8cys3knf9xvrerkf9g'],
      ['bc1q8c6fshw2dlwun7ekn9qwf37cu2rn755upcp6el'],
    ]);
    expect(versioned(accountOf(84, 1), 0x045f_1cf6)).toStartWith('vpub');
  });

  test('BIP-86', () => {
    expect(addresses(`tr(${XPUB_86}/<0;1>/*)`, mainnet, FIRST_THREE)).toEqual([
      ['bc1p5cyxnuxmeuwuvkwfem96lqzszd02n6xdcjrs20cac6yqjjwudpxqkedrcr'],
      ['bc1p4qhjn9zdvkux4e44uhx8tc55attvtyu358kutcqkudyccelu0was9fqzwh'],
      ['bc1p3qkhfews2uk44qtvauqyr2ttdsw7svhkl9nkm9s9c3x4ax5h60wqwruhk7'],
    ]);
  });
});

describe('a descriptor is refused', () => {
  test('with a private key, which no error shows', () => {
    const account = accountOf(84, 0);
    const xprv = account.revealText(mainnet.bip32);
    const wif = encodeWif({ secret: testSecret('wif'), compressed: true }, mainnet.wif);
    const uncompressed = encodeWif({ secret: testSecret('wif'), compressed: false }, regtest.wif);
    const zprv = versionedPrivate(account, 0x04b2_430c);
    const mistyped = [xprv.slice(0, -1), `${wif.slice(0, 20)}x${wif.slice(21)}`];
    for (const secret of [xprv, zprv, wif, uncompressed, ...mistyped])
      for (const text of [secret, `wpkh(${secret})`, `wpkh([00000000/84'/0'/0']${secret}/<0;1>/*)#00000000`]) {
        const { failure, message, details } = errorOf(text);
        expect([failure, details]).toEqual(['private_key_refused', null]);
        expect(message).not.toContain(secret.slice(4, 12));
      }
  });

  test('where it is malformed, without its text in the error', () => {
    const xpub = ZPUB_84.slice(4, 40);
    const cases: readonly [string, string][] = [
      ['wpkh(', 'malformed'],
      [`wpkh(${ZPUB_84}/0/*)`, 'malformed'],
      [`wpkh(${XPUB_86.slice(0, -1)}1/0/*)`, 'malformed'],
      [`wpkh(${XPUB_86}/0/*)#aaaaaaaa`, 'checksum'],
      [`wpkh(${XPUB_86}/0/*)#aaa`, 'malformed'],
      [`wpkh(${XPUB_86}/0h/*)`, 'hardened'],
      [`wpkh(${XPUB_86}/0/*h)`, 'hardened'],
      [`unused(${XPUB_86})`, 'no_scripts'],
      [`nothing(${XPUB_86})`, 'malformed'],
      [`[d34db33f/84h/0h]${XPUB_86}`, 'malformed'],
      [`wsh(and_v(v:pk(${XPUB_86}),pk([d34db33f/1]${XPUB_86})))`, 'malformed'],
      [`${ZPUB_84.slice(0, -1)}1`, 'malformed'],
      [`wpkh(${XPUB_86}/<0;1;2;3;4;5;6;7;8;9;10>/*)`, 'malformed'],
      [versioned(accountOf(48, 0), 0x02aa_7ed3), 'multisig_key'],
      [versioned(accountOf(84, 0), 0x045f_1cf6), 'wrong_network'],
    ];
    for (const [text, reason] of cases) {
      const { failure, message, details } = errorOf(text);
      expect([text, failure, details]).toEqual([text, 'invalid_descriptor', { reason }]);
      expect(message).not.toContain(xpub.slice(0, 12));
      expect(message).not.toContain(XPUB_86.slice(0, 12));
      expect(message).not.toContain('d34db33f');
    }
    expect(errorOf(ZPUB_84, regtest).details).toEqual({ reason: 'wrong_network' });
  });

  test('for any text, with an error of the interface', () => {
    const parts = fc.constantFrom(
      'wpkh(',
      'sh(',
      ')',
      XPUB_86,
      ZPUB_84,
      '/<0;1>/*',
      '/*',
      ',',
      '#',
      "'",
      'multi(1,',
      '[',
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(parts, fc.string()), { maxLength: 6 }), (words) => {
        try {
          parseWatchedDescriptor(words.join(''), mainnet);
        } catch (error) {
          expect(error).toBeInstanceOf(ApiError);
          expect((error as ApiError).message).not.toContain(XPUB_86.slice(0, 20));
        }
      }),
    );
  });
});

test('a checksum is optional and checked, and public keys that contain the letters of a private one are accepted', () => {
  const { text } = parseWatchedDescriptor(`wpkh(${XPUB_86}/<0;1>/*)`, mainnet);
  expect(text).toMatch(/#[a-z0-9]{8}$/);
  expect(parseWatchedDescriptor(text, mainnet).text).toBe(text);
  let account = accountOf(84, 0);
  const looksPrivate = /[a-zA-Z]prv[0-9A-Za-z]{20}/;
  for (let i = 0; !looksPrivate.test(versioned(account, 0x0488_b21e).slice(4)); i++) account = MASTER.derive(i)!;
  expect(parseWatchedDescriptor(versioned(account, 0x0488_b21e), mainnet).branches).toHaveLength(2);
});

function versionedPrivate(account: ExtendedPrivateKey, version: number): string {
  const text = account.revealText(mainnet.bip32);
  expect(text).toStartWith('xprv');
  const payload = new Uint8Array(78);
  new DataView(payload.buffer).setUint32(0, version);
  payload.set(encodeExtendedPublicKey(account.neuter()), 4);
  payload[45] = 0;
  payload.set(account.key.reveal(), 46);
  return encodeBase58Check(payload);
}
