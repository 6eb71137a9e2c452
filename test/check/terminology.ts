import { type TextPiece, textPieces } from './source-text.ts';

/** A word of docs/glossary.md that is not used, and what is written in its place. */
interface Banned {
  readonly pattern: RegExp;
  readonly instead: string;
}

const BANNED: readonly Banned[] = [
  { pattern: /\b(?:mis)?judg(?:e[sd]?|ing|e?ments?)\b/i, instead: 'validate, verify, result' },
  { pattern: /\b(?:tell|tells|telling|told)\b/i, instead: 'notify, announce, report, say; distinguish' },
  {
    pattern: /\bhand(?:s|ed|ing)? (?:(?:it|them|this|one) )?(?:in|over)\b/i,
    instead: 'submit, pass',
  },
  { pattern: /\b(?:take|takes|taken|taking|took) (?:(?:it|them|this|one) )?in\b/i, instead: 'accept, store, import' },
  { pattern: /\b(?:whoever|whosever|whomever|nobody|somebody|anybody)\b/i, instead: 'the actor itself' },
  { pattern: /\bat a stretch\b/i, instead: 'per slice, without yielding' },
  {
    pattern: /(?:^|[.:;,(] *)(?:for |after )?so (?:long|much|many|often|far|few)\b(?! as\b| that\b)/i,
    instead: 'the number with its unit',
  },
  { pattern: /\b(?:is|are|was|were) to be had\b/i, instead: 'is available' },
  { pattern: /\blook(?:s|ed|ing)? (?:at|through|over|whether|into)\b/i, instead: 'check, inspect, scan' },
  { pattern: /\b(?:is|are|was|were|be|been) seen to\b/i, instead: 'handle, serve' },
  {
    pattern: /\b(?:have|has|had|having|gets?|their|its) (?:their|its|a|own)? ?turns?\b/i,
    instead: 'yield, be scheduled',
  },
  { pattern: /\b(?:wish|wishes|wished)\b/i, instead: 'request, subscription, filter' },
  { pattern: /\bnews\b/i, instead: 'update, event' },
  { pattern: /\btellers?\b/i, instead: 'notifier, formatter, observer' },
  { pattern: /\b(?:is|are|was|were) worked out\b/i, instead: 'is computed, is derived' },
];

/** At the beginning of a comment these leave the subject to the reader. */
const BANNED_OPENINGS: readonly Banned[] = [
  { pattern: /^What\b(?!.*\?$)/, instead: 'the noun itself: "The reason …"' },
  { pattern: /^Of\b(?! course)/, instead: 'the noun itself: "Transactions of …"' },
  { pattern: /^(?:Whose|Why|Which)\b(?!.*\?$)/, instead: 'the noun itself: "The reason why …"' },
  {
    pattern: /^(?:Those|That which|The same(?:,| for| of| as| with|\.))/,
    instead: 'a sentence with a subject',
  },
];

/** Words that no declared name has, in any case, as a whole or as a part such as `WatchWishes`. */
const BANNED_NAMES: readonly Banned[] = [
  { pattern: /^(?:mis)?judg(?:e[sd]?|ing|e?ments?)$/, instead: 'validate, verify, result' },
  { pattern: /^(?:told|untold|teller|tells?)$/, instead: 'notify, announce, report' },
  { pattern: /^wish(?:es|ed)?$/, instead: 'request, subscription, filter' },
  { pattern: /^news$/, instead: 'update, event' },
];
/** Verbs that do not begin the name of a function or method in `src/`. */
const BANNED_VERBS: readonly Banned[] = [
  { pattern: /^take$/, instead: 'acquire, accept, consume, receive' },
  { pattern: /^give$/, instead: 'return, release, assign' },
  { pattern: /^tell$/, instead: 'notify, announce, report' },
  { pattern: /^ask$/, instead: 'request, query' },
];

const DECLARED_NAME = /\b(?:class|interface|type|function\*?|const|let) +(\w+)/g;
const METHOD_NAME =
  /^ +(?:(?:static|async|readonly|private|protected|override|get|set) +)*\*?#?(\w+)(?:<[^\n]*>)?\([^\n]*[{;(]$/gm;
const FUNCTION_NAME = /\bfunction\*? +(\w+)/g;

/** The user of the system with this name. */
const QUOTED: readonly RegExp[] = [/\buser nobody\b|\bnobody \(uid\b/];

export interface CheckedFile {
  /** From the project's root: `src/chain/connect-block.ts`, `docs/events.md`. */
  readonly path: string;
  readonly text: string;
}

/**
 * Returns one line for each banned word in a file: in comments and strings, such as logs, errors, help and the titles of
 * tests, and in the prose of documents.
 */
export function checkTerminology({ path, text }: CheckedFile): string[] {
  const pieces = path.endsWith('.md') ? prosePieces(text) : textPieces(text).filter(isChecked);
  const inNames = path.endsWith('.md') ? [] : bannedNames({ path, text });
  const inTexts = pieces.flatMap((piece) => {
    const plain = piece.text.replaceAll(/`[^`]*`/g, '`…`');
    if (QUOTED.some((quoted) => quoted.test(plain))) return [];
    const banned = piece.kind === 'comment' ? [...BANNED, ...BANNED_OPENINGS] : BANNED;
    return banned.flatMap(({ pattern, instead }) =>
      [...plain.matchAll(new RegExp(pattern, `g${pattern.flags}`))].map(
        ([found]) => `${path}:${piece.line}: "${found.trim()}": write ${instead}`,
      ),
    );
  });
  return [...inTexts, ...inNames];
}

/** Returns one line for each declared name with a banned word, and in `src/` for each function with a banned verb. */
function bannedNames({ path, text }: CheckedFile): string[] {
  const found: string[] = [];
  const check = (names: RegExp, banned: readonly Banned[], wordsOf: (name: string) => readonly string[]) => {
    for (const match of text.matchAll(names)) {
      const name = match[1]!;
      const words = wordsOf(name);
      const hit = banned.find(({ pattern }) => words.some((word) => pattern.test(word)));
      if (!hit) continue;
      const line = text.slice(0, match.index).split('\n').length;
      found.push(`${path}:${line}: "${name}": write ${hit.instead}`);
    }
  };
  check(DECLARED_NAME, BANNED_NAMES, wordsIn);
  check(METHOD_NAME, BANNED_NAMES, wordsIn);
  if (!path.startsWith('src/')) return found;
  const firstWord = (name: string) => wordsIn(name).slice(0, 1);
  check(FUNCTION_NAME, BANNED_VERBS, firstWord);
  check(METHOD_NAME, BANNED_VERBS, firstWord);
  return found;
}

/** Returns the words of a name in camel case or capitals, in lower case. */
function wordsIn(name: string): string[] {
  return name.split(/_|(?<=[a-z0-9])(?=[A-Z])/).map((word) => word.toLowerCase());
}

/** A single word is a code or a name, not a sentence. */
function isChecked({ kind, text }: TextPiece): boolean {
  return kind === 'comment' || /\w \w/.test(text);
}

/** Returns the paragraphs and table rows of a Markdown document without its code blocks. */
function prosePieces(text: string): TextPiece[] {
  const pieces: TextPiece[] = [];
  let inCode = false;
  let isOpen = false;
  for (const [i, line] of text.split('\n').entries()) {
    const isFence = /^\s*(?:```|~~~)/.test(line);
    if (isFence) inCode = !inCode;
    const isProse = !isFence && !inCode && line.trim() !== '' && !/^(?: {4}|\t)/.test(line);
    const last = pieces.at(-1);
    if (isProse && isOpen && last && !line.startsWith('|')) {
      pieces[pieces.length - 1] = { ...last, text: `${last.text} ${line.trim()}` };
    } else if (isProse) pieces.push({ kind: 'string', text: line, line: i + 1 });
    isOpen = isProse;
  }
  return pieces;
}
