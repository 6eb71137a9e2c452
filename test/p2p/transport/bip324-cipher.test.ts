import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { ellswiftDecode } from '../../../src/crypto/ellswift.ts';
import { xOnlyOf } from '../../../src/crypto/keys.ts';
import { Bip324Cipher } from '../../../src/p2p/transport/bip324-cipher.ts';
import { bytesToHex, concatBytes, hexToBytes } from '../../../src/util/bytes.ts';
import { hasVectors, vectorPath } from '../../lib/vectors.ts';

const MAIN_MAGIC = hexToBytes('f9beb4d9');
const EMPTY = new Uint8Array(0);

test.skipIf(!hasVectors)('BIP-324: the packet encoding vectors match', () => {
  const path = vectorPath('bips/bip324-packet_encoding_test_vectors.csv');
  const [head = '', ...lines] = readFileSync(path, 'utf8').trim().split(/\r?\n/);
  const names = head.split(',');
  for (const line of lines) {
    const row = Object.fromEntries(line.split(',').map((field, i) => [names[i]!, field]));
    const bytes = (name: string) => hexToBytes(row[name]!);
    const [ours, theirs] = [bytes('in_ellswift_ours'), bytes('in_ellswift_theirs')];
    expect(bytesToHex(ellswiftDecode(ours))).toBe(row.mid_x_ours!);
    expect(bytesToHex(xOnlyOf(bytes('in_priv_ours')))).toBe(row.mid_x_ours!);
    expect(bytesToHex(ellswiftDecode(theirs))).toBe(row.mid_x_theirs!);
    const cipher = new Bip324Cipher(bytes('in_priv_ours'), ours, theirs, row.in_initiating === '1', MAIN_MAGIC);
    expect(bytesToHex(cipher.sendTerminator)).toBe(row.mid_send_garbage_terminator!);
    expect(bytesToHex(cipher.receiveTerminator)).toBe(row.mid_recv_garbage_terminator!);
    expect(bytesToHex(cipher.sessionId)).toBe(row.out_session_id!);
    for (let i = 0; i < Number(row.in_idx); i++) cipher.encrypt(EMPTY, EMPTY, EMPTY);
    const times = Number(row.in_multiply);
    const contents = concatBytes(...Array.from({ length: times }, () => bytes('in_contents')));
    const sealed = bytesToHex(cipher.encrypt(EMPTY, contents, bytes('in_aad'), row.in_ignore === '1'));
    if (row.out_ciphertext !== '') expect(sealed).toBe(row.out_ciphertext!);
    expect(sealed.endsWith(row.out_ciphertext_endswith!)).toBe(true);
  }
  expect(lines.length).toBe(7);
});
