import { describe, expect, test } from 'bun:test';
import { dustOutputs, dustThreshold, isDust } from '../../src/policy/dust.ts';
import { Op } from '../../src/script/opcodes.ts';
import { scriptOf } from '../../src/script/script-builder.ts';
import { hexToBytes } from '../../src/util/bytes.ts';
import { ANCHOR, filled, output, P2PKH, txOf } from './policy-fixture.ts';

const program = (opcode: number, size: number) => scriptOf(opcode, filled(size));

describe('dust at 3,000 satoshis for 1,000 vB', () => {
  // Core's numbers, from test_IsStandard.
  test.each([
    ['p2pk with a compressed key', scriptOf(filled(33, 2), Op.OP_CHECKSIG), 576n],
    ['p2pk with an uncompressed key', scriptOf(filled(65, 4), Op.OP_CHECKSIG), 672n],
    ['p2pkh', P2PKH, 546n],
    ['p2sh', hexToBytes(`a914${'00'.repeat(20)}87`), 540n],
    ['p2wpkh', program(Op.OP_0, 20), 294n],
    ['p2wsh', program(Op.OP_0, 32), 330n],
    ['p2tr', program(Op.OP_1, 32), 330n],
    ['p2a', ANCHOR, 240n],
    ['unknown version 16', program(Op.OP_16, 2), 240n],
    ['unknown version 2 of 40 bytes', program(Op.OP_2, 40), 354n],
    // A script of 253 bytes has a length of three bytes.
    ['a bare script of 252 bytes', filled(252, 0x51), 3n * (8n + 1n + 252n + 148n)],
    ['a bare script of 253 bytes', filled(253, 0x51), 3n * (8n + 3n + 253n + 148n)],
    ['data', scriptOf(Op.OP_RETURN), 0n],
    ['a script of 10,000 bytes', filled(10_000, 0x51), 3n * (8n + 3n + 10_000n + 148n)],
    ['a script too long to be spent', filled(10_001, 0x51), 0n],
  ])('%s', (_, script, threshold) => {
    expect(dustThreshold({ scriptPubKey: script }, 3000n)).toBe(threshold);
    expect(isDust(output(threshold, script), 3000n)).toBe(false);
    expect(isDust(output(threshold - 1n, script), 3000n)).toBe(true);
  });

  test('witness programs of any version have the discount', () => {
    for (let opcode: number = Op.OP_1; opcode <= Op.OP_16; opcode++)
      expect(dustThreshold({ scriptPubKey: program(opcode, 2) }, 3000n)).toBe(240n);
  });
});

test('other rates are rounded up', () => {
  expect(dustThreshold({ scriptPubKey: P2PKH }, 3702n)).toBe(674n);
  expect(dustThreshold({ scriptPubKey: P2PKH }, 1n)).toBe(1n);
  expect(dustThreshold({ scriptPubKey: P2PKH }, 0n)).toBe(0n);
  expect(isDust(output(0n), 0n)).toBe(false);
});

test('dustOutputs returns the indexes of dust', () => {
  const outputs = [output(545n), output(546n), output(0n, scriptOf(Op.OP_RETURN)), output(239n, ANCHOR)];
  expect(dustOutputs(txOf({ outputs }), 3000n)).toEqual([0, 3]);
  expect(dustOutputs(txOf({ outputs }), 0n)).toEqual([]);
});
