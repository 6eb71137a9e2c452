import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { parseJson, SecretText } from '../../../src/rpc/engine/json.ts';
import { extractSecrets, revealed, SecretMethods } from '../../../src/rpc/engine/secret-texts.ts';

const METHODS = new SecretMethods(['walletpassphrase']);
const bytesOf = (text: string) => new TextEncoder().encode(text);

/** Returns the request as it is parsed after its secrets were extracted and revealed again. */
function roundTrip(text: string): unknown {
  const taken = extractSecrets(bytesOf(text), METHODS);
  if (!taken) return parseJson(text);
  const value = revealed(taken.restore(parseJson(taken.text)));
  taken.wipe();
  return value;
}

describe('secrets of a request', () => {
  const body = '{"method":"walletpassphrase","id":"walletpassphrase","params":["open sesame",60]}';

  test('never become strings and are overwritten in the request and in themselves', () => {
    const bytes = bytesOf(body);
    const taken = extractSecrets(bytes, METHODS)!;
    expect(taken.text).not.toContain('sesame');
    expect(bytes.every((byte) => byte === 0)).toBe(true);
    const { method, id, params } = taken.restore(parseJson(taken.text)) as Record<'method' | 'id' | 'params', never>;
    expect([method, id]).toEqual(['walletpassphrase', 'walletpassphrase'] as never);
    const secret = params[0] as SecretText;
    expect(secret).toBeInstanceOf(SecretText);
    expect(JSON.stringify(params)).toBe('["[secret]",60]');
    expect(secret.text()).toBe('open sesame');
    expect(secret.bytes.buffer).toBeInstanceOf(SharedArrayBuffer);
    taken.wipe();
    expect(secret.bytes).toEqual(new Uint8Array(11));
  });

  test('are extracted from named arguments and from batches as well', () => {
    const named = '{"params":{"passphrase":"a","timeout":1,"params":["b"]},"method":"walletpassphrase"}';
    for (const text of [named, `[${named},${body}]`, ` [ ${named} ] `]) {
      const taken = extractSecrets(bytesOf(text), METHODS)!;
      expect(taken.text).not.toMatch(/"a"|"b"|sesame/);
      expect(roundTrip(text)).toEqual(parseJson(text));
    }
  });

  test('requests of other methods are not changed', () => {
    const other = bytesOf('{"method":"getblock","params":["00"]}');
    expect(extractSecrets(other, METHODS)).toBeNull();
    expect(other).toEqual(bytesOf('{"method":"getblock","params":["00"]}'));
    expect(extractSecrets(bytesOf('{"method":"getblock","id":"www"}'), METHODS)).toBeNull();
  });

  test('are extracted for each name, with and without the letter of the short search', () => {
    const methods = new SecretMethods(['walletpassphrase', 'unlock']);
    for (const name of ['walletpassphrase', 'unlock'])
      expect(extractSecrets(bytesOf(`{"method":"${name}","params":["a"]}`), methods)?.text).not.toContain('"a"');
    expect(extractSecrets(bytesOf('{"method":"getblock"}'), methods)).toBeNull();
  });

  test('invalid JSON is left to the parser', () => {
    const call = (value: string) => `{"method":"walletpassphrase","params":[${value}]}`;
    const wrong = ['"\n"', '"\\x"', '"\\u12g4"', '"open', '"\\ud800\\u"'];
    for (const value of wrong) {
      const bytes = bytesOf(call(value));
      expect(extractSecrets(bytes, METHODS)).toBeNull();
      expect(bytes).toEqual(bytesOf(call(value)));
      expect(() => parseJson(call(value))).toThrow();
    }
    for (const text of [`${call('"a"')}]`, call('"a"').slice(0, -1), call('"a":1')]) {
      const taken = extractSecrets(bytesOf(text), METHODS)!;
      expect(() => parseJson(taken.text)).toThrow();
    }
    expect(extractSecrets(Uint8Array.of(...bytesOf('{"method":"walletpassphrase"'), 0xff), METHODS)).toBeNull();
  });

  test('every request has the same meaning with and without extraction', () => {
    const leaf = fc.oneof(fc.string({ unit: 'binary' }), fc.string(), fc.integer(), fc.boolean(), fc.constant(null));
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof({ maxDepth: 4 }, leaf, tie('list'), tie('object')),
      list: fc.array(tie('value'), { maxLength: 4 }),
      object: fc.dictionary(fc.oneof(fc.string(), fc.constantFrom('params', 'method', '__proto__')), tie('value'), {
        maxKeys: 4,
      }),
    }));
    const call = fc.record({ method: fc.constantFrom('walletpassphrase', 'other'), params: value, id: value });
    const escaped = (text: string) =>
      text.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
    fc.assert(
      fc.property(
        fc.oneof(call, fc.array(call, { maxLength: 3 })),
        fc.boolean(),
        fc.nat(3),
        (request, plain, indent) => {
          const text = JSON.stringify(request, null, indent);
          expect(roundTrip(plain ? text : escaped(text))).toEqual(parseJson(text));
        },
      ),
      { numRuns: 200 },
    );
  });

  test('a lone surrogate becomes the same bytes as in TextEncoder', () => {
    const taken = extractSecrets(
      bytesOf('{"method":"walletpassphrase","params":["\\ud83d!","\\udd11\\ud83d\\udd11"]}'),
      METHODS,
    )!;
    const { params } = taken.restore(parseJson(taken.text)) as { params: SecretText[] };
    expect(params.map(({ bytes }) => Buffer.from(bytes))).toEqual([
      Buffer.from('\ud83d!'),
      Buffer.from('\udd11\u{1f511}'),
    ]);
  });
});
