import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { hash160 } from '../../../src/crypto/hash-functions.ts';
import { decodeMiniscript } from '../../../src/wallet/descriptor/miniscript/decode-miniscript.ts';
import { formatMiniscript, miniscriptScript } from '../../../src/wallet/descriptor/miniscript/format.ts';
import type { MiniscriptContext } from '../../../src/wallet/descriptor/miniscript/fragment.ts';
import { findInsane, MiniscriptNode } from '../../../src/wallet/descriptor/miniscript/miniscript-node.ts';
import { satisfyMiniscript } from '../../../src/wallet/descriptor/miniscript/satisfy.ts';
import { solveMiniscript } from '../../../src/wallet/descriptor/miniscript/solve.ts';
import { has, type Type } from '../../../src/wallet/descriptor/miniscript/type.ts';
import {
  challengesOf,
  KEYS,
  keyBytes,
  miniscriptTexts,
  parseWorld,
  runScript,
  spenderOf,
  type World,
} from './miniscript-world.ts';

const lettersOf = (type: Type) => [...'BVKWzonduefsmxghijk'].filter((letter) => has(type, letter)).join('');

const CONTEXTS: readonly MiniscriptContext[] = ['p2wsh', 'tapscript'];
const [A, B, C] = KEYS.map((key) => key.toHex()) as [string, string, string];

const scriptOf = (world: World) => miniscriptScript(world.root, keyBytes(world));
const textOf = ({ root, keys }: World) => formatMiniscript(root, (key) => keys[key]!.toHex());

/** Keys are looked up by what the script has of them. */
const decode = (script: Uint8Array, context: MiniscriptContext): World | null => {
  const x = (key: Uint8Array) => (context === 'tapscript' ? key.subarray(1) : key);
  const find = (bytes: Uint8Array, of: (key: Uint8Array) => Uint8Array) => {
    const found = KEYS.findIndex((key) => of(key).toHex() === bytes.toHex());
    return found < 0 ? null : found;
  };
  const root = decodeMiniscript(script, context, {
    findKey: (bytes) => find(bytes, x),
    findKeyHash: (hash) => find(hash, (key) => hash160(x(key))),
  });
  return root && { root, keys: KEYS };
};

const witnessSize = (stack: readonly Uint8Array[]) =>
  stack.reduce((sum, { length }) => sum + length + (length < 253 ? 1 : 3), 0);

/** Meets the challenges one by one in a given order, and runs every witness that comes of it. */
function checkSatisfactions(world: World, order: readonly string[]): void {
  const { root } = world;
  const script = scriptOf(world);
  const met = new Set<string>();
  let could = false;
  for (const next of [null, ...order]) {
    if (next !== null) met.add(next);
    const stack = satisfyMiniscript(root, spenderOf(world, met));
    // A satisfiable sane script stays satisfiable with more data; else the witness may become malleable.
    if (could && root.isSane) expect(stack).not.toBeNull();
    could = stack !== null;
    if (stack === null) continue;
    expect(stack.length).toBeLessThanOrEqual(root.stackSize!);
    expect(witnessSize(stack)).toBeLessThanOrEqual(root.witnessSize!);
    const verdict = runScript(script, root.context, stack, met);
    if (root.hasValidSatisfactions) expect(verdict).toBe('OK');
    else expect(['OK', 'OP_COUNT', 'STACK_SIZE']).toContain(verdict);
  }
  if (root.isSane) expect(could).toBe(root.isSatisfiable);
}

function checkRoundTrip(world: World): void {
  const { context, scriptSize } = world.root;
  const script = scriptOf(world);
  expect(script.length).toBe(scriptSize);
  const decoded = decode(script, context)!;
  expect(scriptOf(decoded).toHex()).toBe(script.toHex());
  const again = parseWorld(textOf(decoded)!, context)!;
  expect(textOf(again)).toBe(textOf(decoded));
  expect(scriptOf(again).toHex()).toBe(script.toHex());
}

describe.each(CONTEXTS)('generated miniscripts in %s', (context) => {
  const texts = miniscriptTexts(context);

  test('a miniscript survives its text and its script, and its bounds hold', () => {
    let valid = 0;
    fc.assert(
      fc.property(texts, fc.infiniteStream(fc.nat()), (text, random) => {
        const world = parseWorld(text, context);
        if (!world?.root.isValidTopLevel) return;
        valid++;
        checkRoundTrip(world);
        const order = challengesOf(world.root)
          .map((challenge) => [random.next().value as number, challenge] as const)
          .sort(([a], [b]) => a - b)
          .map(([, challenge]) => challenge);
        checkSatisfactions(world, order);
      }),
      { numRuns: 500 },
    );
    expect(valid).toBeGreaterThan(50);
  });

  test('the type of a miniscript has no contradictions', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const world = parseWorld(text, context);
        if (world === null || world.root.type === 0) return;
        const letters = lettersOf(world.root.type);
        const is = (letter: string) => letters.includes(letter);
        expect([...'BVKW'].filter(is).length).toBe(1);
        for (const [one, other] of ['zo', 'nz', 'nW', 'Vd', 'Vu', 'ef', 'Ve', 'df'])
          expect(is(one!) && is(other!)).toBe(false);
        for (const [one, other] of ['Ku', 'ed', 'Vf', 'Ks', 'zm']) expect(!is(one!) || is(other!)).toBe(true);
      }),
    );
  });
});

// BIP-379's table of types, for expressions of one level.
test.each([
  ['0', 'Bzudemsxk'],
  ['1', 'Bzufmxk'],
  [`pk_k(${A})`, 'Konudemsxk'],
  [`pk_h(${A})`, 'Knudemsxk'],
  ['older(1)', 'Bzfmxhk'],
  ['older(4194305)', 'Bzfmxgk'],
  ['after(499999999)', 'Bzfmxjk'],
  ['after(500000000)', 'Bzfmxik'],
  [`sha256(${'11'.repeat(32)})`, 'Bonudmk'],
  [`multi(1,${A},${B})`, 'Bnudemsk'],
  [`pk(${A})`, 'Bonudemsk'],
  [`pkh(${A})`, 'Bnudemsk'],
  [`s:pk(${A})`, 'Wudemsk'],
  [`a:pk(${A})`, 'Wudemsxk'],
  [`v:pk(${A})`, 'Vonfmsxk'],
  ['dv:older(1)', 'Bondemxhk'],
  [`j:and_v(v:pk(${A}),older(1))`, 'Bondemsxhk'],
  [`or_d(pk(${A}),older(1))`, 'Bofmxhk'],
  [`and_v(v:pk(${A}),pk(${B}))`, 'Bnufmsk'],
])('the type of %s is computed as in BIP-379', (text, letters) => {
  expect([...lettersOf(parseWorld(text, 'p2wsh')!.root.type)].sort().join('')).toBe([...letters].sort().join(''));
});

describe('text of miniscripts', () => {
  test.each([
    [`c:pk_k(${A})`, `pk(${A})`],
    [`c:pk_h(${A})`, `pkh(${A})`],
    [`and_v(v:pk(${A}),1)`, `tv:pk(${A})`],
    ['or_i(0,older(1))', 'l:older(1)'],
    ['or_i(older(1),0)', 'u:older(1)'],
    [`andor(pk(${A}),older(1),0)`, `and_n(pk(${A}),older(1))`],
    ['or_i(0,0)', 'l:0'],
    [`thresh(1,pk(${A}),s:pk(${B}))`, `thresh(1,pk(${A}),s:pk(${B}))`],
  ])('%s is formatted as %s', (text, shortest) => {
    expect(textOf(parseWorld(text, 'p2wsh')!)).toBe(shortest);
  });

  test.each([
    '',
    '2',
    '00',
    'older(0)',
    'older(-1)',
    'older(+1)',
    'older(2147483648)',
    'older(1',
    'older(1))',
    'after()',
    'sha256(00)',
    `sha256(${'zz'.repeat(32)})`,
    `thresh(0,pk(${A}))`,
    `thresh(2,pk(${A}))`,
    `thresh(-1,pk(${A}))`,
    `multi(2,${A})`,
    `multi(0,${A})`,
    `multi(+1,${A})`,
    `multi_a(1,${A})`,
    'vv:1',
    'x:1',
    ':1',
    'and_v(v:1)',
    'and_v(v:1,1,1)',
    'andor(0,1)',
    'pk()x',
  ])('%j is rejected', (text) => {
    expect(parseWorld(text, 'p2wsh')).toBeNull();
  });

  test('each context has its own multisig fragment', () => {
    expect(parseWorld(`multi(1,${A})`, 'tapscript')).toBeNull();
    expect(parseWorld(`multi_a(1,${A})`, 'tapscript')).not.toBeNull();
  });

  test('miniscripts may be nested as deep as a script is long', () => {
    const depth = 40_000;
    const world = parseWorld(`${'n'.repeat(depth)}:1`, 'tapscript')!;
    expect(world.root.scriptSize).toBe(depth + 1);
    expect(world.root.isValid).toBe(true);
    const script = scriptOf(world);
    expect(textOf(decode(script, 'tapscript')!)).toBe(`${'n'.repeat(depth)}:1`);
    expect(parseWorld(`${'n'.repeat(4000)}:1`, 'p2wsh')).toBeNull();
    expect(parseWorld(`${'and_b(1,a:'.repeat(5000)}1${')'.repeat(5000)}`, 'tapscript')?.root.isValid).toBe(true);
  });
});

describe('sanity', () => {
  const node = (text: string, context: MiniscriptContext = 'p2wsh') => parseWorld(text, context)!.root;

  test('a key that occurs twice in any form makes a miniscript insane', () => {
    expect(node(`and_v(v:pk(${A}),pk(${B}))`).isSane).toBe(true);
    for (const text of [
      `and_v(v:pk(${A}),pk(${A}))`,
      `or_b(pk(${A}),a:pkh(${A}))`,
      `thresh(2,pkh(${A}),s:pk(${B}),a:and_b(dv:older(1),s:pk(${A})))`,
      `multi(2,${A},${B},${A})`,
    ]) {
      expect(node(text).hasDuplicateKeys).toBe(true);
      expect(node(text).isSane).toBe(false);
    }
  });

  test('a sane miniscript requires a signature', () => {
    expect(node('older(1)').needsSignature).toBe(false);
    expect(node(`or_i(older(1),pk(${A}))`).isSane).toBe(false);
  });

  test('heights and times in one spending path make a miniscript insane', () => {
    expect(node(`and_v(v:pk(${A}),and_b(after(100),a:after(1000000000)))`).hasNoTimelockMix).toBe(false);
    expect(node(`or_i(and_v(v:pk(${A}),after(100)),and_v(v:pk(${B}),after(1000000000)))`).isSane).toBe(true);
    expect(node(`thresh(1,pk(${A}),altv:after(1000000000),altv:after(100))`).hasNoTimelockMix).toBe(true);
  });

  test('`d:` leaves exactly 1 in tapscript alone, where MINIMALIF is consensus', () => {
    const thresh = `thresh(3,pk(${A}),s:pk(${B}),sdv:older(32))`;
    expect(node(thresh).isValid).toBe(false);
    expect(node(thresh, 'tapscript').isSane).toBe(true);
  });

  test('the innermost fault is named', () => {
    const world = parseWorld(`or_i(and_b(after(1),a:after(1000000000)),pk(${A}))`, 'p2wsh')!;
    const culprit = findInsane(world.root)!;
    expect(formatMiniscript(culprit, () => '')).toBe('and_b(after(1),a:after(1000000000))');
  });

  test('operations, stack items and size of a miniscript are limited', () => {
    const multis = (count: number) => {
      const one = (i: number) => `multi(20,${KEYS.slice(i * 20, i * 20 + 20).map((key) => key.toHex())})`;
      let text = one(0);
      for (let i = 1; i < count; i++) text = `and_b(${text},a:${one(i)})`;
      return node(text);
    };
    // 21 operations each, and 3 for AND and the way to the other stack and back.
    expect(multis(5).opCount).toBe(117);
    expect(multis(4).isWithinStackLimit).toBe(true);
    expect(multis(5).isWithinStackLimit).toBe(false);
    const stacked = (count: number, context: MiniscriptContext) => {
      let text = '1';
      for (let i = 0; i < count; i++) text = `and_b(older(${i + 1}),a:${text})`;
      return node(`and_b(pk(${A}),a:${text})`, context);
    };
    // 4 operations each, and 4 for the key.
    expect(stacked(49, 'p2wsh').opCount).toBe(200);
    expect(stacked(49, 'p2wsh').isWithinOpLimit).toBe(true);
    expect(stacked(50, 'p2wsh').isWithinOpLimit).toBe(false);
    expect(stacked(50, 'tapscript').isWithinOpLimit).toBe(true);
    expect(stacked(998, 'tapscript').execStackSize).toBe(1000);
    expect(stacked(998, 'tapscript').isWithinStackLimit).toBe(true);
    expect(stacked(999, 'tapscript').isWithinStackLimit).toBe(false);
  });
});

describe('scripts that are not miniscript', () => {
  test.each([
    ['a push that could be shorter', `4c21${A}ac`],
    ['CHECKSIG VERIFY in two', `21${A}ac6951`],
    ['a push past the end', '21'],
    ['nothing', ''],
    ['OP_RETURN', '6a'],
    ['a bare key', `21${A}`],
  ])('%s', (_, hex) => {
    for (const context of CONTEXTS) expect(decode(Uint8Array.fromHex(hex), context)).toBeNull();
  });

  test('a key that is only known by its hash must be found to decode a script', () => {
    const world = parseWorld(`pkh(${C})`, 'p2wsh')!;
    const script = scriptOf(world);
    expect(solveMiniscript(script, 'p2wsh', () => null)).toBeNull();
    expect(solveMiniscript(script, 'p2wsh', () => KEYS[2]!)?.keys).toEqual([KEYS[2]!]);
  });
});

test('a malleable witness is not returned', () => {
  const hash = `sha256(${new Bun.CryptoHasher('sha256').update(new Uint8Array(32).with(31, 1)).digest('hex')})`;
  const world = parseWorld(`or_b(${hash},a:${hash})`, 'p2wsh')!;
  expect(satisfyMiniscript(world.root, spenderOf(world, new Set(challengesOf(world.root))))).toBeNull();
});

test('the type of a node follows from its parts', () => {
  const root = new MiniscriptNode('v', 'p2wsh', { subs: [new MiniscriptNode('1', 'p2wsh')] });
  expect(has(root.type, 'V')).toBe(true);
  expect(root.isValidTopLevel).toBe(false);
});
