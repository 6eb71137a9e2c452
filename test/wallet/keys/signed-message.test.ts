import { describe, expect, test } from 'bun:test';
import { PrivateKey } from '../../../src/wallet/keys/private-key.ts';
import { signMessage, verifyMessage } from '../../../src/wallet/keys/signed-message.ts';

describe('a signed message', () => {
  const key = PrivateKey.fromWif('cUeKHd5orzT3mz8P9pxyREHfsWtVfgsfDjiZZBcjUBAaGk1BTj7N', 0xef)!;
  const message = 'This is just a test message';
  // From Core's rpc_signmessagewithprivkey.py.
  const signature = 'INbVnW4e6PeRmsv2Qgu8NuopvrVjkcxob+sX8OcZG0SALhWybUjzMLPdAsXI46YZGb0KQTRii+wWIQzRpG/U+S0=';

  test('has the signature of Bitcoin Core and verifies for its key and its text alone', () => {
    expect(signMessage(key, message)).toBe(signature);
    expect(verifyMessage(key.id, signature, message)).toBe(true);
    expect(verifyMessage(key.id, signature, `${message} `)).toBe(false);
    expect(verifyMessage(new Uint8Array(20), signature, message)).toBe(false);
    expect(verifyMessage(key.id, signMessage(key, 'käse 🧀'), 'käse 🧀')).toBe(true);
  });

  test('of an uncompressed key verifies for the hash of the uncompressed key', () => {
    const uncompressed = new PrivateKey(key.reveal(), false);
    const signed = signMessage(uncompressed, message);
    expect(verifyMessage(uncompressed.id, signed, message)).toBe(true);
    expect(verifyMessage(key.id, signed, message)).toBe(false);
  });

  test.each([
    ['text that is not Base64', 'malformed', null],
    ['a truncated Base64 text', signature.slice(0, -1), null],
    ['Base64 with unused bits', `${signature.slice(0, -2)}1=`, null],
    ['white space', ` ${signature.slice(1)}`, null],
    ['another length', 'AAAA', false],
    ['an empty text', '', false],
    ['65 zeros', new Uint8Array(65).toBase64(), false],
  ])('does not verify with %s as its signature', (_, text, verdict) =>
    expect(verifyMessage(key.id, text, message)).toBe(verdict),
  );
});
