import { describe, expect, test } from 'bun:test';
import { checkMerkleProof, type MerkleProof } from '../../src/dashboard/pages/merkle-proof.ts';
import examples from '../../src/server/docs/examples/transactions.json';

const recorded = examples['GET /api/tx/{txid}/proof'];
// A recorded list ends after three items. The hashes that it lacks are the last ones of the recorded Merkle block.
const { merkleBlock, ...short } = recorded.payment.response;
const payment: MerkleProof = {
  ...short,
  merkle: [...short.merkle, ...hashesOf(merkleBlock).slice(short.merkle.length + 1)],
};

/** Block 1 of mainnet. Its target is far from that of a test network. */
const BLOCK_1: MerkleProof = {
  txid: '0e3e2357e806b6cdb1f70b54c3a3a17b6714ee1f0e68bebb44a74b1efd512098',
  blockHash: '00000000839a8e6886ab5951d76f411475428afc90947ee320161bbf18eb6048',
  pos: 0,
  merkle: [],
  header:
    '010000006fe28c0ab6f1b372c1a6a246ae63f74f931e8365e15a089c68d6190000000000982051fd1e4ba744bbbe680e1fee14677ba1a3c3540bf7b1cdb606e857233e0e61bc6649ffff001d01e36299',
};

const invalid = (reason: string) => ({ valid: false, reason });

test.each([
  ['the genesis block of regtest', recorded.genesis.response],
  ['a payment of regtest', payment],
  ['block 1 of mainnet', BLOCK_1],
])('the proof of %s is valid', async (_, proof) => expect(await checkMerkleProof(proof)).toEqual({ valid: true }));

test('a proof in upper case is valid, too', async () => {
  const upper = { ...payment, txid: payment.txid.toUpperCase(), header: payment.header.toUpperCase() };
  expect(await checkMerkleProof(upper)).toEqual({ valid: true });
});

describe('a proof is refused', () => {
  test.each(payment.merkle.map((_, level) => level))('with another hash at level %i', async (level) => {
    const merkle = payment.merkle.with(level, mutated(payment.merkle[level]!));
    expect(await checkMerkleProof({ ...payment, merkle })).toEqual(
      invalid('The Merkle root of the header is another one.'),
    );
  });

  test('with each other position in the tree', async () => {
    for (let pos = 0; pos < 16; pos++)
      expect((await checkMerkleProof({ ...payment, pos })).valid).toBe(pos === payment.pos);
  });

  test.each([16 + 1, 32 + 1, 2 ** 32 + 1, -1, 1.5])('with the position %d outside of the tree', async (pos) =>
    expect((await checkMerkleProof({ ...payment, pos })).valid).toBe(false),
  );

  test('with another txid', async () => {
    const result = await checkMerkleProof({ ...payment, txid: mutated(payment.txid) });
    expect(result).toEqual(invalid('The Merkle root of the header is another one.'));
  });

  test('with a hash less, and with one more', async () => {
    const longer = [...payment.merkle, payment.txid];
    for (const merkle of [payment.merkle.slice(1), payment.merkle.slice(0, -1), longer, []])
      expect((await checkMerkleProof({ ...payment, merkle })).valid).toBe(false);
  });

  test('with another block hash, which the header does not have', async () => {
    const result = await checkMerkleProof({ ...payment, blockHash: mutated(payment.blockHash) });
    expect(result).toEqual(invalid('The header does not have the hash of this block.'));
  });

  test('with each byte of the header changed', async () => {
    for (let at = 0; at < 80; at++) {
      const header = payment.header.slice(0, 2 * at) + mutated(payment.header.slice(2 * at));
      expect(await checkMerkleProof({ ...payment, header })).toEqual(
        invalid('The header does not have the hash of this block.'),
      );
    }
  });

  test('with a header whose hash does not meet its own target', async () => {
    for (const [at, byte] of [
      [76, '00'],
      [75, '1c'],
    ] as const) {
      const header = BLOCK_1.header.slice(0, 2 * at) + byte + BLOCK_1.header.slice(2 * at + 2);
      expect(await checkMerkleProof({ ...BLOCK_1, header, blockHash: hashOf(header) })).toEqual(
        invalid('The hash does not meet the target of the header.'),
      );
    }
  });

  test.each([
    ['a header', { header: payment.header.slice(2) }, 'The header does not have 80 bytes.'],
    ['a header', { header: `zz${payment.header.slice(2)}` }, 'The header does not have 80 bytes.'],
    ['a txid', { txid: payment.txid.slice(1) }, 'The txid does not have 32 bytes.'],
    ['a hash', { merkle: payment.merkle.with(1, '') }, 'A hash of the proof does not have 32 bytes.'],
  ])('with %s of another length or alphabet: %j', async (_, changed, reason) =>
    expect(await checkMerkleProof({ ...payment, ...changed })).toEqual(invalid(reason)),
  );
});

/** Returns the hashes of a Merkle block for one of the first two transactions: both, and then those of each level. */
function hashesOf(merkleBlock: string): string[] {
  const bytes = Buffer.from(merkleBlock, 'hex');
  // The header and the number of transactions are before the number of hashes.
  const first = 80 + 4 + 1;
  return Array.from({ length: bytes[first - 1]! }, (_, index) =>
    bytes
      .subarray(first + 32 * index, first + 32 * (index + 1))
      .toReversed()
      .toHex(),
  );
}

/** Returns hexadecimal text with another first digit. */
function mutated(hex: string): string {
  return (hex[0] === '1' ? '2' : '1') + hex.slice(1);
}

function hashOf(header: string): string {
  const once = new Bun.CryptoHasher('sha256').update(Buffer.from(header, 'hex')).digest();
  return new Bun.CryptoHasher('sha256').update(once).digest().reverse().toString('hex');
}
