import { expect, test } from 'bun:test';
import { chacha20KeyStream } from '../../src/crypto/chacha20.ts';
import { MuHash3072 } from '../../src/crypto/muhash.ts';

/** Core's tests use elements of 32 bytes of which the first one is set. */
function element(n: number): Uint8Array {
  const bytes = new Uint8Array(32);
  bytes[0] = n;
  return bytes;
}

test('ChaCha20 with a zero key: the first vector of RFC 8439 A.1', () => {
  const out = new Uint8Array(64);
  chacha20KeyStream(new Uint8Array(32), out);
  expect(out.toHex()).toBe(
    '76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7' +
      'da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586',
  );
});

// Bitcoin Core's crypto_tests: {0} * {1} / {2}.
test('an element may be removed before it is inserted', () => {
  const set = new MuHash3072();
  set.insert(element(0));
  set.insert(element(1));
  set.remove(element(2));
  expect(set.digest().reverse().toHex()).toBe('10d312b100cbd32ada024a6646e40d3482fcff103668d2625f10002a607d5863');
});

test('the hash depends neither on the order nor on removed elements', () => {
  const a = new MuHash3072();
  const b = new MuHash3072();
  for (const n of [1, 2, 3]) a.insert(element(n));
  for (const n of [3, 9, 1, 2]) b.insert(element(n));
  b.remove(element(9));
  expect(a.digest()).toEqual(b.digest());
  expect(new MuHash3072().digest().reverse().toHex()).toBe(
    'dd5ad2a105c2d29495f577245c357409002329b9f4d6182c0af3dc2f462555c8',
  );
});
