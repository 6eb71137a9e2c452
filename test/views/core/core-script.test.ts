import { expect, test } from 'bun:test';
import { regtest } from '../../../src/params/regtest.ts';
import { hexToBytes } from '../../../src/util/bytes.ts';
import { coreScript, scriptDescriptor } from '../../../src/views/core/core-script.ts';
import { addChecksum } from '../../../src/wallet/descriptor/checksum.ts';
import { describeWithVectors } from '../../lib/chain-api.ts';
import { readVectorJson } from '../../lib/vectors.ts';

describeWithVectors('scripts of Bitcoin Core’s decodescript test', () => {
  type Row = [string, { asm: string; address?: string; desc: string; type: string }];
  for (const [hex, core] of readVectorJson<Row[]>('functional/rpc_decodescript.json'))
    test(hex.slice(0, 40), () => {
      const { hex: _, ...ours } = coreScript(hexToBytes(hex), regtest);
      const { asm, desc, address, type } = core;
      expect<object>(ours).toEqual({ asm, desc, ...(address && { address }), type });
    });
});

const KEY = '02c6047f9441ed7d6d3045406e95c07cd85c778e4b8cef3ca7abac09b95c709ee5';
const UNCOMPRESSED =
  '04c6047f9441ed7d6d3045406e95c07cd85c778e4b8cef3ca7abac09b95c709ee51ae168fea63dc339a3c58419466ceaeef7f632653266d0e1236431a950cfe52a';
const withoutChecksum = (hex: string) => scriptDescriptor(hexToBytes(hex), regtest).split('#')[0]!;

test('bare keys and bare multisig have descriptors of their own, except hybrid keys', () => {
  expect(withoutChecksum(`21${KEY}ac`)).toBe(`pk(${KEY})`);
  expect(withoutChecksum(`41${UNCOMPRESSED}ac`)).toBe(`pk(${UNCOMPRESSED})`);
  expect(withoutChecksum(`5121${KEY}21${KEY}52ae`)).toBe(`multi(1,${KEY},${KEY})`);
  const hybrid = `06${UNCOMPRESSED.slice(2)}`;
  expect(withoutChecksum(`41${hybrid}ac`)).toBe(`raw(41${hybrid}ac)`);
  expect(withoutChecksum(`5141${hybrid}51ae`)).toBe(`raw(5141${hybrid}51ae)`);
});

test('a taproot output with an invalid key has an addr() descriptor', () => {
  expect(withoutChecksum(`5120${'ff'.repeat(32)}`)).toStartWith('addr(bcrt1p');
});

test('a script without standard form has a raw() descriptor', () => {
  expect(withoutChecksum('')).toBe('raw()');
  expect(coreScript(new Uint8Array(0), regtest)).not.toHaveProperty('address');
});

// Checksums of BIP-380.
test('a descriptor gets its checksum, and invalid characters are an error', () => {
  expect(addChecksum('raw(deadbeef)')).toBe('raw(deadbeef)#89f8spxm');
  expect(() => addChecksum('raw(é)')).toThrow();
});
