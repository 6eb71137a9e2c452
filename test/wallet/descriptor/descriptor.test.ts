import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { publicKeyOf } from '../../../src/crypto/keys.ts';
import { aggregatePublicKeys } from '../../../src/crypto/musig.ts';
import { mainnet } from '../../../src/params/mainnet.ts';
import { regtest } from '../../../src/params/regtest.ts';
import { encodeWif } from '../../../src/script/wif.ts';
import { addChecksum, checksumOf, descriptorChecksum } from '../../../src/wallet/descriptor/checksum.ts';
import { DescriptorCache } from '../../../src/wallet/descriptor/descriptor-cache.ts';
import { inferDescriptor } from '../../../src/wallet/descriptor/infer.ts';
import { parseDescriptor } from '../../../src/wallet/descriptor/parse-descriptor.ts';
import { buildTaproot, inferTaprootTree, isWholeTree } from '../../../src/wallet/descriptor/taproot-tree.ts';
import { ExtendedPrivateKey, formatExtendedPublicKey } from '../../../src/wallet/keys/extended-key.ts';
import { NO_SIGNING_DATA, SigningData } from '../../../src/wallet/keys/signing-data.ts';

const KEY = '03a34b99f22c790c4e36b2b3c2c35a36db06226e41c692fc82b8b56ac1c540c5bd';
const OTHER = '02c6047f9441ed7d6d3045406e95c07cd85c778e4b8cef3ca7abac09b95c709ee5';
const UNCOMPRESSED = `04a34b99f22c790c4e36b2b3c2c35a36db06226e41c692fc82b8b56ac1c540c5bd5b8dec5235a0fa8722476c7709c02559e3aa73aa03918ba2d492eea75abea235`;
const X_ONLY = KEY.slice(2);
const WIF = 'L4rK1yDtCWekvXuE6oXD9jCYfFNV2cWRpVuPLBcCU2z8TrisoyY1';
const XPUB =
  'xpub68NZiKmJWnxxS6aaHmn81bvJeTESw724CRDs6HbuccFQN9Ku14VQrADWgqbhhTHBaohPX4CjNLf9fq9MYo6oDaPPLPxSb7gwQN3ih19Zm4Y';
const XPRV =
  'xprv9uPDJpEQgRQfDcW7BkF7eTya6RPxXeJCqCJGHuCJ4GiRVLzkTXBAJMu2qaMWPrS7AANYqdq6vcBcBUdJCVVFceUvJFjaPdGZ2y9WACViL4L';

function one(text: string) {
  const parsed = parseDescriptor(text, mainnet);
  if (!parsed.ok) throw new Error(parsed.error);
  return parsed.descriptors[0]!;
}

const errorOf = (text: string, options = {}) => {
  const parsed = parseDescriptor(text, mainnet, options);
  return parsed.ok ? null : parsed.error;
};
const scriptsOf = (text: string, index = 0) =>
  one(text)
    .expand(index, NO_SIGNING_DATA)!
    .scripts.map((script) => script.toHex());

describe('checksum', () => {
  // BIP-380.
  test('the checksum of a descriptor is verified, and required on request (BIP-380)', () => {
    expect(errorOf('raw(deadbeef)#89f8spxm')).toBeNull();
    expect(errorOf('raw(deadbeef)')).toBeNull();
    expect(errorOf('raw(deadbeef)', { requireChecksum: true })).toBe('Missing checksum');
    expect(errorOf('raw(deadbeef)#')).toBe('Expected 8 character checksum, not 0 characters');
    expect(errorOf('raw(deadbeef)#89f8spxmx')).toBe('Expected 8 character checksum, not 9 characters');
    expect(errorOf('raw(deadbeef)#89f8spx')).toBe('Expected 8 character checksum, not 7 characters');
    expect(errorOf('raw(deedbeef)#89f8spxm')).toStartWith("Provided checksum '89f8spxm' does not match computed");
    expect(errorOf('raw(deadbeef)##9f8spxm')).toBe("Multiple '#' symbols");
    expect(errorOf('raw(Ü)#00000000')).toBe('Invalid characters in payload');
    expect(descriptorChecksum('raw(deadbeef)')).toBe('89f8spxm');
    expect(descriptorChecksum('raw(deadbeef)#89f8spxn')).toBeNull();
  });

  test('the checksum detects any changed character', () => {
    const text = `wpkh([d34db33f/84h/0h]${XPUB}/0/*)`;
    const charset = '0123456789()[],\'/*abcdefgh@:$%{}IJKLMNOPQRSTUVWXYZ&+-.;<=>?!^_|~ijklmnopqrstuvwxyzABCDEFGH`#"\\ ';
    fc.assert(
      fc.property(fc.nat(text.length - 1), fc.nat(charset.length - 1), (at, char) => {
        const changed = text.slice(0, at) + charset[char] + text.slice(at + 1);
        expect(checksumOf(changed) === checksumOf(text)).toBe(changed === text);
      }),
    );
  });
});

// BIP-381 to BIP-386.
describe('scripts of descriptors', () => {
  test.each([
    [`pk(${WIF})`, [`21${KEY}ac`]],
    [`pkh(${UNCOMPRESSED})`, ['76a914b5bd079c4d57cc7fc28ecf8213a6b791625b818388ac']],
    [`sh(pk(${KEY}))`, ['a9141857af51a5e516552b3086430fd8ce55f7c1a52487']],
    [`wpkh(${KEY})`, ['00149a1c78a507689f6f54b847ad1cef1e614ee23f1e']],
    [`sh(wpkh(${KEY}))`, ['a91484ab21b1b2fd065d4504ff693d832434b6108d7b87']],
    [`wsh(pkh(${KEY}))`, ['0020338e023079b91c58571b20e602d7805fb808c22473cbc391a41b1bd3a192e75b']],
    [`sh(wsh(pk(${KEY})))`, ['a91472d0c5a3bfad8c3e7bd5303a72b94240e80b6f1787']],
    [
      `combo(${KEY})`,
      [
        `21${KEY}ac`,
        '76a9149a1c78a507689f6f54b847ad1cef1e614ee23f1e88ac',
        '00149a1c78a507689f6f54b847ad1cef1e614ee23f1e',
        'a91484ab21b1b2fd065d4504ff693d832434b6108d7b87',
      ],
    ],
    [`combo(${UNCOMPRESSED})`, [`41${UNCOMPRESSED}ac`, '76a914b5bd079c4d57cc7fc28ecf8213a6b791625b818388ac']],
    ['raw(6a4c4f)', ['6a4c4f']],
    ['addr(3PUNyaW7M55oKWJ3kDukwk9bsKvryra15j)', ['a914eeed24b6dc3f04a3fb1b6f6d5b5e6d1bd6e6a6a187']],
    [`tr(${X_ONLY})`, ['512077aab6e066f8a7419c5ab714c12c67d25007ed55a43cadcacb4d7a970a093f11']],
    [
      `tr(${X_ONLY},pk(669b8afcec803a0d323e9a17f3ea8e68e8abe5a278020a929adbec52421adbd0))`,
      ['512017cf18db381d836d8923b1bdb246cfcd818da1a9f0e6e7907f187f0b2f937754'],
    ],
    [`rawtr(${X_ONLY})`, [`5120${X_ONLY}`]],
    [`unused(${KEY})`, []],
    [`multi(1,${KEY},${OTHER})`, [`5121${KEY}21${OTHER}52ae`]],
    [`sortedmulti(1,${KEY},${OTHER})`, [`5121${OTHER}21${KEY}52ae`]],
  ])('%s', (text, scripts) => {
    if (text.startsWith('addr')) expect(one(text).toString()).toBe(addChecksum(text));
    else expect(scriptsOf(text)).toEqual(scripts);
  });

  test('multi_a and sortedmulti_a commit to their keys in the given and in the sorted order', () => {
    const leaf = (name: string) =>
      [...one(`tr(${X_ONLY},${name}(2,${KEY},${OTHER}))`).expand(0, NO_SIGNING_DATA)!.data.taproots.values()][0]!
        .leaves[0]!.script;
    expect(leaf('multi_a').toHex()).toBe(`20${X_ONLY}ac20${OTHER.slice(2)}ba529c`);
    expect(leaf('sortedmulti_a').toHex()).toBe(`20${X_ONLY}ac20${OTHER.slice(2)}ba529c`);
  });
});

describe('parsing errors have the texts of Bitcoin Core', () => {
  const keys = (count: number) => Array<string>(count).fill(KEY).join();
  test.each([
    ['', "'' is not a valid descriptor function"],
    ['foo()', "'foo()' is not a valid descriptor function"],
    ['pkh()', 'pkh(): No key provided'],
    [`pkh( ${KEY})`, `pkh(): Key ' ${KEY}' is invalid due to whitespace`],
    ['pkh(asdf)', "pkh(): key 'asdf' is not valid"],
    ['pkh(00)', "pkh(): Pubkey '00' is invalid"],
    [`pkh(${KEY}/0)`, `pkh(): key '${KEY}' is not valid`],
    [`pkh(${XPUB}/<0>)`, 'pkh(): Multipath key path specifiers must have at least two items'],
    [`pkh(${XPUB}/<0;1>/<0;1>)`, 'pkh(): Multiple multipath key path specifiers found'],
    [`pkh(${XPUB}/<0;0>)`, 'pkh(): Duplicated key path value 0 in multipath specifier'],
    [`pkh(${XPUB}/*/0)`, "pkh(): Key path value '*' is not a valid uint32"],
    [
      `pkh([aaaaaaaa/<0;1>]${XPUB})`,
      "pkh(): Key path value '<0;1>' specifies multipath in a section where multipath is not allowed",
    ],
    [`pkh([aaaaaaa]${XPUB})`, 'pkh(): Fingerprint is not 4 bytes (7 characters instead of 8 characters)'],
    [`pkh([aaaaaaag]${XPUB})`, "pkh(): Fingerprint 'aaaaaaag' is not hex"],
    [`pkh(]${XPUB})`, "pkh(): Key origin start '[ character expected but not found, got ']' instead"],
    [`wpkh(${UNCOMPRESSED})`, 'wpkh(): Uncompressed keys are not allowed'],
    [`wsh(wpkh(${KEY}))`, 'Can only have wpkh() at top level or inside sh()'],
    [`sh(sh(pk(${KEY})))`, 'Can only have sh() at top level'],
    [`wsh(wsh(pk(${KEY})))`, 'Can only have wsh() at top level or inside sh()'],
    [`sh(combo(${KEY}))`, 'Can only have combo() at top level'],
    [`wsh(tr(${KEY}))`, 'Can only have tr at top level'],
    ['sh(raw(00))', 'Can only have raw() at top level'],
    ['sh(addr(x))', 'Can only have addr() at top level'],
    ['raw()', 'Raw script is not hex'],
    ['addr(x)', 'Address is not valid'],
    ['sh(foo)', 'A function is needed within P2SH'],
    ['wsh(foo)', 'A function is needed within P2WSH'],
    [`sh(multi(0,${KEY}))`, 'Multisig threshold cannot be 0, must be at least 1'],
    [
      `sh(multi(2,${KEY}))`,
      'Multisig threshold cannot be larger than the number of keys; threshold is 2 but only 1 keys specified',
    ],
    ['sh(multi(1))', 'Cannot have 0 keys in multisig; must have between 1 and 20 keys, inclusive'],
    [`wsh(multi(1,${keys(21)}))`, 'Cannot have 21 keys in multisig; must have between 1 and 20 keys, inclusive'],
    [`multi(1,${keys(4)})`, 'Cannot have 4 pubkeys in bare multisig; only at most 3 pubkeys'],
    [`sh(multi(1,${keys(16)}))`, 'P2SH script is too large, 547 bytes is larger than 520 bytes'],
    [`tr(${KEY},multi(1,${KEY}))`, 'Can only have multi/sortedmulti at top level, in sh(), or in wsh()'],
    [`wsh(multi_a(1,${KEY}))`, 'Can only have multi_a/sortedmulti_a inside tr()'],
    [`rawtr(${KEY},${KEY})`, 'rawtr(): only one key expected.'],
    [`unused(${XPUB}/*)`, 'unused(): key cannot be ranged'],
    [`tr(${KEY},{pk(${KEY}))`, "tr(): expected ',' after script expression"],
    [`tr(${KEY},{pk(${KEY}),pk(${KEY})`, `'pk(${KEY}' is not a valid descriptor function`],
    [`tr(${KEY},${'{'.repeat(129)}pk(${KEY}))`, 'tr() supports at most 128 nesting levels'],
    [`wsh(older(1))`, 'older(1) is not sane: witnesses without signature exist'],
    ['pk(musig(a))', 'pk(): musig() is only allowed in tr() and rawtr()'],
    [`wsh(pk(${KEY})),`, ''],
  ])('%s', (text, error) => expect(errorOf(text)).toBe(error));

  test('errors do not contain private keys', () => {
    expect(errorOf(`pkh(${WIF}/0)`)).toBe("pkh(): key 'L4rK…' is not valid");
    expect(errorOf(`foo(${XPRV}/0)`)).toBe("'foo(xprv…/0)' is not a valid descriptor function");
    // Keys of another network, or mistyped.
    expect(errorOf(`pkh(${encodeWif({ secret: new Uint8Array(32).fill(1), compressed: true }, 0xef)})`)).toContain('…');
    expect(errorOf(`pkh(${XPRV.slice(0, -1)}Z)`)).toBe("pkh(): key 'xprv…' is not valid");
    expect(errorOf(`wsh(and_v(v:pk(${XPRV}),pk(${XPRV})))`)).not.toContain('prv');
  });

  // BIP-32: the depth of an extended key is one byte.
  test('a path of more than 255 steps is rejected, behind a key and in its origin', () => {
    const steps = (count: number) => '/0'.repeat(count);
    expect(errorOf(`pkh(${XPUB}${steps(255)}/*)`)).toBeNull();
    expect(errorOf(`pkh([d34db33f${steps(255)}]${KEY})`)).toBeNull();
    const error = (count: number) => `pkh(): Key path has ${count} steps; at most 255 are possible`;
    expect(errorOf(`pkh(${XPUB}${steps(256)}/*)`)).toBe(error(256));
    expect(errorOf(`pkh([d34db33f${steps(100_000)}]${KEY})`)).toBe(error(100_000));
  });

  test('a short text that expands to a long list is rejected', () => {
    const paths = `<${Array.from({ length: 2000 }, (_, i) => i).join(';')}>`;
    expect(errorOf(`pkh(${XPUB}/${paths}/0)`)).toBeNull();
    const many = `<${Array.from({ length: 4000 }, (_, i) => i).join(';')}>`;
    expect(errorOf(`pkh(${XPUB}/${many}${'/0'.repeat(254)})`)).toBe('pkh(): Multipath key path has too many steps');
    expect(errorOf(`tr(${KEY},multi_a(1,${XPUB}/${paths},${keys(600)}))`)).toBe(
      'Multipath descriptor has too many keys',
    );
    // Keys are few here; what stands beside them is written for each path.
    const script = (size: number) => `${'and_v(v:older(1),'.repeat(size)}pk(${KEY.slice(2)})${')'.repeat(size)}`;
    expect(errorOf(`tr(${XPUB}/${paths},${script(1000)})`)).toBeNull();
    expect(errorOf(`tr(${XPUB}/${paths},${script(4000)})`)).toBe('Multipath descriptor is too long');
    expect(errorOf(`raw(${'00'.repeat(1_000_000)})`)).toBe('Descriptor is too long');
  });

  test('a key of another network is rejected', () => {
    const parsed = parseDescriptor(`pkh(${XPUB})`, regtest);
    expect(parsed).toEqual({ ok: false, error: `pkh(): key '${XPUB}' is not valid` });
  });
});

describe('private keys of a descriptor', () => {
  const parsed = parseDescriptor(`wsh(multi(1,${XPRV}/1h/*,[d34db33f/2']${WIF}))`, mainnet);
  if (!parsed.ok) throw new Error(parsed.error);
  const { keys } = parsed;
  const [descriptor] = parsed.descriptors;

  test('private keys are in the provider and never in the public text', () => {
    expect(keys.privateKeys.size).toBe(2);
    expect(descriptor!.toString()).toBe(addChecksum(`wsh(multi(1,${XPUB}/1h/*,[d34db33f/2']${KEY}))`));
    expect(Bun.inspect(parsed, { depth: 20 })).not.toContain('prv');
  });

  test('the private text has the private keys that the provider knows', () => {
    expect(descriptor!.toPrivateString(keys)).toEqual({
      text: addChecksum(`wsh(multi(1,${XPRV}/1h/*,[d34db33f/2']${WIF}))`),
      hasPrivateKey: true,
    });
    const some = new SigningData();
    some.addPrivateKey([...keys.privateKeys.values()].find((key) => key.publicKey.toHex() === KEY)!);
    expect(descriptor!.toPrivateString(some)).toEqual({
      text: addChecksum(`wsh(multi(1,${XPUB}/1h/*,[d34db33f/2']${WIF}))`),
      hasPrivateKey: true,
    });
    expect(descriptor!.hasPrivateKeys(keys)).toBe(true);
    expect(descriptor!.hasPrivateKeys(some)).toBe(false);
    expect(descriptor!.expandPrivate(3, some).length).toBe(1);
  });

  test('private keys are needed once for hardened steps, which the cache then replaces', () => {
    expect(descriptor!.expand(0, NO_SIGNING_DATA)).toBeNull();
    const cache = new DescriptorCache();
    descriptor!.expand(0, keys, cache);
    expect(descriptor!.expandFromCache(9, cache)!.scripts).toEqual(descriptor!.expand(9, keys)!.scripts);
  });
});

// BIP-390.
test('musig() derives the aggregate keys of BIP-327 and BIP-390', () => {
  const [first, second] = [
    '02f9308a019258c31049344f85f89d5229b531c845836f99b08601f113bce036f9',
    '03dff1d77f2a671c5f36183726db2341be58feae1da2deced843240f7b502ba659',
  ];
  const third = '023590a94e768f8e1815c2f24b4d80a8e3149316c3518ce7b7ad338368d038ca66';
  // BIP-327, key aggregation.
  const aggregate = aggregatePublicKeys([first, second, third].map((hex) => Uint8Array.fromHex(hex!)));
  expect(aggregate!.toHex().slice(2).toUpperCase()).toBe(
    '90539EEDE565F5D054F32CC0C220126889ED1E5D193BAF15AEF344FE59D4610C',
  );
  const text = `rawtr(musig(${first},${second},${third}))`;
  expect(one(text).toString()).toBe(addChecksum(text));
  expect(scriptsOf(text)).toEqual(scriptsOf(`rawtr(musig(${third},${second},${first}))`));
});

const secrets = fc.integer({ min: 1, max: 1000 }).map((n) => new Uint8Array(32).with(31, n & 0xff).with(30, n >> 8));
const origins = fc.option(
  fc
    .tuple(fc.integer({ min: 0, max: 0xffff_ffff }), fc.array(fc.tuple(fc.nat(99), fc.boolean()), { maxLength: 3 }))
    .map(([n, path]) => `[${n.toString(16).padStart(8, '0')}${path.map(([i, h]) => `/${i}${h ? 'h' : ''}`).join('')}]`),
  { nil: '' },
);
const single = fc.tuple(origins, secrets).map(([origin, secret]) => origin + publicKeyOf(secret).toHex());
const extended = fc.tuple(origins, secrets, fc.array(fc.nat(5), { maxLength: 2 })).map(([origin, seed, path]) => {
  const xpub = formatExtendedPublicKey(ExtendedPrivateKey.fromSeed(seed).neuter(), mainnet.bip32);
  return `${origin}${xpub}${path.map((step) => `/${step}`).join('')}/*`;
});
const key = fc.oneof(single, extended);
const multi = (name: string) =>
  fc
    .tuple(fc.uniqueArray(key, { minLength: 1, maxLength: 3 }), fc.nat())
    .map(([keys, k]) => `${name}(${1 + (k % keys.length)},${keys.join()})`);
const inWsh = fc.oneof(
  key.map((k) => `pk(${k})`),
  key.map((k) => `pkh(${k})`),
  multi('multi'),
  fc
    .tuple(key, key, fc.integer({ min: 1, max: 65_535 }))
    .map(([a, b, n]) => `or_d(pk(${a}),and_v(v:pkh(${b}),older(${n})))`),
);
const inTr = fc.oneof(
  key.map((k) => `pk(${k})`),
  key.map((k) => `pkh(${k})`),
  multi('multi_a'),
  fc.tuple(key, key).map(([a, b]) => `and_v(v:pk(${a}),pk(${b}))`),
);
const { tree } = fc.letrec<{ tree: string }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4 },
    inTr,
    fc.tuple(tie('tree'), tie('tree')).map(([a, b]) => `{${a},${b}}`),
  ),
}));
const descriptors = fc.oneof(
  ...['pk', 'pkh', 'wpkh'].map((name) => key.map((k) => `${name}(${k})`)),
  key.map((k) => `sh(wpkh(${k}))`),
  multi('multi'),
  multi('multi').map((text) => `sh(${text})`),
  inWsh.map((text) => `wsh(${text})`),
  inWsh.map((text) => `sh(wsh(${text}))`),
  key.map((k) => `tr(${k})`),
  fc.tuple(key, tree).map(([k, scripts]) => `tr(${k},${scripts})`),
);

describe('generated descriptors', () => {
  test('a descriptor survives its text, and is inferred from its script', () => {
    let sane = 0;
    fc.assert(
      fc.property(descriptors, fc.nat(0x7fff_ffff), (text, index) => {
        const parsed = parseDescriptor(text, mainnet);
        // Keys may be there twice, which is allowed in some functions only.
        if (!parsed.ok) return expect(parsed.error).toContain('duplicate public keys');
        sane++;
        const [descriptor] = parsed.descriptors;
        expect(descriptor!.toString()).toBe(addChecksum(text));
        expect(one(descriptor!.toString()).toString()).toBe(descriptor!.toString());
        expect(one(descriptor!.toCompatString()).id()).toEqual(descriptor!.id());
        const { scripts, data } = descriptor!.expand(index, NO_SIGNING_DATA)!;
        expect(scripts[0]!.length).toBe(descriptor!.scriptSize!);
        const inferred = inferDescriptor(scripts[0]!, data, mainnet);
        expect(inferred.isSolvable).toBe(true);
        expect(inferred.isRange).toBe(false);
        expect(inferred.outputType).toBe(descriptor!.outputType);
        const again = inferred.expand(0, NO_SIGNING_DATA)!;
        expect(again.scripts).toEqual(scripts);
        expect([...again.data.scripts.keys()].sort()).toEqual([...data.scripts.keys()].sort());
        expect(inferDescriptor(again.scripts[0]!, again.data, mainnet).toString()).toBe(inferred.toString());
      }),
      { numRuns: 250 },
    );
    expect(sane).toBeGreaterThan(150);
  });

  test('text that is not a descriptor gives an error and no exception', () => {
    const chars = fc.constantFrom(..."()[]{},/*'h<>;#:0123456789abcdefmultiwshpkr_- ");
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.array(chars).map((all) => all.join('')),
        ),
        (text) => {
          for (const wrapped of [text, `wsh(${text})`, `tr(${KEY},${text})`, `pkh(${text})`, `tr(musig(${text}))`])
            expect(parseDescriptor(wrapped, mainnet).ok).toBeBoolean();
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe('taproot trees', () => {
  const internalKey = Uint8Array.fromHex(X_ONLY);
  const leaf = (depth: number, number: number) => ({ depth, leafVersion: 0xc0, script: Uint8Array.of(number) });
  const depths = fc.letrec<{ tree: number[] }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 6 },
      fc.constant<number[]>([0]),
      fc.tuple(tie('tree'), tie('tree')).map(([a, b]) => [...a, ...b].map((depth) => depth + 1)),
    ),
  })).tree;

  test('a taproot tree is inferred from its control blocks in any order', () => {
    fc.assert(
      fc.property(depths, fc.array(fc.nat(3)), fc.nat(), (list, numbers, turn) => {
        expect(isWholeTree(list)).toBe(true);
        const output = buildTaproot(
          internalKey,
          list.map((depth, i) => leaf(depth, numbers[i] ?? i + 4)),
        )!;
        const shifted = [...output.leaves.slice(turn % list.length), ...output.leaves.slice(0, turn % list.length)];
        const tree = inferTaprootTree({ ...output, leaves: shifted }, output.outputKey)!;
        expect(buildTaproot(internalKey, tree)!.outputKey).toEqual(output.outputKey);
        expect(tree.length).toBe(list.length);
        if (list.length > 1 && numbers.length === 0)
          expect(inferTaprootTree({ ...output, leaves: output.leaves.slice(1) }, output.outputKey)).toBeNull();
      }),
      { numRuns: 60 },
    );
  });

  test('an incomplete or too deep list of leaves is no taproot tree', () => {
    expect(isWholeTree([])).toBe(true);
    for (const list of [[1], [0, 0], [1, 2], [2, 2], [1, 1, 1], [2, 1, 1], [129], [-1]])
      expect(isWholeTree(list)).toBe(false);
    expect(() => buildTaproot(internalKey, [leaf(1, 1)])).toThrow();
    expect(buildTaproot(new Uint8Array(32).fill(0xff), [])).toBeNull();
  });
});
