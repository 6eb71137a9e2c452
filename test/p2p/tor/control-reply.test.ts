import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { parseReplyLine, parseReplyMapping, quotedText, splitKeyword } from '../../../src/p2p/tor/control-reply.ts';

const mapping = (text: string) => Object.fromEntries(parseReplyMapping(text));

test('the lines of Tor are read', () => {
  expect(parseReplyLine('250-AUTH METHODS=NULL')).toEqual({ code: 250, isLast: false, text: 'AUTH METHODS=NULL' });
  expect(parseReplyLine('250 OK')).toEqual({ code: 250, isLast: true, text: 'OK' });
  expect(parseReplyLine('250')).toBeNull();
  expect(parseReplyLine('2x0 OK')?.code).toBe(0);
  expect(splitKeyword('PROTOCOLINFO 1')).toEqual({ keyword: 'PROTOCOLINFO', rest: '1' });
  expect(splitKeyword('OK')).toEqual({ keyword: 'OK', rest: '' });
});

test.each([
  [
    'METHODS=COOKIE,SAFECOOKIE COOKIEFILE="/home/x/.tor/control"',
    { METHODS: 'COOKIE,SAFECOOKIE', COOKIEFILE: '/home/x/.tor/control' },
  ],
  ['Foo=Bar=Baz Spam=Eggs', { Foo: 'Bar=Baz', Spam: 'Eggs' }],
  ['Foo=', { Foo: '' }],
  ['A="a \\"b\\" c"', { A: 'a "b" c' }],
  ['A="\\n\\t\\r\\\\"', { A: '\n\t\r\\' }],
  ['A="\\101\\1011\\41\\417\\0"', { A: 'AA1!!7\0' }],
  ['SOME=args,here MORE optional=arguments here', { SOME: 'args,here' }],
  ['ARGS', {}],
  ['MORE ARGS', {}],
  ['A="open', {}],
  ['A="open\\', {}],
  ['', {}],
])('%s has the members that Core reads', (text, expected) => expect(mapping(text)).toEqual(expected as never));

test('a quotedText password is read as the same text', () => {
  const printable = fc.string({ unit: fc.integer({ min: 0x20, max: 0xff }).map((code) => String.fromCharCode(code)) });
  fc.assert(fc.property(printable, (text) => expect(mapping(`P=${quotedText(text)}`)).toEqual({ P: text })));
});

test('any text is read or refused', () => {
  const hostile = fc.string({
    unit: fc.constantFrom('=', '"', '\\', ' ', 'a', '0', '7', '9', '\0', '\xff'),
    maxLength: 40,
  });
  fc.assert(
    fc.property(fc.oneof(hostile, fc.string()), (text) => {
      for (const [key, value] of parseReplyMapping(text))
        expect(key.length + value.length).toBeLessThan(text.length + 1);
      const line = parseReplyLine(text);
      if (line !== null) expect(line.code).toBeWithin(0, 1000);
    }),
  );
});
