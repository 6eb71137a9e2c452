import { describe, expect, test } from 'bun:test';
import { textPieces } from './source-text.ts';
import { checkTerminology } from './terminology.ts';

const inSource = (text: string) => checkTerminology({ path: 'src/chain/chain.ts', text });
const inTest = (text: string) => checkTerminology({ path: 'test/chain/chain.test.ts', text });

describe('textPieces', () => {
  test.each([
    ["const a = 'x y';", [['string', 'x y', 1]]],
    [
      '// one\n// sentence\n\n// another',
      [
        ['comment', 'one sentence', 1],
        ['comment', 'another', 4],
      ],
    ],
    ['/** A sentence\n * of two lines. */', [['comment', 'A sentence of two lines.', 1]]],
    ["const a = b / c; // of 'd'", [['comment', "of 'd'", 1]]],
    [
      "return /'/.test(a) ? 'b' : `c`;",
      [
        ['string', 'b', 1],
        ['string', 'c', 1],
      ],
    ],
    ["split(/[/'\"`]/, 'a')", [['string', 'a', 1]]],
    [
      `const a = \`b \${c('d', \`e\`)} f\`;`,
      [
        ['string', 'd', 1],
        ['string', 'e', 1],
        ['string', 'b … f', 1],
      ],
    ],
    [
      "const a = 'it\\'s';\n'b'",
      [
        ['string', "it\\'s", 1],
        ['string', 'b', 2],
      ],
    ],
    [
      "test('a title', () => f('a string'));",
      [
        ['string', 'a title', 1],
        ['string', 'a string', 1],
      ],
    ],
    [
      "test.each(['x'])('%s is a title', f);",
      [
        ['string', 'x', 1],
        ['string', '%s is a title', 1],
      ],
    ],
    [`describe.skipIf(a())(\`a \${b}\`, f);`, [['string', 'a …', 1]]],
  ])('finds the comments and strings of %j', (source, expected) => {
    const found = textPieces(source).map(({ kind, text, line }): [string, string, number] => [kind, text, line]);
    expect(found).toEqual(expected as [string, string, number][]);
  });
});

describe('checkTerminology', () => {
  test('names the file, the line, the word and its replacement', () => {
    expect(inSource('\n// The block is judged.')).toEqual([
      'src/chain/chain.ts:2: "judged": write validate, verify, result',
    ]);
  });

  test.each([
    '/** What is left. */',
    '// Of those that came first.',
    '/** Told of each block. */',
    '// So long is waited.',
    '// Peers have their turn.',
    '// A block is handed in.',
    '// It is taken in.',
    '/** Whoever asks. */',
    '/** Why it failed. */',
    '// The wishes of a client.',
    "throw new Error('nobody is there');",
  ])('rejects %s', (text) => expect(inSource(text)).toHaveLength(1));

  test.each([
    '/** Whether the block is valid. */',
    '// As long as the peer answers.',
    '// Of course the tip may change.',
    '// The value is so large that it overflows.',
    "const jury = 'judged';",
    '// The member `told` is kept for old clients.',
  ])('accepts %s', (text) => expect(inSource(text)).toEqual([]));

  test.each([
    'const judge = 1;',
    'interface WatchWishes {',
    'type NodeNews = string;',
    'class Teller {',
    '  #told() {',
    '  take(): void {',
    'function askPeer() {',
  ])('rejects the name in %s', (text) => expect(inSource(text)).toHaveLength(1));

  test.each(['const takenBytes = 1;', 'function takeoff() {', '  asked(): void {', 'const Newsletter = 1;'])(
    'accepts the name in %s',
    (text) => expect(inSource(text)).toEqual([]),
  );

  test('accepts verbs in tests that it rejects in sources', () => {
    expect(inTest('function takeBlock() {')).toEqual([]);
    expect(inTest('const told = 1;')).toHaveLength(1);
  });

  test('checks titles and other sentences of tests, but not single words', () => {
    expect(inTest("test('nobody is notified', f);")).toHaveLength(1);
    expect(inTest("console.warn('the file was not looked at');")).toHaveLength(1);
    expect(inTest("call('nobody');")).toEqual([]);
  });

  test('accepts the name of the user nobody', () =>
    expect(inTest("expect(line).toBe('user nobody owns the file');")).toEqual([]));

  test('checks the prose of a document, but not its code', () => {
    const text =
      'Whoever reads.\n```\nwhoever types\n```\n`whoever` is a word.\n\n    whoever\n\nA block is handed\nin.';
    expect(checkTerminology({ path: 'docs/a.md', text })).toEqual([
      'docs/a.md:1: "Whoever": write the actor itself',
      'docs/a.md:9: "handed in": write submit, pass',
    ]);
  });
});
