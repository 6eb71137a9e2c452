import { describe, expect, test } from 'bun:test';
import {
  checkStandardInputs,
  checkStandardWitness,
  MANDATORY_SCRIPT_FLAGS,
  MAX_STANDARD_TX_SIGOPS_COST,
  STANDARD_SCRIPT_FLAGS,
  spendsNonAnchorWitnessProgram,
} from '../../src/policy/standard-inputs.ts';
import { NULL_VOUT } from '../../src/primitives/outpoint.ts';
import type { TxInput } from '../../src/primitives/transaction.ts';
import { scriptFlagNames } from '../../src/script/flags.ts';
import { Op } from '../../src/script/opcodes.ts';
import { pushData, scriptOf } from '../../src/script/script-builder.ts';
import { multisig, p2pk, p2shOf, p2tr, p2wpkh, p2wshOf, witnessScript } from '../../src/script/templates.ts';
import { concatBytes } from '../../src/util/bytes.ts';
import { ANCHOR, filled, input, KEY, NONE, output, P2PKH, someOutpoint, txOf } from './policy-fixture.ts';

/** The output that an input spends, and its scriptSig and witness. */
interface Spend extends Partial<TxInput> {
  readonly script: Uint8Array;
}

function spending(spends: readonly Spend[]) {
  const tx = txOf({ inputs: spends.map(({ script: _, ...changes }, i) => input(someOutpoint(i), changes)) });
  return { tx, spent: spends.map(({ script }) => output(1000n, script)) };
}

function checkInputs(...spends: Spend[]): string | null {
  const { tx, spent } = spending(spends);
  const rejection = checkStandardInputs(tx, spent);
  if (rejection === null) return null;
  expect(rejection).toMatchObject({ kind: 'inputs-not-standard', reason: 'bad-txns-nonstandard-inputs' });
  return rejection.debug!;
}

const viaP2sh = (redeemScript: Uint8Array, before: Uint8Array = NONE): Spend => ({
  script: p2shOf(redeemScript),
  scriptSig: concatBytes(before, pushData(redeemScript)),
});

const NULL_TXID = new Uint8Array(32) as ReturnType<typeof someOutpoint>['txid'];
const COINBASE = txOf({ inputs: [input({ txid: NULL_TXID, vout: NULL_VOUT })] });

describe('inputs', () => {
  const keys = (count: number) => Array.from({ length: count }, () => KEY);

  test('with standard output scripts pass', () => {
    const oneAndTwo = concatBytes(multisig(1, keys(3)).with(-1, Op.OP_CHECKMULTISIGVERIFY), multisig(2, keys(3)));
    const fifteen = concatBytes(Uint8Array.of(Op.OP_1), pushData(KEY), Uint8Array.of(Op.OP_15, Op.OP_CHECKMULTISIG));
    expect(
      checkInputs(
        viaP2sh(P2PKH),
        { script: P2PKH },
        { script: multisig(1, keys(3)) },
        viaP2sh(oneAndTwo, Uint8Array.of(Op.OP_11, Op.OP_11)),
        viaP2sh(fifteen),
        { script: ANCHOR },
        { script: p2tr(filled(32)) },
        { script: p2wpkh(filled(20)) },
        // These outputs may be spent, although no transaction that creates them is relayed.
        { script: scriptOf(Op.OP_RETURN) },
        { script: multisig(1, keys(4)) },
      ),
    ).toBeNull();
  });

  test('with redeem scripts of up to fifteen sigops pass', () => {
    const sixteen = Uint8Array.of(Op.OP_16, Op.OP_CHECKMULTISIG);
    expect(checkInputs(viaP2sh(Uint8Array.of(Op.OP_15, Op.OP_CHECKMULTISIG)))).toBeNull();
    expect(checkInputs(viaP2sh(sixteen))).toBe('p2sh redeemscript sigops exceed limit (input 0: 16 > 15)');
    expect(checkInputs({ script: P2PKH }, viaP2sh(Uint8Array.of(Op.OP_CHECKMULTISIG)))).toBe(
      'p2sh redeemscript sigops exceed limit (input 1: 20 > 15)',
    );
    expect(checkInputs(viaP2sh(filled(15, Op.OP_CHECKSIG)))).toBeNull();
    expect(checkInputs(viaP2sh(filled(16, Op.OP_CHECKSIG)))).toBe(
      'p2sh redeemscript sigops exceed limit (input 0: 16 > 15)',
    );
  });

  test('without a redeem script are rejected', () =>
    expect(checkInputs({ script: P2PKH }, { script: p2shOf(NONE) })).toBe('input 1 P2SH redeemscript missing'));

  test('with a failing scriptSig are rejected', () => {
    const script = p2shOf(NONE);
    expect(checkInputs({ script, scriptSig: Uint8Array.of(Op.OP_RETURN) })).toBe(
      'p2sh scriptsig malformed (input 0: OP_RETURN was encountered)',
    );
    expect(checkInputs({ script, scriptSig: pushData(filled(520)) })).toBeNull();
    expect(checkInputs({ script, scriptSig: pushData(filled(521)) })).toBe(
      'p2sh scriptsig malformed (input 0: Push value size limit exceeded)',
    );
    expect(checkInputs({ script, scriptSig: Uint8Array.of(Op.OP_DROP) })).toBe(
      'p2sh scriptsig malformed (input 0: Operation not valid with the current stack size)',
    );
  });

  test('with nonstandard output scripts are rejected', () => {
    expect(checkInputs({ script: NONE })).toBe('input 0 script unknown');
    expect(checkInputs({ script: P2PKH }, { script: Uint8Array.of(Op.OP_1) })).toBe('input 1 script unknown');
    expect(checkInputs({ script: scriptOf(Op.OP_0, filled(31)) })).toBe('input 0 script unknown');
    expect(checkInputs({ script: witnessScript(16, filled(32)) })).toBe('input 0 witness program is undefined');
    expect(checkInputs({ script: witnessScript(1, filled(2)) })).toBe('input 0 witness program is undefined');
  });

  test('of a coinbase are not checked', () => {
    expect(checkStandardInputs(COINBASE, [])).toBeNull();
    expect(checkStandardWitness(COINBASE, [])).toBeNull();
    expect(spendsNonAnchorWitnessProgram(COINBASE, [])).toBe(false);
  });
});

describe('BIP-54: sigops outside of witnesses', () => {
  const exceeded = 'non-witness sigops exceed bip54 limit';
  const redeemScript = concatBytes(
    scriptOf(Op.OP_0, KEY),
    ...Array.from({ length: 14 }, () => Uint8Array.of(Op.OP_2DUP, Op.OP_CHECKSIG, Op.OP_DROP)),
    Uint8Array.of(Op.OP_CHECKSIG, Op.OP_NOT),
  );
  const fifteenEach = (count: number): Spend[] => Array.from({ length: count }, () => viaP2sh(redeemScript));
  const oneEach = (count: number): Spend[] => Array.from({ length: count }, () => ({ script: p2pk(KEY) }));

  // The numbers of Core's max_standard_legacy_sigops.
  test('may be 2,490 with P2SH inputs, but not 2,505 with one more', () => {
    expect(checkInputs(...fifteenEach(166))).toBeNull();
    expect(checkInputs(...fifteenEach(167))).toBe(exceeded);
  });

  test('may be 2,500 with bare scripts, but not one more', () => {
    expect(checkInputs(...fifteenEach(166), ...oneEach(10))).toBeNull();
    expect(checkInputs(...fifteenEach(166), ...oneEach(11))).toBe(exceeded);
  });

  test('do not include those of witnesses', () => {
    const witness = [filled(72), scriptOf(KEY, Op.OP_CHECKSIG)];
    expect(
      checkInputs(
        ...fifteenEach(166),
        ...oneEach(10),
        { script: p2wpkh(filled(20)), witness },
        { script: p2wshOf(witness[1]!), witness },
        { script: p2tr(filled(32)), witness },
      ),
    ).toBeNull();
  });

  test('include those of scriptSigs, and a multisig counts its keys', () => {
    const scriptSig = filled(2500, Op.OP_CHECKSIG);
    expect(checkInputs({ script: scriptOf(Op.OP_RETURN), scriptSig })).toBeNull();
    expect(checkInputs({ script: P2PKH, scriptSig })).toBe(exceeded);
    const twoKeys = multisig(1, [KEY, KEY]);
    expect(checkInputs({ script: twoKeys, scriptSig: filled(2498, Op.OP_CHECKSIG) })).toBeNull();
    expect(checkInputs({ script: twoKeys, scriptSig: filled(2499, Op.OP_CHECKSIG) })).toBe(exceeded);
  });

  test('are checked before the forms of outputs', () =>
    expect(checkInputs({ script: NONE }, ...fifteenEach(167))).toBe(exceeded));
});

describe('witnesses', () => {
  function isStandard(...spends: Spend[]): boolean {
    const { tx, spent } = spending(spends);
    const rejection = checkStandardWitness(tx, spent);
    if (rejection === null) return true;
    expect(rejection).toMatchObject({ kind: 'witness-mutated', reason: 'bad-witness-nonstandard' });
    return false;
  }

  const items = (count: number, size: number) => Array.from({ length: count }, () => filled(size));
  const P2WSH = p2wshOf(NONE);
  const P2TR = p2tr(filled(32));
  const controlBlock = (first: number) => filled(33).with(0, first);
  const TAPSCRIPT = controlBlock(0xc0);

  test('may be missing, but not on inputs without a witness program', () => {
    const witness = [NONE];
    expect(isStandard({ script: P2PKH }, { script: ANCHOR }, { script: p2shOf(P2PKH) })).toBe(true);
    expect(isStandard({ script: P2PKH, witness })).toBe(false);
    expect(isStandard({ script: ANCHOR, witness })).toBe(false);
    expect(isStandard({ ...viaP2sh(P2PKH), witness })).toBe(false);
    expect(isStandard({ script: P2WSH, witness }, { script: P2PKH, witness })).toBe(false);
  });

  test('are rejected on a P2SH input without its redeem script', () => {
    const witness = [NONE];
    expect(isStandard({ script: p2shOf(P2WSH), witness })).toBe(false);
    expect(isStandard({ script: p2shOf(P2WSH), scriptSig: Uint8Array.of(Op.OP_RETURN), witness })).toBe(false);
    expect(isStandard({ ...viaP2sh(P2WSH), witness })).toBe(true);
  });

  for (const [name, spend] of [
    ['P2WSH', { script: P2WSH }],
    ['P2WSH in P2SH', viaP2sh(P2WSH)],
  ] as const) {
    test(`${name}: may have a script of 3,600 bytes`, () => {
      expect(isStandard({ ...spend, witness: [filled(3600)] })).toBe(true);
      expect(isStandard({ ...spend, witness: [filled(3601)] })).toBe(false);
    });

    test(`${name}: may have 100 items besides the script`, () => {
      expect(isStandard({ ...spend, witness: [...items(100, 1), NONE] })).toBe(true);
      expect(isStandard({ ...spend, witness: [...items(101, 1), NONE] })).toBe(false);
    });

    test(`${name}: may have items of 80 bytes`, () => {
      expect(isStandard({ ...spend, witness: [filled(80), filled(80), filled(81)] })).toBe(true);
      expect(isStandard({ ...spend, witness: [filled(80), filled(81), filled(81)] })).toBe(false);
      expect(isStandard({ ...spend, witness: [filled(81), filled(80), filled(81)] })).toBe(false);
    });
  }

  test('of P2WPKH have no limits, since its script allows no others', () =>
    expect(isStandard({ script: p2wpkh(filled(20)), witness: items(200, 200) })).toBe(true));

  test('of taproot must not have an annex', () => {
    const annex = Uint8Array.of(0x50);
    expect(isStandard({ script: P2TR, witness: [filled(64), annex] })).toBe(false);
    expect(isStandard({ script: P2TR, witness: [NONE, TAPSCRIPT, annex] })).toBe(false);
    // A witness of one item has no annex, whatever its first byte.
    expect(isStandard({ script: P2TR, witness: [annex] })).toBe(true);
    expect(isStandard({ script: P2TR, witness: [annex, TAPSCRIPT] })).toBe(true);
  });

  test('of taproot may have items of 80 bytes for a script of BIP-342', () => {
    expect(isStandard({ script: P2TR, witness: [filled(80), filled(9000), TAPSCRIPT] })).toBe(true);
    expect(isStandard({ script: P2TR, witness: [filled(81), filled(9000), TAPSCRIPT] })).toBe(false);
    // The lowest bit is the parity of the key.
    expect(isStandard({ script: P2TR, witness: [filled(81), NONE, controlBlock(0xc1)] })).toBe(false);
    expect(isStandard({ script: P2TR, witness: [filled(81), NONE, controlBlock(0xc2)] })).toBe(true);
  });

  test('of taproot have one item of any size on the key path, and a control block on the script path', () => {
    expect(isStandard({ script: P2TR, witness: [filled(500)] })).toBe(true);
    expect(isStandard({ script: P2TR, witness: [NONE, NONE] })).toBe(false);
  });

  test('of programs similar to taproot have no limits', () => {
    const witness = [filled(81), NONE, TAPSCRIPT];
    expect(isStandard({ ...viaP2sh(P2TR), witness })).toBe(true);
    expect(isStandard({ ...viaP2sh(ANCHOR), witness })).toBe(true);
    expect(isStandard({ script: witnessScript(1, filled(33)), witness })).toBe(true);
    expect(isStandard({ script: witnessScript(2, filled(32)), witness })).toBe(true);
  });
});

// Core's spends_witness_prog.
describe('spendsNonAnchorWitnessProgram', () => {
  const spends = (...all: Spend[]) => {
    const { tx, spent } = spending(all);
    return spendsNonAnchorWitnessProgram(tx, spent);
  };
  const programs = [
    p2wshOf(NONE),
    p2wpkh(filled(20)),
    p2tr(filled(32)),
    witnessScript(1, Uint8Array.of(0x42, 0x42)),
    ...Array.from({ length: 15 }, (_, i) => witnessScript(i + 2, filled(32))),
  ];

  test('is true for witness programs of any version', () => {
    for (const script of programs) expect(spends({ script })).toBe(true);
    expect(spends({ script: P2PKH }, { script: programs[0]! })).toBe(true);
  });

  test('is true for a revealed witness program in P2SH', () => {
    for (const script of [...programs, ANCHOR]) {
      expect(spends(viaP2sh(script))).toBe(true);
      expect(spends({ script: p2shOf(script) })).toBe(false);
      expect(spends({ script: p2shOf(script), scriptSig: Uint8Array.of(Op.OP_RETURN) })).toBe(false);
    }
  });

  test('is false for other outputs', () =>
    expect(
      spends({ script: p2pk(KEY) }, { script: P2PKH }, { script: ANCHOR }, viaP2sh(Uint8Array.of(Op.OP_1, 0xac))),
    ).toBe(false));
});

test('the sigop cost of a standard transaction is a fifth of a block', () =>
  expect(MAX_STANDARD_TX_SIGOPS_COST).toBe(16_000));

test('the standard script flags are those of Core', () => {
  const mandatory = [
    'CHECKLOCKTIMEVERIFY',
    'CHECKSEQUENCEVERIFY',
    'DERSIG',
    'NULLDUMMY',
    'P2SH',
    'TAPROOT',
    'WITNESS',
  ] as const;
  expect(scriptFlagNames(MANDATORY_SCRIPT_FLAGS)).toEqual([...mandatory]);
  expect(scriptFlagNames(STANDARD_SCRIPT_FLAGS)).toEqual(
    [
      ...mandatory,
      'CLEANSTACK',
      'CONST_SCRIPTCODE',
      'DISCOURAGE_OP_SUCCESS',
      'DISCOURAGE_UPGRADABLE_NOPS',
      'DISCOURAGE_UPGRADABLE_PUBKEYTYPE',
      'DISCOURAGE_UPGRADABLE_TAPROOT_VERSION',
      'DISCOURAGE_UPGRADABLE_WITNESS_PROGRAM',
      'LOW_S',
      'MINIMALDATA',
      'MINIMALIF',
      'NULLFAIL',
      'STRICTENC',
      'WITNESS_PUBKEYTYPE',
    ].sort() as ReturnType<typeof scriptFlagNames>,
  );
});
